"""A step belongs to the clock that explains most of the measurements."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from syncaudit.model import PairMeasurement
from testkit.measured_pairs import AT_NS, pair
from testkit.solved_clocks import CAMS, STD_S, solve


def stepped(source: str, target: str, step_s: float, **more: object) -> PairMeasurement:
    fields: dict[str, object] = {
        "step_s": step_s,
        "step_std_s": STD_S,
        "step_at_ns": AT_NS + 3 * 10**9,
    }
    return pair(source, target, 0.0, **(fields | more))  # type: ignore[arg-type]  # test fields


def test_step_is_laid_at_the_door_of_the_clock_that_explains_most() -> None:
    measurements = [stepped(cam, "imu", -0.03) for cam in CAMS] + [pair("cam0", "cam1", 0.0)]
    solution = solve(measurements, [*CAMS, "imu"], reference="cam0")
    stepping = [c.clock for c in solution.clocks.values() if c.step_s is not None]
    assert stepping == ["imu"]
    # The pair offset is correction(cam) - correction(imu): it fell because imu's correction rose.
    assert solution.clocks["imu"].step_s == pytest.approx(0.03, abs=1e-6)
    assert solution.clocks["imu"].step_at_ns == AT_NS + 3 * 10**9
    assert (solution.clocks["imu"].step_std_s or 1.0) < STD_S


def test_step_of_a_camera_is_its_own() -> None:
    measurements = [stepped("cam0", "imu", 0.02), *(pair(cam, "imu", 0.0) for cam in CAMS[1:])]
    solution = solve(measurements, [*CAMS, "imu"], reference="imu")
    assert solution.clocks["cam0"].step_s == pytest.approx(0.02, abs=1e-6)
    assert solution.clocks["imu"].step_s is None


def test_step_of_the_stated_reference_shows_in_all_others() -> None:
    measurements = [stepped(cam, "imu", -0.03) for cam in CAMS]
    solution = solve(measurements, [*CAMS, "imu"], reference="imu")
    assert solution.clocks["cam0"].step_s == pytest.approx(-0.03, abs=1e-6)
    assert solution.clocks["imu"].step_s is None


def test_jump_is_told_of_the_clock_that_made_it_whichever_is_the_reference() -> None:
    measurements = [stepped(cam, "imu", -0.03) for cam in CAMS]
    for reference in ("imu", CAMS[0]):
        jumps = solve(measurements, [*CAMS, "imu"], reference=reference).jumps
        assert list(jumps) == ["imu"]
        assert jumps["imu"].step_s == pytest.approx(0.03, abs=1e-6)
        assert jumps["imu"].at_ns == AT_NS + 3 * 10**9
        assert not jumps["imu"].is_past


def test_two_clocks_that_step_at_once() -> None:
    measurements = [stepped("a", "c", 0.02), stepped("b", "c", 0.05), stepped("a", "b", -0.03)]
    measurements += [stepped("a", "d", 0.02), stepped("b", "d", 0.05), pair("c", "d", 0.0)]
    solution = solve(measurements, ["a", "b", "c", "d"], reference="d")
    assert solution.clocks["a"].step_s == pytest.approx(0.02, abs=1e-6)
    assert solution.clocks["b"].step_s == pytest.approx(0.05, abs=1e-6)
    assert solution.clocks["c"].step_s is None


def test_step_in_both_reference_and_clock_is_the_difference() -> None:
    measurements = [stepped("a", "c", 0.02), stepped("b", "c", 0.05), stepped("a", "b", -0.03)]
    measurements += [stepped("a", "d", 0.02), stepped("b", "d", 0.05), pair("c", "d", 0.0)]
    solution = solve(measurements, ["a", "b", "c", "d"], reference="b")
    assert solution.clocks["a"].step_s == pytest.approx(-0.03, abs=1e-6)
    assert solution.clocks["c"].step_s == pytest.approx(-0.05, abs=1e-6)


def test_measurement_after_the_step_is_carried_back() -> None:
    after = stepped("cam", "imu", 0.02, at_ns=AT_NS + 5 * 10**9)
    solution = solve(
        [replace(after, offset_s=0.021), stepped("cam", "can", 0.02), pair("imu", "can", 0.0)],
        ["cam", "imu", "can"],
        reference="imu",
    )
    assert solution.clocks["cam"].offset_s == pytest.approx(0.0005, abs=5e-4)
    assert not any(edge.is_contradicted for edge in solution.edges)


def turned(m: PairMeasurement) -> PairMeasurement:
    """Return a measurement with its sources swapped: offset and step change sign."""
    return replace(
        m,
        source=m.target,
        target=m.source,
        offset_s=-(m.offset_s or 0.0),
        step_s=None if m.step_s is None else -m.step_s,
    )


@pytest.mark.parametrize("which", range(1, 32, 2))
def test_step_is_the_same_whichever_way_its_pairs_point(which: int) -> None:
    measurements = [stepped("a", "c", 0.02), stepped("b", "c", 0.05), stepped("a", "b", -0.03)]
    measurements += [stepped("a", "d", 0.02), stepped("b", "d", 0.05), pair("c", "d", 0.0)]
    some = [turned(m) if which >> k & 1 else m for k, m in enumerate(measurements)]
    solution = solve(some, ["a", "b", "c", "d"], reference="d")
    sizes = {c.clock: c.step_s for c in solution.clocks.values() if c.step_s is not None}
    assert sizes == {"a": pytest.approx(0.02, abs=1e-6), "b": pytest.approx(0.05, abs=1e-6)}


@pytest.mark.parametrize("trusted", ["a", "b"])
def test_step_that_either_clock_explains_is_of_the_less_trusted(trusted: str) -> None:
    jumps = solve([stepped("a", "b", 0.03)], ["a", "b"], preference=[trusted]).jumps
    assert [*jumps] == [{"a": "b", "b": "a"}[trusted]]


SLOPE_PPM = 1.5e6 * 0.03 / 20.0  # of a line through a step of 30 ms in the middle of 20 s


def sloped(source: str, target: str, ppm: float, std_ppm: float) -> PairMeasurement:
    figures = {"drift_ppm": ppm, "drift_std_ppm": std_ppm}
    return pair(source, target, 0.0, diagnostics=figures)


@pytest.mark.parametrize("way", [1.0, -1.0])
@pytest.mark.parametrize(
    ("slopes", "blamed", "suspects"),
    [
        ((0.0, 0.0), "a", []),  # they would have seen it
        ((1.0, 1.0), "imu", []),  # they do, if not by themselves
        ((1.0, 0.0), "a", ["imu"]),  # they contradict each other
    ],
)
def test_pairs_without_a_step_vote_by_their_slope(
    slopes: tuple[float, float], blamed: str, suspects: list[str], way: float
) -> None:
    middle = stepped("a", "imu", -0.03, step_at_ns=AT_NS)
    others = [
        sloped(name, "imu", -SLOPE_PPM * each, SLOPE_PPM / 5.0)
        if way > 0.0
        else sloped("imu", name, SLOPE_PPM * each, SLOPE_PPM / 5.0)
        for name, each in zip("bc", slopes, strict=True)
    ]
    solution = solve([middle, *others], ["a", "b", "c", "imu"], preference=["imu"])
    assert list(solution.jumps) == [blamed]
    assert list(solution.step_suspects) == suspects


def test_pair_too_noisy_to_show_a_step_clears_nobody() -> None:
    middle = stepped("a", "imu", -0.03, step_at_ns=AT_NS)
    noisy = [sloped(name, "imu", 0.0, 2.0 * SLOPE_PPM) for name in "bc"]
    solution = solve([middle, *noisy], ["a", "b", "c", "imu"], preference=["imu"])
    assert list(solution.jumps) == ["a"]
    assert solution.step_suspects["imu"].step_s == pytest.approx(0.03)
    # If it was the IMU, their offsets hold for one half of the clip only.
    assert (solution.clocks["b"].offset_std_s or 0.0) > 0.01


@pytest.mark.parametrize(
    ("ppm", "std_ppm", "jumps"),
    [
        (0.0, SLOPE_PPM / 5.0, []),  # the yaw rate would have shown what lateral acceleration did
        (-SLOPE_PPM, SLOPE_PPM / 5.0, ["can"]),
        (0.0, 2.0 * SLOPE_PPM, ["can"]),
    ],
)
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_step_that_another_measurement_of_the_same_clocks_denies_is_none(
    ppm: float, std_ppm: float, jumps: list[str], way: float
) -> None:
    middle = stepped("can", "imu", -0.03, step_at_ns=AT_NS)
    other = sloped("can", "imu", ppm, std_ppm) if way > 0.0 else sloped("imu", "can", -ppm, std_ppm)
    solution = solve([middle, other], ["can", "imu"], preference=["imu"])
    assert list(solution.jumps) == jumps


def test_slope_at_an_end_tells_nothing_of_a_step_there() -> None:
    end = stepped("a", "imu", -0.03, step_at_ns=AT_NS + 10 * 10**9)
    quiet = [sloped(name, "imu", 0.0, SLOPE_PPM / 5.0) for name in "bc"]
    solution = solve([end, *quiet], ["a", "b", "c", "imu"], preference=["imu"])
    assert list(solution.step_suspects) == ["imu"]


def test_drift_that_nobody_measured_has_the_error_of_two_crystals() -> None:
    measurements = [
        pair("cam", "imu", 0.0, drift_ppm=100.0, drift_std_ppm=1.0),
        pair("imu", "can", 0.0),
    ]
    # 20 ppm each: data sheets give that for crystals at room temperature.
    for reference, std_ppm in (("imu", 1.0), ("can", math.hypot(1.0, 20.0 * math.sqrt(2.0)))):
        cam = solve(measurements, ["cam", "imu", "can"], reference=reference).clocks["cam"]
        assert cam.drift_std_ppm == pytest.approx(std_ppm, rel=0.01)


def test_insignificant_step_is_no_step() -> None:
    solution = solve([stepped("cam", "imu", 2 * STD_S)], ["cam", "imu"], reference="imu")
    assert solution.clocks["cam"].step_s is None


def test_measurement_blind_to_a_step_is_not_accused() -> None:
    measurements = [
        stepped("cam", "imu", 0.02),
        stepped("cam", "can", 0.02),
        pair("imu", "can", 0.0),
        pair("cam", "imu", 0.008),  # a mixture of before (0) and after (20 ms)
    ]
    solution = solve(measurements, ["cam", "imu", "can"], reference="imu")
    assert solution.clocks["cam"].step_s == pytest.approx(0.02, abs=1e-6)
    assert not any(edge.is_contradicted for edge in solution.edges)
    assert solution.clocks["cam"].offset_s == pytest.approx(0.0, abs=1e-4)


def at_rest(source: str, target: str, after_s: float, **more: object) -> PairMeasurement:
    """Return a measurement that saw a step while nothing moved for a while."""
    fields: dict[str, object] = {
        "step_at_ns": AT_NS + round(after_s * 1e9),
        "diagnostics": {"step_at_std_s": 3.0},
    }
    return stepped(source, target, -0.03, **(fields | more))


def test_steps_that_may_have_happened_at_once_are_one() -> None:
    instants_s = (-4.0, 0.0, 4.0, 1.0, 2.0, 3.0)
    measurements = [at_rest(cam, "imu", at_s) for cam, at_s in zip(CAMS, instants_s, strict=True)]
    assert [*solve(measurements, [*CAMS, "imu"]).jumps] == ["imu"]


@pytest.mark.parametrize(("after_s", "std_s"), [(2.0, 0.03), (-2.0, 0.03), (9.8, STD_S)])
def test_offset_near_a_step_that_nobody_saw_holds_on_either_side(
    after_s: float, std_s: float
) -> None:
    """The middle of the clip is before or after a step at rest, unless that is far away."""
    camera = solve([at_rest("cam", "imu", after_s)], ["cam", "imu"], reference="imu").clocks["cam"]
    assert camera.middle_std_s == pytest.approx(std_s, rel=1e-3)
    assert camera.offset_std_s == pytest.approx(STD_S, rel=1e-3)


def test_line_through_a_step_is_no_drift() -> None:
    seen = stepped("can", "imu", 0.03, method="yaw_rate")
    line = pair("can", "imu", 0.0, 5e-3, drift_ppm=2400.0, drift_std_ppm=300.0)
    can = solve([seen, line], ["can", "imu"], reference="imu").clocks["can"]
    assert can.drift_ppm is None
    assert can.step_s == pytest.approx(0.03, abs=1e-6)


JUMPS_ITSELF = {"diagnostics": {"source_jumps": 1.0}}


def test_clocks_whose_own_timestamps_jump_are_blamed_however_many_they_are() -> None:
    """All cameras step against the IMU, as one computer sets the clock of them all."""
    measurements = [stepped(cam, "imu", -0.03, **JUMPS_ITSELF) for cam in CAMS]
    solution = solve([*measurements, pair("imu", "can", 0.0)], [*CAMS, "imu", "can"])
    assert {*solution.jumps} == {*CAMS}
    assert all(jump.is_own for jump in solution.jumps.values())
    assert not solution.step_suspects
    assert solution.reference in ("imu", "can")
    assert {*solution.suspects} == {*CAMS}


def test_jump_of_one_clock_leaves_no_doubt_between_two() -> None:
    solution = solve([stepped("a", "b", 0.03, **JUMPS_ITSELF)], ["a", "b"], preference=["a", "b"])
    assert [*solution.jumps] == ["a"]
    assert not solution.step_suspects
