"""Camera against gyro, camera and yaw rate: motions with closed-form truth, fixed seeds."""

from dataclasses import replace

import numpy as np
import pytest

from syncaudit.estimators import measure_camera_camera, measure_camera_gyro, measure_yaw_camera
from syncaudit.estimators.rotation.measure import PICTURES_STD_S, READOUT_STD
from syncaudit.model import Activity, Quantity
from testkit.moving_body import EPOCH_NS, TILTED, Clock, Motion, camera, imu, shaking, z_of
from testkit.streams import activity

# 0.3 mrad a frame tell 0.1 ms in 20 s of this motion (the claimed error); five of those.
OFFSET_TOL_S = 5e-4
# Shifting stamps by whole nanoseconds changes only the rounding of float seconds and where the
# coarse search lands: Gauss-Newton stops within 0.1 us of the optimum.
SHIFT_TOL_S = 2e-6
# Time between frames of a 12 Hz camera is bridged by a spline: a hundredth of a frame period.
CAMERA_TOL_S = 2e-3
REACH_S = 0.5


def measured(seed, *, cam=None, gyro=None, **options):
    motion = shaking(seed)
    return measure_camera_gyro(
        camera(motion, seed, **(cam or {})),
        imu(motion, seed, **(gyro or {})),
        **({"max_offset_s": REACH_S} | options),
    )


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
    # the anchor moves along with the stamps, up to where the search landed
    assert abs((moved.at_ns - still.at_ns) * 1e-9 - shift_s) < 0.1


@pytest.mark.parametrize("camera_hz", [10.0, 12.0, 30.0])
@pytest.mark.parametrize("gyro_hz", [50.0, 100.0, 400.0])
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
    # 1e6 s as float64 has a step of 0.1 ns
    assert abs(far.offset_s - apart_ns * 1e-9 - near.offset_s) < SHIFT_TOL_S


def test_epochs_near_1_7e18_ns_stay_exact():
    motion = shaking(7)
    epoch_ns = 1_700_000_000_123_456_789
    cam, gyro = camera(motion, 7, epoch_ns=epoch_ns), imu(motion, 7, epoch_ns=epoch_ns)
    here = measure_camera_gyro(cam, gyro, max_offset_s=REACH_S)
    # 0.101 us: less than half a step of float64 unix seconds
    there = measure_camera_gyro(cam, replace(gyro, epoch_ns=epoch_ns + 101), max_offset_s=REACH_S)
    # the fit stops 2 us from its optimum, and starts anew for each
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
    # the camera's stamps jump ahead: what must be added to them falls
    assert abs(found.step_s - -step_s) < 4.0 * found.step_std_s + 1e-4
    assert found.step_std_s < 1e-3
    # located to a few frames of 83 ms
    assert abs((found.step_at_ns - EPOCH_NS) * 1e-9 - 13.0) < 0.4


@pytest.mark.parametrize("seed", range(50))
def test_no_step_is_invented(seed):
    drift_ppm = 0.0 if seed % 2 else 200.0
    found = measured(seed, gyro={"clock": Clock(drift_ppm=drift_ppm)}, max_offset_s=0.2)
    assert found.accepted
    assert found.step_s is None


def test_claimed_errors_cover_the_truth():
    """Camera noise of 1 mrad rules; 88-99 % of 100 cases leaves 3 sigma of the binomial."""
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
            for seed in range(100)
        ]
    )
    assert 0.88 <= np.mean(np.abs(z) < 1.96) <= 0.99


def test_stated_line_delay_is_corrected_row_by_row():
    cam = {"line_delay_s": 5e-5, "noise_rad": 1e-4, "clock": Clock(late_s=0.1)}
    z = [z_of(measured(seed, cam=cam, max_offset_s=0.3), -0.1) for seed in range(6)]
    found = measured(0, cam=cam)
    # part of the read-out of 480 rows, and what pictures do, is the stated systematic error
    stated_s = np.linalg.norm([READOUT_STD * 480 * 5e-5, PICTURES_STD_S, 5e-5])
    assert abs(found.systematic_std_s - stated_s) < 1e-6
    # uncorrected, the 90 rows above the middle would make 4.5 ms
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
    # The mean row lies above the middle and is exposed earlier: what its stamps need is less.
    assert cam.mean_row_px < -60.0
    assert abs(found.offset_s - (-0.1 + cam.mean_row_px * 5e-5)) < OFFSET_TOL_S
    # back to the middle row by what the diagnostics say
    middle_s = found.offset_s + found.diagnostics["middle_row_shift_s"]
    assert abs(middle_s - -0.1) < OFFSET_TOL_S + abs(cam.mean_row_px) * 4.0 * std
    # half the way between the two readings of the stamps is claimed as systematic
    assert found.systematic_std_s > 0.4 * abs(found.diagnostics["middle_row_shift_s"])


