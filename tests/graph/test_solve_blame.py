"""Which clock is wrong: by consensus, then by trust."""

from __future__ import annotations

import numpy as np
import pytest

from testkit.measured_pairs import pair
from testkit.solved_clocks import CAMS, STD_S, TOLERANCES, solve


def test_one_shifted_imu_is_told_as_imu() -> None:
    measurements = [pair(cam, "imu", 0.04) for cam in CAMS] + [pair("can", "imu", 0.0405)]
    solution = solve(measurements, [*CAMS, "imu", "can"], tolerance_s=TOLERANCES)
    assert solution.suspects == ("imu",)
    assert solution.reference != "imu"
    assert solution.clocks["imu"].offset_s == pytest.approx(-0.04, abs=1e-3)


def test_nothing_is_blamed_where_one_clock_leaves_all_others_inside_their_tolerance() -> None:
    """Six milliseconds are too much for an IMU, but not for cameras that are judged against it."""
    measurements = [pair(cam, "imu", 0.006) for cam in CAMS] + [pair("can", "imu", 0.006)]
    names = [*CAMS, "imu", "can"]
    assert solve(measurements, names, tolerance_s=TOLERANCES).suspects == ()
    stated = solve(measurements, names, tolerance_s=TOLERANCES, reference="cam0")
    assert abs(stated.clocks["imu"].offset_s) == pytest.approx(0.006, abs=1e-6)


def test_shifted_camera_is_told_as_camera_whatever_the_reference() -> None:
    measurements = [pair(cam, "imu", 0.035 if cam == "cam4" else 0.0) for cam in CAMS]
    for reference in (None, "imu", "cam0", "cam4"):
        solution = solve(measurements, [*CAMS, "imu"], tolerance_s=TOLERANCES, reference=reference)
        assert solution.suspects == ("cam4",)
        assert solution.is_reference_stated == (reference is not None)


@pytest.mark.parametrize(("trusted", "blamed"), [("imu", "cam0"), ("cam0", "imu")])
def test_of_two_clocks_the_less_trusted_is_blamed(trusted: str, blamed: str) -> None:
    solution = solve(
        [pair("cam0", "imu", 0.035)],
        ["cam0", "imu"],
        tolerance_s=TOLERANCES,
        preference=[trusted],
    )
    assert solution.reference == trusted
    assert solution.suspects == (blamed,)


@pytest.mark.parametrize("trusted", ["a0", "b2"])
@pytest.mark.parametrize("seed", range(5))
def test_three_against_three_falls_to_the_trusted_side(trusted: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = ["a0", "a1", "a2", "b0", "b1", "b2"]
    truth = {name: 0.035 if name[0] == "b" else 0.0 for name in names}
    measurements = [
        pair(x, y, truth[x] - truth[y] + float(rng.normal(0, STD_S)))
        for i, x in enumerate(names)
        for y in names[:i]
    ]
    solution = solve(measurements, names, preference=[trusted])
    assert solution.reference == trusted
    assert all(name[0] != trusted[0] for name in solution.suspects)
    assert len(solution.suspects) == 3


def test_vague_clock_is_no_reference() -> None:
    measurements = [pair("text", "cam0", 0.0, 0.02)] + [pair(cam, "cam0", 0.0) for cam in CAMS[1:]]
    solution = solve(measurements, [*CAMS, "text"], preference=["text"])
    assert solution.reference != "text"
    assert solution.suspects == ()


def test_drift_counts_against_a_clock_over_the_clip() -> None:
    measurements = [pair(cam, "imu", 0.0, drift_ppm=0.0, drift_std_ppm=5.0) for cam in CAMS[:3]] + [
        pair("cam3", "imu", 0.0, drift_ppm=1500.0, drift_std_ppm=5.0)
    ]
    solution = solve(measurements, [*CAMS[:4], "imu"], tolerance_s=TOLERANCES)
    assert solution.suspects == ("cam3",)  # 1500 ppm over 10 s is 15 ms


def test_more_measurements_decide_where_nothing_else_does() -> None:
    solution = solve([pair("a", "c", 0.0), pair("b", "c", 0.0)], ["a", "b", "c"])
    assert solution.reference == "c"
