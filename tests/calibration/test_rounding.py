"""The last digits of the input, or of the arithmetic, do not affect a calibration."""

import dataclasses
from dataclasses import replace

import numpy as np
import pytest
from syncaudit_calibration import calibrate_events
from syncaudit_calibration.adjustment import adjust
from syncaudit_calibration.box_posterior import bend_boxes
from syncaudit_calibration.observations import observe
from syncaudit_calibration.seed import Seed, find_seed

from testkit.event_rig import Clock, camera, counter, full_rig, irregular_onsets, trigger

RELATIVE_NOISE = 1e-12
# 1e-12 of 45 s is 45 ps, where the smallest errors are 3 us.
MAX_CHANGE = 1e-4
STEPS = ((9.0, 0.010), (20.0, -0.003), (33.0, 0.1))


def _stepping(seed: int = 0):
    """Return evidence in which one camera's clock steps three times; a counter knows intervals."""
    evidence, _, _ = full_rig(np.random.default_rng(seed))
    own = evidence[2]
    jumped_s = sum(size_s * (own.frame_s > at_s) for at_s, size_s in STEPS)
    return [*evidence[:2], replace(own, frame_s=own.frame_s - jumped_s), *evidence[3:]]


def _unstated(seed: int = 0):
    rng = np.random.default_rng(seed)
    onsets = irregular_onsets(rng)
    return [
        camera(rng, onsets, name="a", is_stated=False),
        camera(rng, onsets, name="b", rate_hz=25.0, is_stated=False, clock=Clock(offset_s=1.0)),
        trigger(rng, onsets, clock=Clock(offset_s=-0.4)),
    ]


def _few(seed: int = 0):
    rng = np.random.default_rng(seed)
    onsets = np.sort(rng.choice(irregular_onsets(rng), 20, replace=False))
    return [
        camera(rng, onsets, name="a", rate_hz=30.0),
        camera(rng, onsets, name="b", rate_hz=25.0, clock=Clock(offset_s=0.3)),
        counter(rng, onsets, clock=Clock(offset_s=-1.2)),
    ]


def _perturbed(item, rng):
    changed = {}
    for name in ("frame_s", "row_px", "times_s", "start_s", "stop_s"):
        values = getattr(item, name, None)
        if isinstance(values, np.ndarray):
            changed[name] = values * (1.0 + RELATIVE_NOISE * rng.normal(size=values.shape))
    if "frame_s" in changed:  # a frame has one timestamp
        frames, index = np.unique(item.frame_index, return_inverse=True)
        noise = RELATIVE_NOISE * rng.normal(size=frames.size)
        changed["frame_s"] = item.frame_s * (1.0 + noise[index])
    return dataclasses.replace(item, **changed)


@pytest.mark.parametrize("make", [_stepping, _unstated, _few])
def test_the_last_digits_of_the_input_change_nothing(make):
    evidence = make()
    expected = calibrate_events(evidence).sources
    for seed in range(3):
        rng = np.random.default_rng(seed)
        found = calibrate_events([_perturbed(item, rng) for item in evidence]).sources
        for name, source in expected.items():
            other = found[name]
            assert len(other.steps) == len(source.steps)
            if source.offset_std_s:
                offset_s = abs(other.offset_s - source.offset_s)
                assert offset_s < MAX_CHANGE * source.offset_std_s
                drift_ppm = abs(other.drift_ppm - source.drift_ppm)
                assert drift_ppm < MAX_CHANGE * source.drift_std_ppm
                assert other.offset_std_s == pytest.approx(source.offset_std_s, rel=MAX_CHANGE)


def _with_steps_doubled(seed: Seed) -> Seed:
    maps = {
        name: replace(
            clock, steps=tuple(sorted((*clock.steps, *((at_s, 0.0) for at_s, _ in clock.steps))))
        )
        for name, clock in seed.maps.items()
    }
    return replace(seed, maps=maps)


def test_what_nothing_tells_of_disturbs_nothing_else():
    # Two steps at one place: their sum is known to microseconds, their difference not at all.
    evidence = _stepping()
    seed = find_seed(evidence, reference="cam_0", max_offset_s=30.0)
    assert isinstance(seed, Seed)
    once = observe(evidence, seed)
    twice = observe(evidence, _with_steps_doubled(seed))
    expected, found = adjust(once), adjust(twice)
    for unknown in once.unknowns:
        if unknown.kind == "step":
            continue
        value, std = expected.value_of(once.column(unknown.kind, unknown.source))
        other, other_std = found.value_of(twice.column(unknown.kind, unknown.source))
        assert abs(other - value) < 1e-3 * std, unknown
        assert other_std == pytest.approx(std, rel=1e-3), unknown
    columns = np.reshape(twice.steps("cam_2"), (-1, 2))
    for single, pair in zip(once.steps("cam_2"), columns, strict=True):
        step_s, step_std_s = expected.value_of(single)
        assert found.x[pair].sum() == pytest.approx(step_s, abs=1e-3 * step_std_s)
        assert np.sqrt(found.covariance[pair[0], pair[0]]) > 1.0  # half of the prior's ten seconds


def test_a_step_that_intervals_read_differently_is_one_step():
    # The counter's intervals of 20 ms and the bands of cameras disagree on the size of the third.
    found = find_seed(_stepping(), reference="cam_0", max_offset_s=30.0)
    assert isinstance(found, Seed)
    n_steps = {name: len(clock.steps) for name, clock in found.maps.items() if clock.steps}
    assert n_steps == {"cam_2": len(STEPS)}


HALF_S, SOFT_S = 0.01, 1e-4


@pytest.fixture(scope="module")
def interval():
    """Return the observations of one interval."""
    observations = observe(evidence := _few(), _seed_of(evidence))
    which = np.flatnonzero(observations.half_s > 0.0)[:1]
    return replace(observations, half_s=np.full(which.size, HALF_S), std_s=np.full(1, SOFT_S))


@pytest.mark.parametrize("others_s", [0.0, 0.004, 0.0101, 0.03, -1e3, 1e9])
@pytest.mark.parametrize("std_s", [1e-5, 5e-3, 1e3])
def test_an_interval_and_what_others_say_settle(interval, others_s, std_s):
    """However far apart they are, and however certain the others."""
    mean, variance = np.array([-0.008]), np.array([1e-6])
    found = []
    for _ in range(40):
        spread = 1.0 / (1.0 / std_s**2 + 1.0 / variance[0])
        found.append(spread * (others_s / std_s**2 + mean[0] / variance[0]))
        mean, variance = bend_boxes(
            interval, np.array(found[-1:]), mean, variance, np.array([True])
        )
        assert abs(mean[0]) <= HALF_S
        assert SOFT_S**2 <= variance[0] <= HALF_S**2
    low, high = sorted((0.0, others_s))
    assert low - 1e-6 <= found[-1] <= high + 1e-6
    assert found[-1] == pytest.approx(found[-2], abs=1e-4 * HALF_S, rel=1e-4)
    if std_s > 1.0 and abs(others_s) < HALF_S:
        assert abs(found[-1]) < HALF_S


def _seed_of(evidence):
    seed = find_seed(evidence, reference="a", max_offset_s=30.0)
    assert isinstance(seed, Seed)
    return seed
