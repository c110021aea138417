"""Cameras against each other and against a yaw rate, and their systematic errors."""

from dataclasses import replace

import numpy as np
import pytest

from syncaudit.estimators.rotation import (
    measure_camera_camera,
    measure_camera_gyro,
    measure_camera_yaw,
)
from syncaudit.model import Activity, Quantity
from testkit.measured_rotation import REACH_S
from testkit.moving_body import Clock, camera, imu, shaking
from testkit.streams import activity

# A spline bridges the time between frames of a 12 Hz camera: a hundredth of a frame period.
CAMERA_TOL_S = 2e-3


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
    # Both compare each camera with the other; 1 ns is the resolution of an instant.
    assert abs(there.offset_s + back.offset_s) < 1e-9
    assert there.offset_std_s == back.offset_std_s


def test_camera_pair_without_eight_frames_is_refused():
    motion = shaking(23)
    found = measure_camera_camera(camera(motion, 23), camera(motion, 23, seconds=0.6))
    assert not found.accepted
    assert found.why == "too few consecutive frames to interpolate"


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
    found = measure_camera_yaw(cam, yaw, max_offset_s=REACH_S)
    assert found.accepted
    assert found.method == "yaw_rotation"
    assert (found.source, found.target) == ("cam", "can")
    assert abs(found.offset_s - 0.05) < CAMERA_TOL_S
    # The clock of the yaw rate may count from another epoch.
    elsewhere = replace(yaw, epoch_ns=yaw.epoch_ns - 10**15)
    moved = measure_camera_yaw(cam, elsewhere, max_offset_s=REACH_S)
    assert abs(moved.offset_s - (0.05 - 1e6)) < CAMERA_TOL_S
    assert abs(moved.at_ns - found.at_ns) < 10**9


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
        assert measure_camera_yaw(cam, yaw, max_offset_s=REACH_S).accepted is not is_si


def test_errors_of_tilted_cameras_against_yaw_rates_are_honest():
    # Pitch and roll are as large as the yaw, and common to all axes of the cameras.
    deviations = []
    for seed in range(40, 52):
        motion = shaking(seed, lowest_hz=0.05, highest_hz=1.0)
        cam = camera(motion, seed, rate_hz=12.0, noise_rad=2e-3)
        whole = imu(motion, seed, rate_hz=20.0, name="can")
        yaw = activity(
            "can", Quantity.YAW_RATE, whole.times_s, whole.values[:, 1:2], epoch_ns=whole.epoch_ns
        )
        found = measure_camera_yaw(cam, yaw)
        if found.accepted:
            assert found.offset_std_s < 0.008
            deviations.append(found.offset_s / found.offset_std_s)
    assert len(deviations) > 9
    assert np.sqrt(np.mean(np.square(deviations))) < 1.5


def test_yaw_rate_needs_frames():
    motion = shaking(27, axes=1)
    yaw = imu(motion, 27, quantity=Quantity.YAW_RATE, name="can")
    found = measure_camera_yaw(camera(shaking(27), 27, seconds=0.6), yaw)
    assert not found.accepted
    assert found.why.startswith("only 6 usable increments")


# Numbers instead of the code's constants: the bias from images is at least 0.1 ms, and at least
# a hundredth of a 24 ms readout may remain.
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
        found = measure_camera_yaw(cam, yaw_of(motion, 31), max_offset_s=REACH_S)
    assert found.accepted, found.why
    assert found.offset_std_s >= found.systematic_std_s
    return found.systematic_std_s


@pytest.mark.parametrize("kind", ["gyro", "camera", "yaw"])
def test_images_and_read_out_stay_in_the_error_of_long_clips(kind):
    plain = systematic_s(kind, 0.0)
    rolling = systematic_s(kind, 5e-5)
    assert plain > PICTURES_S
    assert np.sqrt(rolling**2 - plain**2) > READOUT_LEFT_S


def test_images_count_beside_interpolation():
    motion = shaking(32, lowest_hz=0.1, highest_hz=1.5)
    cams = [
        camera(motion, 32 + k, name=name, rate_hz=120.0, mount=np.eye(3))
        for k, name in enumerate(("front", "rear"))
    ]
    # A hundredth of a frame period of 8 ms is 0.08 ms: the rest is the image bias of both cameras.
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


def uneven_camera(motion, seed, taken_s, stamped_s):
    """Return a camera that took frames at some instants and stamped them with others."""
    n = taken_s.size - 1
    turned = np.diff(motion.angle(taken_s), axis=0)
    return replace(
        camera(motion, seed),
        start_s=stamped_s[:-1],
        stop_s=stamped_s[1:],
        angles_rad=turned + np.random.default_rng(seed).normal(0.0, 1e-4, turned.shape),
        std_rad=np.full_like(turned, 1e-4),
        row_moments_px=np.zeros((n, 3, 3)),
        row_moves_px=np.zeros((n, 3, 3)),
    )


@pytest.mark.parametrize("jitter_s", [0.001, 0.004])
def test_jittering_timestamps_in_slow_motion_are_no_filter(jitter_s):
    """What the length of an increment adds to the driver's is not motion that the camera lacks."""
    for seed in range(4):
        rng = np.random.default_rng([seed, 3])
        taken_s = 0.03 + np.cumsum(1.0 / 30.0 + rng.normal(0.0, 0.003, 580))
        stamped_s = taken_s + rng.normal(0.0, jitter_s, taken_s.size)
        motion = shaking(seed, lowest_hz=0.1, highest_hz=1.0, rms=0.05)
        found = measure_camera_gyro(
            uneven_camera(motion, seed, taken_s, stamped_s), imu(motion, seed, noise=2e-3)
        )
        assert found.accepted, found.why
        assert abs(found.offset_s) < 3.0 * found.offset_std_s


@pytest.mark.parametrize(
    ("jitter_s", "is_accepted"), [(0.002, True), (0.004, True), (0.008, False)]
)
def test_frames_that_are_off_by_less_than_five_milliseconds_are_measured(jitter_s, is_accepted):
    even_s = 0.03 + np.arange(580) / 30.0
    for seed in range(4):
        taken_s = even_s + np.random.default_rng([seed, 7]).normal(0.0, jitter_s, even_s.size)
        motion = shaking(seed, lowest_hz=0.1, highest_hz=1.0, rms=0.05)
        found = measure_camera_gyro(
            uneven_camera(motion, seed, taken_s, even_s), imu(motion, seed, noise=2e-3)
        )
        assert found.accepted == is_accepted, found.why
