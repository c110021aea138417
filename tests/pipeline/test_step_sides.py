"""A clock step is reported in the right half with the right sign, wherever it lies."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncaudit.model import CameraSpec, Clip, ClipRecord, ClockSolution, ImuSpec, PairMeasurement
from syncaudit.pipeline.conclude import conclude
from syncaudit.policy import load_policy
from syncaudit.policy.case import course_of
from testkit.measured_pairs import pair

START_NS = 1_767_225_600_000_000_000
HALF_S = 10.0
MIDDLE_NS = START_NS + round(HALF_S * 1e9)
STD_S = 4e-4
# Rounding of float64 seconds and whole nanoseconds.
EXACT_S = 1e-7
# The limit of a camera is 10 ms, and the errors are below 0.5 ms.
SURELY_GOOD_S, SURELY_BAD_S = 0.008, 0.012
CAMERAS = ("front", "left", "rear")
NAMES = (*CAMERAS, "imu")

sizes_s = st.floats(0.02, 0.4).flatmap(lambda size: st.sampled_from([size, -size]))
# Near the middle, own timestamps and reference time lie on different sides of the step.
instants_s = st.one_of(st.floats(-7.0, 7.0), st.floats(-0.5, 0.5), st.just(0.0))
spread_s = st.lists(st.floats(-0.2, 0.2), min_size=2 * len(CAMERAS), max_size=2 * len(CAMERAS))


class World:
    """Clocks of which one steps; corrections are added to timestamps."""

    def __init__(self, jumping: str, before_s: float, step_s: float, step_after_s: float) -> None:
        self.jumping = jumping
        self.before_s = before_s
        self.step_s = step_s
        # Where timestamps repeat or leave a gap, the step is located in the middle of that range.
        self.step_own_s = step_after_s - before_s - 0.5 * step_s

    def correction_s(self, name: str, *, is_after: bool) -> float:
        """Return the true correction of a clock before or after the step."""
        if name != self.jumping:
            return 0.0
        return self.before_s + (self.step_s if is_after else 0.0)

    def measured(self, camera: str, at_s: float, found_late_s: float) -> PairMeasurement:
        """Measure a camera against the IMU at a timestamp of the camera's own."""
        step_s = {camera: self.step_s, "imu": -self.step_s}.get(self.jumping)
        step_at_s = self.step_own_s + found_late_s
        if self.jumping == "imu":
            step_at_s += self.before_s + 0.5 * self.step_s
        at_ns, step_at_ns = MIDDLE_NS + round(at_s * 1e9), MIDDLE_NS + round(step_at_s * 1e9)
        is_after = at_ns >= step_at_ns
        offset_s = self.correction_s(camera, is_after=is_after)
        offset_s -= self.correction_s("imu", is_after=is_after)
        is_seen = step_s is not None and self.jumping in (camera, "imu")
        return pair(
            camera,
            "imu",
            offset_s,
            STD_S,
            at_ns=at_ns,
            step_s=step_s if is_seen else None,
            step_std_s=STD_S if is_seen else None,
            step_at_ns=step_at_ns if is_seen else None,
        )


def judged(world: World, spread: list[float], reference: str):
    clip = Clip(
        clip_id="x",
        recording_id="x",
        start_ns=START_NS,
        end_ns=START_NS + round(2e9 * HALF_S),
        reference=reference,
        sources={
            **{name: CameraSpec(uri=f"{name}.mp4") for name in CAMERAS},
            "imu": ImuSpec(uri="imu.csv"),
        },
    )
    pairs = tuple(
        world.measured(name, spread[2 * k], 0.5 * spread[2 * k + 1])
        for k, name in enumerate(CAMERAS)
    )
    record = ClipRecord(at_ns=MIDDLE_NS, span_s=2 * HALF_S, max_offset_s=2.0, measurements=pairs)
    return conclude(clip, record, load_policy())


def ends_s(solution: ClockSolution, name: str) -> tuple[float, float]:
    """Return the corrections that the policy judges at the start and at the end."""
    estimate = solution.clocks[name]
    course = course_of(estimate, at_ns=solution.at_ns, span_s=2 * HALF_S)
    start_s, end_s = course[0].value_s, course[0].value_s
    for point in course:
        if point.after_s == -HALF_S:
            start_s = point.value_s
        if point.after_s == HALF_S:
            end_s = point.value_s
    return start_s, end_s


@given(
    jumping=st.sampled_from(NAMES),
    reference=st.sampled_from(["front", "imu"]),
    before_s=st.one_of(st.just(0.0), st.floats(-0.3, 0.3)),
    step_s=sizes_s,
    after_s=instants_s,
    spread=spread_s,
)
@settings(max_examples=150, deadline=None)
def test_both_halves_are_what_they_are(jumping, reference, before_s, step_s, after_s, spread):
    world = World(jumping, before_s, step_s, after_s)
    solution, _ = judged(world, spread, reference)
    for name in NAMES:
        if name == reference:
            continue
        for is_after, value_s in enumerate(ends_s(solution, name)):
            truth_s = world.correction_s(name, is_after=bool(is_after))
            truth_s -= world.correction_s(reference, is_after=bool(is_after))
            assert value_s == pytest.approx(truth_s, abs=EXACT_S)


@given(before_s=st.sampled_from([0.0, 0.05, -0.05]), step_s=sizes_s, after_s=instants_s,
       spread=spread_s)  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_the_sentence_names_half_and_sign(before_s, step_s, after_s, spread):
    world = World("rear", before_s, step_s, after_s)
    _, verdict = judged(world, spread, "imu")
    # If both halves are wrong, the step itself is a second reason.
    reason = next(found for found in verdict.reasons if found.source == "rear")
    told = re.search(
        r"is ([\d.]+) ± [\d.]+ (ms|us|s) (early|late)"
        r" (before|from then on|at the start|at the end)",
        reason.message,
    )
    assert told is not None, reason.message
    number, unit, sign, half = told.groups()
    value_s = float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1.0}[unit]
    value_s *= 1.0 if sign == "early" else -1.0
    assert reason.value == pytest.approx(value_s, abs=1e-3)
    halves = {
        "before": [before_s],
        "at the start": [before_s],
        "from then on": [before_s + step_s],
        "at the end": [before_s + step_s],
    }[half]
    assert any(value_s == pytest.approx(truth_s, abs=1e-3) for truth_s in halves)
    # If only one half is wrong, it is that one.
    if abs(before_s) < SURELY_GOOD_S and abs(before_s + step_s) > SURELY_BAD_S:
        assert half in ("from then on", "at the end")
    if abs(before_s + step_s) < SURELY_GOOD_S and abs(before_s) > SURELY_BAD_S:
        assert half in ("before", "at the start")


def test_source_that_is_shifted_as_a_whole_keeps_its_jump():
    spread = [0.0] * 6
    plain, _ = judged(World("rear", 0.0, 0.06, 0.0), spread, "imu")
    moved, _ = judged(World("rear", 0.2, 0.06, 0.0), spread, "imu")
    for before_s, after_s in zip(ends_s(plain, "rear"), ends_s(moved, "rear"), strict=True):
        assert after_s - before_s == pytest.approx(0.2, abs=EXACT_S)
