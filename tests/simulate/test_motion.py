"""Motion is consistent: rates are derivatives, positions integrals, and gravity acts at rest."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from syncaudit.simulate.driving import MARGIN_S, STYLES, simulate_motion
from syncaudit.simulate.motion import GRAVITY_MPS2, Motion

ANGLE_TOLERANCE_RAD = 2e-5  # midpoint rule at 2 kHz over 5 s of bumps up to 15 Hz
LENGTH_TOLERANCE_M = 1e-4


@pytest.mark.parametrize("style", ["city", "highway", "handheld"])
def test_integrated_gyro_reaches_the_orientation(style: str) -> None:
    motion = simulate_motion(style, 5.0, np.random.default_rng(1))
    step_s = 5e-4
    middles = np.arange(0.0, 5.0, step_s) + step_s / 2
    turned = Rotation.from_matrix(motion.orientation(0.0)[0])
    for turn in Rotation.from_rotvec(motion.angular_rate(middles) * step_s):
        turned = turned * turn
    missing = Rotation.from_matrix(motion.orientation(5.0)[0]).inv() * turned
    assert missing.magnitude() < ANGLE_TOLERANCE_RAD


def test_integrated_velocity_reaches_the_position() -> None:
    motion = simulate_motion("city", 5.0, np.random.default_rng(2))
    middles = np.arange(0.0, 5.0, 1e-3) + 5e-4
    travelled = motion.velocity(middles).sum(axis=0) * 1e-3
    reached = motion.position(5.0)[0] - motion.position(0.0)[0]
    np.testing.assert_allclose(travelled, reached, rtol=0, atol=LENGTH_TOLERANCE_M)


def test_specific_force_is_acceleration_minus_gravity_in_the_body() -> None:
    motion = simulate_motion("city", 3.0, np.random.default_rng(3))
    times, step_s = np.arange(0.1, 2.9, 0.05), 1e-4
    slope = (motion.velocity(times + step_s) - motion.velocity(times - step_s)) / (2 * step_s)
    felt = np.einsum("nij,nj->ni", motion.orientation(times), motion.specific_force(times))
    expected = slope + np.array([0.0, 0.0, GRAVITY_MPS2])
    np.testing.assert_allclose(felt, expected, rtol=0, atol=1e-2)


def test_parked_vehicle_feels_only_gravity_upwards() -> None:
    motion = simulate_motion("parked", 2.0, np.random.default_rng(4))
    times = np.linspace(0, 2, 50)
    np.testing.assert_allclose(
        motion.specific_force(times), np.tile([0, 0, GRAVITY_MPS2], (50, 1)), rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(motion.angular_rate(times), 0, rtol=0, atol=1e-12)


def test_left_turn_is_positive_yaw_and_leans_outwards() -> None:
    motion = simulate_motion("city", 20.0, np.random.default_rng(6))
    times = np.arange(0, 20, 0.05)
    yaw_rate = motion.euler_rad(times, 1)[:, 0]
    pull = motion.speed(times) * yaw_rate
    roll = motion.euler_rad(times)[:, 2]
    assert np.corrcoef(pull, roll)[0, 1] > 0.5
    assert np.abs(yaw_rate).max() < 0.55


def test_straight_smooth_hardly_turns() -> None:
    motion = simulate_motion("straight_smooth", 20.0, np.random.default_rng(5))
    rate = motion.angular_rate(np.arange(0, 20, 0.01))
    assert np.degrees(np.abs(rate).max()) < 0.1  # below the noise of a gyro sample


def test_same_seed_same_motion_and_another_seed_another() -> None:
    first, again, other = (
        simulate_motion("city", 2.0, np.random.default_rng(seed)) for seed in (7, 7, 8)
    )
    assert np.array_equal(first.position(1.5), again.position(1.5))
    assert not np.array_equal(first.position(1.5), other.position(1.5))


def test_motion_refuses_times_outside_its_range() -> None:
    motion = simulate_motion("city", 2.0, np.random.default_rng(9))
    motion.position(2.0 + MARGIN_S / 2)
    with pytest.raises(ValueError, match="motion is defined from"):
        motion.position(100.0)


def test_motion_refuses_bad_samples() -> None:
    times = np.arange(5.0)
    with pytest.raises(ValueError, match="has shape"):
        Motion.from_samples(times, np.zeros((4, 3)), np.zeros((5, 3)))
    with pytest.raises(ValueError, match="not finite"):
        Motion.from_samples(times, np.full((5, 3), np.nan), np.zeros((5, 3)))


def test_unknown_style_and_duration_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="unknown driving style 'moon'"):
        simulate_motion("moon", 1.0, rng)
    with pytest.raises(ValueError, match="duration_s"):
        simulate_motion("city", 0.0, rng)
    assert set(STYLES) == {
        "city",
        "highway",
        "straight_smooth",
        "parked",
        "handheld",
        "held",
    }