def test_stamp_uncertainty_of_the_camera_is_systematic():
    found = measured(12, cam={"stamp_std_s": 0.003})
    assert abs(found.systematic_std_s - 0.003) < 1e-5
    assert found.offset_std_s >= found.systematic_std_s


# --- refusals ------------------------------------------------------------------------------


def test_nothing_moves():
    still = Motion(hz=np.ones(1), size=np.zeros((3, 1)), phase=np.zeros((3, 1)))
    found = measure_camera_gyro(camera(still, 1), imu(still, 1))
    assert not found.accepted
    assert found.offset_s is None
    assert found.why


def test_unrelated_motion_is_never_accepted():
    accepted = [
        seed
        for seed in range(100)
        if measure_camera_gyro(
            camera(shaking(seed), seed), imu(shaking(seed + 500), seed), max_offset_s=0.6
        ).accepted
    ]
    assert accepted == []


def test_unrelated_motion_is_refused_over_the_whole_range():
    for seed in range(5):
        found = measure_camera_gyro(camera(shaking(seed), seed), imu(shaking(seed + 500), seed))
        assert not found.accepted
        assert found.why


def test_gimbal_is_refused_by_its_gain():
    motion = shaking(13)
    cam = camera(motion, 13, mount=0.2 * TILTED, noise_rad=3e-5)
    found = measure_camera_gyro(cam, imu(motion, 13), max_offset_s=REACH_S)
    assert not found.accepted
    assert "gain 0.2" in found.why
    assert "gimbal" in found.why
    # the refused number stays on record for people
    assert abs(found.diagnostics["offset_s"]) < OFFSET_TOL_S


def test_unknown_focal_length_allows_a_wider_gain():
    motion = shaking(14)
    # a focal length scales turns to the sides, and none about the optical axis
    cam = camera(motion, 14, mount=np.diag([2.8, 2.8, 1.0]) @ TILTED)
    assert not measure_camera_gyro(cam, imu(motion, 14), max_offset_s=REACH_S).accepted
    free = replace(cam, has_focal=False)
    assert measure_camera_gyro(free, imu(motion, 14), max_offset_s=REACH_S).accepted


@pytest.mark.parametrize("phase", [(0.0, 0.0, 0.0), (0.0, 1.0, 2.0)])
@pytest.mark.parametrize("hz", [0.7, 1.3])
@pytest.mark.parametrize("late_s", [0.0, 0.4])
def test_periodic_motion_is_ambiguous(phase, hz, late_s):
    """Out of phase, the free mounting even turns one phase into another: no delay stands out."""
    swing = Motion(
        hz=np.array([hz]), size=np.array([[0.2], [0.1], [0.05]]), phase=np.array(phase)[:, None]
    )
    for seed in range(3):
        found = measure_camera_gyro(
            camera(swing, seed, clock=Clock(late_s=late_s)), imu(swing, seed)
        )
        assert not found.accepted
        assert "another delay fits almost as well" in found.why or "edge of the search" in found.why


def test_delay_that_wanders_with_the_motion_is_refused():
    """A gimbal's delay depends on the motion; a clock's does not swing by 3 ms in 10 s."""
    motion = shaking(28)
    cam = camera(motion, 28)

    def swung(times_s):
        return times_s + 0.003 * np.sin(2 * np.pi * times_s / 10.0)

    swinging = replace(cam, start_s=swung(cam.start_s), stop_s=swung(cam.stop_s))
    found = measure_camera_gyro(swinging, imu(motion, 28), max_offset_s=REACH_S)
    assert measure_camera_gyro(cam, imu(motion, 28), max_offset_s=REACH_S).accepted
    assert not found.accepted
    assert "the delay wanders by" in found.why


def test_bands_with_different_delays_are_refused():
    slow = shaking(16, lowest_hz=0.15, highest_hz=0.8, n=20)
    fast = shaking(17, lowest_hz=2.0, highest_hz=4.0, n=20)

    def both(delay_s):
        late = Motion(hz=slow.hz, size=slow.size, phase=slow.phase - 2 * np.pi * slow.hz * delay_s)
        return Motion(
            hz=np.concatenate([late.hz, fast.hz]),
            size=np.concatenate([late.size, fast.size], axis=1),
            phase=np.concatenate([late.phase, fast.phase], axis=1),
        )

    gyro = imu(both(0.0), 16, seconds=40.0)
    same = measure_camera_gyro(camera(both(0.0), 16, seconds=40.0), gyro, max_offset_s=REACH_S)
    assert same.accepted
    found = measure_camera_gyro(camera(both(0.03), 16, seconds=40.0), gyro, max_offset_s=REACH_S)
    assert not found.accepted
    assert "slow and fast motion disagree" in found.why


