"""A camera against a gyroscope: offset, drift, step and their errors."""

from dataclasses import replace

import numpy as np
import pytest

from syncaudit.estimators.rotation import PICTURES_STD_S, READOUT_STD, measure_camera_gyro
from testkit.measured_rotation import OFFSET_TOL_S, REACH_S, measured
from testkit.moving_body import EPOCH_NS, Clock, camera, imu, shaking, z_of

# Shifting timestamps by whole nanoseconds changes only the rounding of float seconds and where the
# coarse search lands: Gauss-Newton stops within 0.1 us of the optimum.
SHIFT_TOL_S = 2e-6


def test_late_camera_gets_negative_offset():
    found = measured(1, cam={"clock": Clock(late_s=0.120)})
    assert found.accepted
    assert found.method == "rotation"
    assert (found.source, found.target) == ("cam", "imu")
    assert abs(found.offset_s - -0.120) < OFFSET_TOL_S


def test_late_gyro_gets_positive_offset():
    found = measured(1, gyro={"clock": Clock(late_s=0.120)})
    assert abs(found.offset_s - 0.120) < OFFSET_TOL_S


@pytest.mark.parametrize("shift_s", [-0.3125, 0.001, 0.0417])
def test_shifting_the_camera_shifts_the_answer(shift_s):
    still = measured(2)
    moved = measured(2, cam={"clock": Clock(late_s=shift_s)})
    assert abs(moved.offset_s - (still.offset_s - shift_s)) < SHIFT_TOL_S
    # the anchor moves along with the timestamps, up to where the search landed
    assert abs((moved.at_ns - still.at_ns) * 1e-9 - shift_s) < 0.1


@pytest.mark.parametrize(
    ("camera_hz", "gyro_hz"),
    [(10.0, 50.0), (10.0, 400.0), (12.0, 100.0), (30.0, 50.0), (30.0, 400.0)],
)
def test_rates_may_differ(camera_hz, gyro_hz):
    found = measured(
        3,
        cam={"rate_hz": camera_hz, "clock": Clock(late_s=-0.05)},
        gyro={"rate_hz": gyro_hz},
    )
    assert found.accepted
    assert abs(found.offset_s - 0.05) < OFFSET_TOL_S


def test_lost_frames_are_longer_increments():
    lost = [*range(30, 36), 60, 61, 90, 120, 121, 122, 180]
    found = measured(4, cam={"lost": lost, "clock": Clock(late_s=0.04)})
    assert found.accepted
    assert found.step_s is None
    assert abs(found.offset_s - -0.04) < OFFSET_TOL_S


def test_gaps_of_the_gyro_are_not_bridged():
    gaps = [(3.0, 3.6), (9.0, 9.1), (14.0, 15.5)]
    found = measured(4, gyro={"lost": gaps}, cam={"clock": Clock(late_s=0.04)})
    whole = measured(4, cam={"clock": Clock(late_s=0.04)})
    assert found.accepted
    assert abs(found.offset_s - -0.04) < OFFSET_TOL_S
    assert found.diagnostics["rows"] < whole.diagnostics["rows"] - 20


def test_outliers_do_not_pull():
    found = measured(5, cam={"bad": 0.1, "clock": Clock(late_s=0.04)})
    assert found.accepted
    assert abs(found.offset_s - -0.04) < OFFSET_TOL_S


@pytest.mark.parametrize("apart_ns", [10**15, -(10**15)])
def test_unrelated_epochs(apart_ns):
    near = measured(6)
    far = measured(6, gyro={"epoch_ns": EPOCH_NS + apart_ns})
    assert far.accepted
    # float64 has a step of 0.1 ns at 1e6 s
    assert abs(far.offset_s - apart_ns * 1e-9 - near.offset_s) < SHIFT_TOL_S


def test_epochs_near_1_7e18_ns_stay_exact():
    motion = shaking(7)
    epoch_ns = 1_700_000_000_123_456_789
    cam, gyro = camera(motion, 7, epoch_ns=epoch_ns), imu(motion, 7, epoch_ns=epoch_ns)
    here = measure_camera_gyro(cam, gyro, max_offset_s=REACH_S)
    # 0.101 us: less than half a step of float64 unix seconds
    there = measure_camera_gyro(cam, replace(gyro, epoch_ns=epoch_ns + 101), max_offset_s=REACH_S)
    # the fit stops 2 us from its optimum and restarts for each
    assert abs(there.offset_s - here.offset_s - 101e-9) < 5e-9
    origin = measure_camera_gyro(
        replace(cam, epoch_ns=0), replace(gyro, epoch_ns=0), max_offset_s=REACH_S
    )
    assert origin.offset_s == here.offset_s
    assert here.at_ns - origin.at_ns == epoch_ns


