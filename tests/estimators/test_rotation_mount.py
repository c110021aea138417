"""Cameras fixed to a gyroscope, and footage with filtered motion."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from syncaudit.estimators.rotation import measure_camera_gyro
from testkit.moving_body import TILTED, Clock, Motion, camera, imu, shaking

REACH_S = 0.5


def measured(motion, seen, seed, **options):
    return measure_camera_gyro(
        camera(seen, seed, rate_hz=20.0, **options), imu(motion, seed), max_offset_s=REACH_S
    )


def filtered(motion, response):
    """Return the motion after a filter with a complex frequency response."""
    gain = response(motion.hz)
    return Motion(
        hz=motion.hz, size=motion.size * np.abs(gain), phase=motion.phase + np.angle(gain)
    )


def one_sided(time_s):
    return lambda hz: 1.0 / (1.0 + 2j * np.pi * hz * time_s)


def gaussian(time_s):
    return lambda hz: np.exp(-0.5 * (2.0 * np.pi * hz * time_s) ** 2)


@pytest.mark.parametrize("focal", [0.62, 0.85, 1.0, 1.5])
@pytest.mark.parametrize("seed", range(2))
def test_wrong_focal_length_is_no_stabilised_image(seed, focal):
    motion = shaking(seed)
    mount = np.diag([focal, focal, 1.0]) @ TILTED
    found = measured(motion, motion, seed, mount=mount)
    assert found.accepted, found.why
    assert abs(found.offset_s) < 5e-4


@pytest.mark.parametrize("shares", [(0.85, 1.1, 0.6), (1.0, 1.0, 0.5), (0.7, 0.7, 0.6)])
@pytest.mark.parametrize("seed", range(2))
def test_gimbal_is_refused_by_its_axes(seed, shares):
    """The first shares are those of a drone's gimbal (`drone_gimbal`)."""
    motion = shaking(seed)
    found = measured(motion, motion, seed, mount=np.diag(shares) @ TILTED)
    assert not found.accepted
    assert "not fixed to the gyroscope" in found.why


@pytest.mark.parametrize("shares", [(1.0, 1.0, 1.0), (0.85, 1.1, 0.6)])
def test_gimbal_is_refused_whether_its_clock_steps_or_not(shares):
    motion = shaking(1)
    clock = Clock(step_s=0.06, step_at_s=12.0)
    found = measured(motion, motion, 1, mount=np.diag(shares) @ TILTED, clock=clock)
    if shares == (1.0, 1.0, 1.0):
        assert abs(found.step_s + 0.06) < 4.0 * found.step_std_s
    else:
        assert not found.accepted
        assert "not fixed to the gyroscope" in found.why


@pytest.mark.parametrize("response", [one_sided(0.1), one_sided(0.3), gaussian(0.3), gaussian(1.0)])
@pytest.mark.parametrize("highest_hz", [1.5, 4.0])
@pytest.mark.parametrize("seed", range(2))
def test_stabilised_image_is_refused(seed, highest_hz, response):
    motion = shaking(seed, highest_hz=highest_hz, rms=0.3)
    assert not measured(motion, filtered(motion, response), seed).accepted


@pytest.mark.parametrize("is_filtered", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_bad_increments_hide_no_filter(seed, is_filtered):
    motion = shaking(seed, highest_hz=1.5, rms=0.3)
    seen = filtered(motion, one_sided(0.1)) if is_filtered else motion
    cam = camera(seen, seed, rate_hz=20.0)
    angles_rad = cam.angles_rad.copy()
    angles_rad[[100, 101, 200, 300]] += 0.3
    cam = replace(cam, angles_rad=angles_rad)
    found = measure_camera_gyro(cam, imu(motion, seed), max_offset_s=REACH_S)
    assert found.accepted is not is_filtered


def test_image_without_slow_motion_is_refused():
    motion = shaking(1, rms=0.3, highest_hz=1.5)
    assert not measured(motion, filtered(motion, lambda hz: 1 - gaussian(0.3)(hz)), 1).accepted


@pytest.mark.parametrize("noise", [1e-3, 5e-3, 2e-2])
@pytest.mark.parametrize("seed", range(2))
def test_noise_of_the_gyroscope_is_no_filter(seed, noise):
    motion = shaking(seed)
    found = measure_camera_gyro(
        camera(motion, seed, rate_hz=20.0), imu(motion, seed, noise=noise), max_offset_s=REACH_S
    )
    assert found.accepted, found.why


@dataclass(frozen=True)
class Rested:
    """A body that rests at first."""

    motion: Motion
    since_s: float

    def rate(self, t):
        return self.motion.rate(t) * (np.asarray(t) >= self.since_s)[..., None]

    def angle(self, t):
        return self.motion.angle(np.maximum(t, self.since_s))

    def mixed(self, matrix):
        return Rested(self.motion.mixed(matrix), self.since_s)


@pytest.mark.parametrize("rest", [0.6, 0.7, 0.8])
def test_rest_is_no_lack_of_motion(rest):
    """At rest a camera measures nothing at all, and a gyroscope its noise."""
    for seed in range(3):
        body = Rested(shaking(seed, highest_hz=1.0, rms=0.5), 40.0 * rest)
        gyro = imu(body, seed, seconds=40.0, noise=5e-3)
        seen = camera(body, seed, seconds=40.0, rate_hz=20.0, noise_rad=2e-5)
        # errors that follow the motion, so that residuals are correlated
        error = 1.0 + 0.03 * shaking(seed + 9, highest_hz=1.0, rms=1.0).rate(seen.start_s)
        erring = replace(seen, angles_rad=seen.angles_rad * error)
        found = measure_camera_gyro(erring, gyro, max_offset_s=REACH_S)
        assert found.accepted, found.why
        assert abs(found.offset_s) < 4.0 * found.offset_std_s


@pytest.mark.parametrize("seed", range(4))
def test_delay_of_most_of_a_clip_is_not_that_of_all(seed):
    """A stabiliser holds the camera at first: robust weights treat that part as outliers."""
    motion, late_s = shaking(seed, highest_hz=0.8), 0.06
    late = filtered(motion, lambda hz: np.exp(-2j * np.pi * hz * late_s))
    both = {"rate_hz": 20.0, "seconds": 12.0}
    held, free = camera(late, seed, mount=0.5 * TILTED, **both), camera(motion, seed, **both)
    is_held = (free.start_s < 4.8)[:, None]
    seen = replace(free, angles_rad=np.where(is_held, held.angles_rad, free.angles_rad))
    found = measure_camera_gyro(seen, imu(motion, seed, seconds=12.0), max_offset_s=REACH_S)
    assert not found.accepted or found.step_s is not None