def test_offset_beyond_the_search_range_is_refused():
    found = measured(18, cam={"clock": Clock(late_s=0.8)})
    assert not found.accepted
    assert found.offset_s is None


def test_best_delay_at_the_edge_is_refused():
    found = measured(18, cam={"clock": Clock(late_s=REACH_S + 0.02)})
    assert not found.accepted
    assert "edge of the search range" in found.why


def test_too_few_frames():
    found = measured(19, cam={"seconds": 2.0})
    assert not found.accepted
    assert found.why == "only 23 usable increments, needed 30"
    assert found.diagnostics["rows"] == 23


def test_no_common_time():
    motion = shaking(20)
    cam = camera(motion, 20)
    gyro = imu(motion, 20, lost=[(4.0, 19.9)])
    found = measure_camera_gyro(cam, gyro)
    assert not found.accepted


# --- camera against camera, yaw rate against camera ------------------------------------------


def pair_of_cameras(seed, *, late_s=0.0, line_delay_s=0.0):
    motion = shaking(seed, highest_hz=2.0)
    common = {"rate_hz": 30.0, "line_delay_s": line_delay_s, "noise_rad": 5e-5}
    return (
        camera(motion, seed, name="front", clock=Clock(late_s=late_s), **common),
        camera(motion, seed + 1000, name="rear", mount=np.eye(3), **common),
    )


@pytest.mark.parametrize("line_delay_s", [0.0, 3e-5])
def test_late_camera_against_camera(line_delay_s):
    front, rear = pair_of_cameras(21, late_s=0.07, line_delay_s=line_delay_s)
    found = measure_camera_camera(front, rear, max_offset_s=REACH_S)
    assert found.accepted
    assert abs(found.offset_s - -0.07) < CAMERA_TOL_S


def test_swapping_cameras_negates():
    front, rear = pair_of_cameras(22, late_s=0.07)
    there = measure_camera_camera(front, rear, max_offset_s=REACH_S)
    back = measure_camera_camera(rear, front, max_offset_s=REACH_S)
    std_s = np.hypot(there.offset_std_s, back.offset_std_s)
    assert abs(there.offset_s + back.offset_s) < 3.0 * std_s


def test_camera_pair_without_eight_frames_is_refused():
    motion = shaking(23)
    found = measure_camera_camera(camera(motion, 23), camera(motion, 23, seconds=0.6))
    assert not found.accepted
    assert found.why == "too few frames in a row to interpolate"


def test_pauses_of_the_target_camera_are_gaps():
    motion = shaking(24, highest_hz=2.0)
    quiet = {"rate_hz": 30.0, "noise_rad": 5e-5}
    front = camera(motion, 24, clock=Clock(late_s=0.07), **quiet)
    whole = camera(motion, 25, **quiet)
    keep = np.ones(whole.start_s.size, dtype=bool)
    keep[200:230] = False  # nothing was tracked for a second
    cut = {
        name: getattr(whole, name)[keep]
        for name in (
            "start_s", "stop_s", "angles_rad", "std_rad", "row_moments_px", "row_moves_px"
        )
    }  # fmt: skip
    found = measure_camera_camera(front, replace(whole, **cut), max_offset_s=REACH_S)
    assert found.accepted
    assert abs(found.offset_s - -0.07) < CAMERA_TOL_S


@pytest.mark.parametrize("unit", [1.0, 180.0 / np.pi])
def test_late_yaw_rate_against_camera(unit):
    motion = shaking(26, lowest_hz=0.1, highest_hz=1.5)
    cam = camera(motion, 26, rate_hz=30.0, seconds=40.0, mount=np.eye(3))
    whole = imu(motion, 26, rate_hz=50.0, seconds=40.0, clock=Clock(late_s=0.05), name="can")
    yaw = activity(
        "can",
        Quantity.YAW_RATE,
        whole.times_s,
        unit * whole.values[:, 1:2],
        epoch_ns=whole.epoch_ns,
    )
    found = measure_yaw_camera(yaw, cam, max_offset_s=REACH_S)
    assert found.accepted
    assert found.method == "yaw_rotation"
    assert (found.source, found.target) == ("can", "cam")
    assert abs(found.offset_s - -0.05) < CAMERA_TOL_S
    # The instant is told on the clock of the yaw rate, which may count from another day.
    elsewhere = replace(yaw, epoch_ns=yaw.epoch_ns - 10**15)
    moved = measure_yaw_camera(elsewhere, cam, max_offset_s=REACH_S)
    assert abs(moved.offset_s - (1e6 - 0.05)) < CAMERA_TOL_S
    assert abs(moved.at_ns - (found.at_ns - 10**15)) < 10**9