def test_drift_is_recovered():
    found = measured(
        8,
        cam={"seconds": 60.0, "noise_rad": 1e-4},
        gyro={"seconds": 60.0, "clock": Clock(late_s=0.02, drift_ppm=150.0, middle_s=0.0)},
    )
    assert found.accepted
    assert found.step_s is None
    # clock map: t_target = t_source + offset + drift * (t_source - anchor)
    assert abs(found.drift_ppm - 150.0) < 4.0 * found.drift_std_ppm
    assert found.drift_std_ppm < 10.0
    at_s = (found.at_ns - EPOCH_NS) * 1e-9
    assert abs(found.offset_s - (0.02 + 150e-6 * at_s)) < OFFSET_TOL_S


@pytest.mark.parametrize("step_s", [0.060, -0.060])
def test_step_of_the_camera_is_found_in_place_and_size(step_s):
    found = measured(9, cam={"clock": Clock(step_s=step_s, step_at_s=13.0)})
    assert found.accepted
    # the camera's timestamps jump ahead: the correction decreases
    assert abs(found.step_s - -step_s) < 4.0 * found.step_std_s + 1e-4
    assert found.step_std_s < 1e-3
    # located to within a few frames of 83 ms
    assert abs((found.step_at_ns - EPOCH_NS) * 1e-9 - 13.0) < 0.4


@pytest.mark.parametrize("seed", range(20))
def test_no_step_is_invented(seed):
    drift_ppm = 0.0 if seed % 2 else 200.0
    found = measured(seed, gyro={"clock": Clock(drift_ppm=drift_ppm)}, max_offset_s=0.2)
    assert found.accepted
    assert found.step_s is None


def test_claimed_errors_cover_the_truth():
    """Camera noise of 1 mrad dominates; 85-99 % of 60 cases allows 3 sigma of the binomial."""
    z = np.array(
        [
            z_of(
                measured(
                    seed,
                    cam={"noise_rad": 1e-3, "clock": Clock(late_s=0.1)},
                    max_offset_s=0.3,
                ),
                -0.1,
            )
            for seed in range(60)
        ]
    )
    assert 0.85 <= np.mean(np.abs(z) < 1.96) <= 0.99


def test_stated_line_delay_is_corrected_row_by_row():
    cam = {"line_delay_s": 5e-5, "noise_rad": 1e-4, "clock": Clock(late_s=0.1)}
    z = [z_of(measured(seed, cam=cam, max_offset_s=0.3), -0.1) for seed in range(6)]
    found = measured(0, cam=cam)
    # part of the readout of 480 rows and the bias from images form the stated systematic error
    stated_s = np.linalg.norm([READOUT_STD * 480 * 5e-5, PICTURES_STD_S, 5e-5])
    assert abs(found.systematic_std_s - stated_s) < 1e-6
    # uncorrected, the mean of 90 rows above the middle would cause 4.5 ms
    assert abs(found.offset_s - -0.1) < 3e-4
    assert "line_delay_s" not in found.diagnostics
    assert max(np.abs(z)) < 3.5


def test_unstated_line_delay_is_fitted_and_the_offset_is_of_the_mean_row():
    cam = camera(
        motion := shaking(11), 11, line_delay_s=5e-5, stated=False, clock=Clock(late_s=0.1)
    )
    found = measure_camera_gyro(cam, imu(motion, 11), max_offset_s=REACH_S)
    assert found.accepted
    fitted, std = (found.diagnostics[key] for key in ("line_delay_s", "line_delay_std_s"))
    assert std < 1e-5
    assert abs(fitted - 5e-5) < 4.0 * std
    # The mean row lies above the middle and is exposed earlier, so its timestamps need less.
    assert cam.mean_row_px < -60.0
    assert abs(found.offset_s - (-0.1 + cam.mean_row_px * 5e-5)) < OFFSET_TOL_S
    # back to the middle row using the diagnostics
    middle_s = found.offset_s + found.diagnostics["middle_row_shift_s"]
    assert abs(middle_s - -0.1) < OFFSET_TOL_S + abs(cam.mean_row_px) * 4.0 * std
    # half the difference between the two readings of the timestamps is claimed as systematic
    assert found.systematic_std_s > 0.4 * abs(found.diagnostics["middle_row_shift_s"])


def test_stamp_uncertainty_of_the_camera_is_systematic():
    found = measured(12, cam={"stamp_std_s": 0.003})
    assert abs(found.systematic_std_s - 0.003) < 1e-5
    assert found.offset_std_s >= found.systematic_std_s
