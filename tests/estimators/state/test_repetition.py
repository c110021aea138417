"""Repeating motion determines an offset only modulo its period."""

import numpy as np
import pytest

from syncaudit.dsp.integral import interpolate_angle
from syncaudit.estimators.state.measure import measure_camera_state
from syncaudit.estimators.state.null import find_repetition
from testkit.repeating_arm import watched

# One step between the searched offsets.
TOLERANCE_S = 0.041
# One of 24 honest z-scores exceeds 3.7 once in 190 runs.
MAX_Z = 3.7


def drawn(motion, seconds=12.0):
    times_s = np.arange(0.0, seconds, 0.02)
    return interpolate_angle(times_s, np.stack([f(times_s) for f in motion], axis=1))


def test_period_of_moves_is_found():
    def bump(phase):
        return lambda t: np.exp(-0.5 * (((t / 1.4 + phase) % 1.0 - 0.5) / 0.07) ** 2)

    found = find_repetition(drawn([bump(0.0), bump(0.3), bump(0.45)]))
    assert abs(found.period_s - 1.4) < TOLERANCE_S
    assert found.share > 0.95


def test_one_swinging_joint_is_alike_every_half_period():
    found = find_repetition(drawn([lambda t: np.sin(2.0 * np.pi * t / 1.8)]))
    assert abs(found.period_s - 0.9) < TOLERANCE_S


def test_steady_turning_is_alike_at_every_delay():
    found = find_repetition(drawn([np.sin, np.cos], 30.0))
    assert found.period_s is None
    assert "looks the same at every delay" in str(found)


def test_motion_that_never_comes_back_has_no_period():
    rng = np.random.default_rng(1)
    places = np.cumsum(rng.normal(size=(40, 4)), axis=0)
    curve = interpolate_angle(np.arange(40) * 0.3, places)
    assert find_repetition(curve) is None


def test_too_short_motion_has_no_period():
    assert find_repetition(drawn([np.sin], 0.15)) is None


@pytest.mark.parametrize("seed", [1, 2])
def test_repeated_moves_are_refused_with_their_period(seed):
    camera, state = watched(seed, "pick", period_s=2.0, late_s=0.1, noise=0.4)
    pair = measure_camera_state(camera, state)
    assert not pair.accepted
    assert "the motion repeats every 2 s" in pair.why
    assert "known only modulo that" in pair.why


@pytest.mark.parametrize("is_energy", [False, True])
@pytest.mark.parametrize("kind", ["sine", "triangle", "pick"])
def test_repeated_motion_is_told_within_its_error_or_not_at_all(kind, is_energy):
    for seed in range(4):
        how = {
            "seconds": (8.0, 5.0, 20.0, 12.0)[seed],
            "period_s": (2.8, 2.2, 0.72, 1.6)[seed],
            "vary": (0.0, 0.0, 0.05, 0.02)[seed],
            "fps": (30.0, 15.0, 10.0, 30.0)[seed],
            "noise": (0.2, 0.2, 0.2, 0.6)[seed],
        }
        camera, state = watched(seed, kind, late_s=0.07, is_energy=is_energy, **how)
        pair = measure_camera_state(camera, state)
        if pair.accepted:
            z = (pair.offset_s + 0.07) / pair.offset_std_s
            assert abs(z) < MAX_Z, (seed, pair.offset_s, pair.offset_std_s)


def test_motion_that_does_not_repeat_is_measured():
    for seed in range(4):
        camera, state = watched(seed, "free", late_s=0.07)
        pair = measure_camera_state(camera, state)
        assert pair.accepted, pair.why
        assert abs(pair.offset_s + 0.07) < MAX_Z * pair.offset_std_s