def test_yaw_rate_of_a_stated_unit_has_one_gain():
    motion = shaking(26, lowest_hz=0.1, highest_hz=1.5)
    cam = camera(motion, 26, rate_hz=30.0, seconds=40.0, mount=np.eye(3))
    whole = imu(motion, 26, rate_hz=50.0, seconds=40.0, name="can")
    for is_si in (False, True):
        yaw = Activity(
            source="can",
            quantity=Quantity.YAW_RATE,
            epoch_ns=whole.epoch_ns,
            times_s=whole.times_s,
            values=180.0 / np.pi * whole.values[:, 1:2],
            is_si=is_si,
        )
        assert measure_yaw_camera(yaw, cam, max_offset_s=REACH_S).accepted is not is_si


def test_yaw_rate_needs_frames_in_a_row():
    motion = shaking(27, axes=1)
    yaw = imu(motion, 27, quantity=Quantity.YAW_RATE, name="can")
    found = measure_yaw_camera(yaw, camera(shaking(27), 27, seconds=0.6))
    assert not found.accepted
    assert found.why == "too few frames in a row to interpolate"


# --- systematic errors -----------------------------------------------------------------------

# In numbers, not by the constants of the code: what pictures do besides is 0.1 ms or more, and of
# a read-out of 24 ms a hundredth or more may be left.
PICTURES_S = 1e-4
READOUT_LEFT_S = 2.4e-4


def yaw_of(motion, seed):
    whole = imu(motion, seed, rate_hz=50.0, seconds=20.0, name="can")
    return activity(
        "can", Quantity.YAW_RATE, whole.times_s, whole.values[:, 1:2], epoch_ns=whole.epoch_ns
    )


def systematic_s(kind, line_delay_s):
    motion = shaking(31, lowest_hz=0.1, highest_hz=1.5)
    cam = camera(motion, 31, rate_hz=30.0, line_delay_s=line_delay_s, mount=np.eye(3))
    if kind == "gyro":
        found = measure_camera_gyro(cam, imu(motion, 31), max_offset_s=REACH_S)
    elif kind == "camera":
        other = camera(motion, 1031, name="rear", rate_hz=30.0, mount=np.eye(3))
        found = measure_camera_camera(cam, other, max_offset_s=REACH_S)
    else:
        found = measure_yaw_camera(yaw_of(motion, 31), cam, max_offset_s=REACH_S)
    assert found.accepted, found.why
    assert found.offset_std_s >= found.systematic_std_s
    return found.systematic_std_s


@pytest.mark.parametrize("kind", ["gyro", "camera", "yaw"])
def test_pictures_and_read_out_stay_in_the_error_of_long_clips(kind):
    plain = systematic_s(kind, 0.0)
    rolling = systematic_s(kind, 5e-5)
    assert plain > PICTURES_S
    assert np.sqrt(rolling**2 - plain**2) > READOUT_LEFT_S


def test_pictures_count_beside_interpolation():
    motion = shaking(32, lowest_hz=0.1, highest_hz=1.5)
    cams = [
        camera(motion, 32 + k, name=name, rate_hz=120.0, mount=np.eye(3))
        for k, name in enumerate(("front", "rear"))
    ]
    # A hundredth of a frame period of 8 ms is 0.08 ms: the rest is both pictures'.
    found = measure_camera_camera(*cams, max_offset_s=REACH_S)
    assert found.systematic_std_s > np.sqrt(2.0) * PICTURES_S


@pytest.mark.parametrize("is_of_stamps", [True, False])
def test_content_tells_which_dating_is_true(is_of_stamps):
    motion = shaking(11)
    even_s = 0.03 + np.arange(240) / 12.0
    uneven_s = even_s + np.random.default_rng(4).normal(0.0, 8e-3, 240)
    taken_s = even_s if is_of_stamps else uneven_s
    turned = np.diff(motion.angle(taken_s), axis=0)
    cam = replace(
        camera(motion, 11, seconds=20.0),
        start_s=uneven_s[:-1],
        stop_s=uneven_s[1:],
        angles_rad=turned + np.random.default_rng(5).normal(0.0, 3e-4, turned.shape),
        std_rad=np.full_like(turned, 3e-4),
        row_moments_px=np.zeros((239, 3, 3)),
        row_moves_px=np.zeros((239, 3, 3)),
        regular_start_s=even_s[:-1],
        regular_stop_s=even_s[1:],
    )
    found = measure_camera_gyro(cam, imu(motion, 11))
    assert found.accepted
    assert abs(found.offset_s) < 2e-3
    assert found.diagnostics["stamp_share"] == pytest.approx(float(is_of_stamps), abs=0.1)
    assert found.diagnostics["stamp_share_std"] < 0.1
    assert ("is_regular" in found.diagnostics) == is_of_stamps
