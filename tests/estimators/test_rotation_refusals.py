"""Rotation that determines no offset is rejected, with the reason."""

import re
from dataclasses import replace

import numpy as np
import pytest

from syncaudit.estimators.rotation import measure_camera_camera, measure_camera_gyro
from testkit.measured_rotation import OFFSET_TOL_S, REACH_S, measured
from testkit.moving_body import TILTED, Clock, Motion, camera, imu, shaking


def test_nothing_moves():
    still = Motion(hz=np.ones(1), size=np.zeros((3, 1)), phase=np.zeros((3, 1)))
    found = measure_camera_gyro(camera(still, 1), imu(still, 1))
    assert not found.accepted
    assert found.offset_s is None
    assert found.why


def test_unrelated_motion_is_never_accepted():
    # None of 60: one in 20 would show in 95 of 100 runs.
    accepted = [
        seed
        for seed in range(60)
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
    # the rejected value stays on record for people
    assert abs(found.diagnostics["offset_s"]) < OFFSET_TOL_S


def test_unknown_focal_length_allows_a_wider_gain():
    motion = shaking(14)
    # a focal length scales sideways rotations, but none about the optical axis
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


def test_vibration_with_phases_of_its_own_is_no_common_motion():
    """An engine shakes all cameras at a few frequencies, each mount with its own phases."""
    seed = 21  # accepted, 0.4 s off, by all other tests
    rng = np.random.default_rng(seed)
    hz = rng.uniform(0.7, 2.5, 5)
    size = 1e-3 * rng.uniform(0.3, 1.0, (3, 5)) * np.array([[1.0], [1.0], [0.3]])

    def shaken(name, seed):
        own = Motion(
            hz=hz,
            size=size * rng.uniform(0.7, 1.3, (3, 5)),
            phase=rng.uniform(0.0, 2.0 * np.pi, 5) + np.array([[0.0], [0.5], [1.0]]),
        )
        return camera(own, seed, name=name, seconds=30.0, noise_rad=1e-4)

    one, other = shaken("front", seed), shaken("rear", seed + 1)
    found = measure_camera_camera(one, other, max_offset_s=2.0)
    assert not found.accepted
    assert "more than 4 s away from the best delay" in found.why


def test_delay_that_wanders_with_the_motion_is_refused():
    """A gimbal's delay depends on the motion; a clock does not vary by 3 ms in 10 s."""
    motion = shaking(28)
    cam = camera(motion, 28)

    def swung(times_s):
        return times_s + 0.003 * np.sin(2 * np.pi * times_s / 10.0)

    swinging = replace(cam, start_s=swung(cam.start_s), stop_s=swung(cam.stop_s))
    found = measure_camera_gyro(swinging, imu(motion, 28), max_offset_s=REACH_S)
    assert measure_camera_gyro(cam, imu(motion, 28), max_offset_s=REACH_S).accepted
    assert not found.accepted
    assert "the delay wanders by" in found.why


@pytest.mark.parametrize("rate_hz", [12.0, 30.0])
@pytest.mark.parametrize(
    ("size_s", "period_s"), [(0.03, 1.0), (0.03, 3.0), (0.015, 1.0), (0.012, 5.0)]
)
def test_frames_that_are_late_and_early_in_turn_are_refused(rate_hz, size_s, period_s):
    """Right on average, but not in any moment: frames numbered evenly and captured unevenly."""
    motion = shaking(1, highest_hz=2.0)
    cam, gyro = camera(motion, 1, rate_hz=rate_hz), imu(motion, 1)

    def uneven(times_s):
        return times_s + size_s * np.sin(2 * np.pi * times_s / period_s)

    found = measure_camera_gyro(
        replace(cam, start_s=uneven(cam.start_s), stop_s=uneven(cam.stop_s)), gyro
    )
    assert measure_camera_gyro(cam, gyro).accepted
    assert not found.accepted
    assert "the delay varies by" in found.why


@pytest.mark.parametrize("std_s", [0.008, 0.02])
def test_frames_that_are_off_at_random_are_refused(std_s):
    """Errors that change from frame to frame average out of the delay, and look like noise."""
    motion = shaking(2, highest_hz=2.0)
    cam, gyro = camera(motion, 2, rate_hz=12.0), imu(motion, 2)
    times_s = np.append(cam.start_s, cam.stop_s[-1])
    assert np.array_equal(times_s[1:], cam.stop_s)
    off_s = std_s * np.random.default_rng(2).standard_normal(times_s.size)

    found = measure_camera_gyro(
        replace(cam, start_s=cam.start_s + off_s[:-1], stop_s=cam.stop_s + off_s[1:]), gyro
    )
    assert not found.accepted
    measured_ms = float(re.search(r"the delay varies by (\d+) ms", found.why)[1])
    assert measured_ms == pytest.approx(1e3 * std_s, rel=0.25)


def test_noise_does_not_hide_slow_changes_of_the_delay():
    motion = shaking(1, highest_hz=2.0)
    cam = camera(motion, 1, rate_hz=15.0, noise_rad=1.2e-3)

    def uneven(times_s):
        return times_s + 0.02 * np.sin(2 * np.pi * times_s / 4.0)

    found = measure_camera_gyro(
        replace(cam, start_s=uneven(cam.start_s), stop_s=uneven(cam.stop_s)), imu(motion, 1)
    )
    assert not found.accepted
    assert "the delay varies by" in found.why


@pytest.mark.parametrize(
    ("size_s", "at_s", "span_s", "words"),
    [
        (0.06, 7.0, 1.0, "fit -60 ms more than the rest of it: samples were late or early there"),
        (0.03, 6.0, 2.0, "fit -30 ms more than the rest of it"),
        (-0.02, 5.0, 3.0, "fit +20 ms more than the rest of it"),
    ],
)
def test_frames_that_are_late_for_a_while_are_refused(size_s, at_s, span_s, words):
    """They hardly change the average, and robust weights hide them."""
    motion = shaking(4, highest_hz=2.0)
    cam = camera(motion, 4, rate_hz=15.0)

    def late(times_s):
        return times_s + np.where(np.abs(times_s - at_s - 0.5 * span_s) < 0.5 * span_s, size_s, 0.0)

    found = measure_camera_gyro(
        replace(cam, start_s=late(cam.start_s), stop_s=late(cam.stop_s)), imu(motion, 4)
    )
    assert not found.accepted
    assert words in found.why
    assert "departs_by_s" in found.diagnostics


@pytest.mark.parametrize(("share", "is_accepted"), [(0.7, True), (1.0, False)])
def test_only_a_part_that_its_own_delay_explains_is_late(share, is_accepted):
    """Parallax, as of an arm that passes a wall, looks better at some delay but never well."""
    motion = shaking(5, highest_hz=2.0)
    shifted = replace(motion, phase=motion.phase + 2 * np.pi * motion.hz * 0.3)
    cam, late = (camera(each, 5, rate_hz=15.0) for each in (motion, shifted))
    is_off = np.abs(cam.start_s - 6.0) < 0.25
    values = cam.angles_rad + share * is_off[:, None] * (late.angles_rad - cam.angles_rad)

    found = measure_camera_gyro(replace(cam, angles_rad=values), imu(motion, 5))
    assert found.accepted == is_accepted
    assert is_accepted or "samples were late or early there" in found.why


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
    assert found.why == "only 23 usable increments; at least 30 are needed"
    assert found.diagnostics["rows"] == 23


def test_no_common_time():
    motion = shaking(20)
    cam = camera(motion, 20)
    gyro = imu(motion, 20, lost=[(4.0, 19.9)])
    found = measure_camera_gyro(cam, gyro)
    assert not found.accepted
