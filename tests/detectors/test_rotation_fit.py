"""Rotation from tracks of exactly known motion."""

from dataclasses import dataclass

import numpy as np
import pytest

from syncaudit.detectors.rotation.fit import Heading, fit_rotations
from testkit.seen_points import FOCAL_PX, tracks

TURN = np.array([0.004, -0.011, 0.006])
# The iteration stops below 20 urad; the depth of points is treated as noise of a common size.
EXACT_RAD = 3e-5
FORWARD, SIDEWAYS, UPWARD = (0.0, 0.0, 0.7), (0.7, 0.0, 0.0), (0.0, 0.3, 0.0)


@dataclass
class Fit:
    angles_rad: np.ndarray
    std_rad: np.ndarray
    influence: np.ndarray


def fit_rotation(before, after, *, heading, focal_px):
    """Fit one pair of frames; return None if nothing is found."""
    is_point = np.ones((1, len(before)), dtype=bool)
    fits = fit_rotations(before[None], after[None], is_point, heading=heading, focal_px=focal_px)
    if fits is None or not fits.pairs.size:
        return None
    return Fit(fits.angles_rad[0], fits.std_rad[0], influence_of(fits.gains, len(before)))


def influence_of(gains, n):
    """Return the share of each point, shape (n, 3, 3)."""
    return np.stack([gains.mean(np.eye(n)[[k]])[0] for k in range(n)])


def fitted(seed, turn=TURN, travel=(0.0, 0.0, 0.0), *, heading=None, **options):
    before, after = tracks(seed, turn, travel, **options)
    return fit_rotation(before, after, heading=heading or Heading(), focal_px=FOCAL_PX)


@pytest.mark.parametrize("turn", [np.zeros(3), TURN, [0.0, 0.05, 0.0], [-0.03, 0.02, 0.1]])
def test_pure_rotation_is_exact(turn):
    found = fitted(1, np.asarray(turn))
    assert np.max(np.abs(found.angles_rad - turn)) < EXACT_RAD


@pytest.mark.parametrize("travel", [FORWARD, SIDEWAYS, UPWARD, (0.4, -0.05, 0.7), (0.0, 0.0, -0.5)])
def test_rotation_is_exact_on_true_tracks_in_spite_of_translation(travel):
    found = fitted(2, TURN, travel)
    assert np.max(np.abs(found.angles_rad - TURN)) < 3 * EXACT_RAD


@pytest.mark.parametrize("travel", [(0.0, 0.0, 0.0), FORWARD, SIDEWAYS])
def test_a_quarter_of_gross_outliers(travel):
    found = fitted(3, TURN, travel, gross=0.25, noise_px=0.05)
    assert np.all(np.abs(found.angles_rad - TURN) < 4.5 * found.std_rad + EXACT_RAD)
    # less than one pixel divided by the focal length
    assert np.max(np.abs(found.angles_rad - TURN)) < 1.0 / FOCAL_PX


@pytest.mark.parametrize("travel", [(0.0, 0.0, 0.0), FORWARD, SIDEWAYS])
@pytest.mark.parametrize("gross", [0.0, 0.25])
def test_shares_of_the_points_add_up_to_one(travel, gross):
    found = fitted(4, TURN, travel, gross=gross, noise_px=0.1)
    assert found.influence.shape == (120, 3, 3)
    # the bounded prior on the direction of travel absorbs a little of the points' information
    assert np.max(np.abs(found.influence.sum(axis=0) - np.eye(3))) < 1e-9


def test_a_false_track_has_no_share():
    before, after = tracks(5, TURN, noise_px=0.05)
    after[7] += 60.0 / FOCAL_PX
    found = fit_rotation(before, after, heading=Heading(), focal_px=FOCAL_PX)
    share = np.abs(found.influence).sum(axis=(1, 2))
    assert share[7] < 0.02 * np.median(share)


def test_shares_tell_what_a_rotation_at_one_row_does():
    """Points in the upper half see another rotation: the fit reports the mix of their shares."""
    before, after = tracks(6, TURN, noise_px=0.02, depth_m=(5.0, 60.0))
    upper = before[:, 1] < 0.0
    other = TURN + np.array([0.0, 2e-4, 0.0])
    after[upper] = tracks(6, other, noise_px=0.02)[1][upper]
    found = fit_rotation(before, after, heading=Heading(), focal_px=FOCAL_PX)
    mix = TURN + found.influence[upper].sum(axis=0) @ (other - TURN)
    assert np.max(np.abs(found.angles_rad - mix)) < 4.0 * found.std_rad.max()
    assert abs(found.angles_rad[1] - TURN[1]) > 2e-5


@pytest.mark.parametrize("travel", [(0.0, 0.0, 0.0), FORWARD, SIDEWAYS])
def test_claimed_errors_are_honest(travel):
    """100 fits of three angles; the scale of 300 normal z-scores is known to 4 %."""
    heading = Heading()
    z = []
    for seed in range(104):
        found = fitted(100 + seed, TURN, travel, heading=heading, noise_px=0.1)
        z.append((found.angles_rad - TURN) / found.std_rad)
    z = np.array(z)[4:]  # the heading is found by then
    assert 0.7 < np.sqrt(np.mean(z**2)) < 1.35
    assert np.all(np.abs(z.mean(axis=0)) < 0.45)


def test_forward_motion_costs_less_than_sideways_with_a_known_heading():
    """Towards the focus of expansion flow is radial: across it rotation is visible everywhere."""
    std = {}
    for name, travel in (("none", (0.0, 0.0, 0.0)), ("forward", FORWARD), ("sideways", SIDEWAYS)):
        heading = Heading()
        for seed in range(6):
            found = fitted(7 + seed, TURN, travel, heading=heading, noise_px=0.1)
        std[name] = float(np.linalg.norm(found.std_rad))
    assert std["none"] < std["forward"] < std["sideways"]


def test_heading_is_remembered():
    heading = Heading()
    for seed in range(8):
        fitted(20 + seed, TURN, FORWARD, heading=heading, noise_px=0.05)
    assert abs(abs(heading.direction[2]) - 1.0) < 0.01
    assert abs(np.linalg.norm(heading.direction) - 1.0) < 1e-9


def test_memory_is_of_bounded_strength():
    heading = Heading()
    nothing = np.zeros((1, 1, 3, 3))
    for _ in range(50):
        heading.remember(1e9 * np.eye(3)[None], 0.0)
    assert np.linalg.eigvalsh(heading.priors(nothing)).max() <= 1.0 / 0.05**2
    assert np.array_equal(Heading().priors(nothing), nothing)


def test_change_of_heading_is_followed():
    heading = Heading()
    for seed in range(10):
        fitted(40 + seed, TURN, FORWARD, heading=heading, noise_px=0.05)
    for seed in range(30):
        found = fitted(60 + seed, TURN, SIDEWAYS, heading=heading, noise_px=0.05)
    assert np.max(np.abs(found.angles_rad - TURN)) < 5.0 * found.std_rad.max()
    assert abs(heading.direction[0]) > 0.9


def test_too_few_points():
    before, after = tracks(8, TURN, n=11)
    assert fit_rotation(before, after, heading=Heading(), focal_px=FOCAL_PX) is None


def test_identical_points_give_no_rotation():
    points = np.full((20, 2), 0.1)
    found = fit_rotation(points, points, heading=Heading(), focal_px=FOCAL_PX)
    assert found is None or np.all(found.std_rad > 1e-6)


def test_a_turn_beyond_one_radian_is_not_believed():
    rng = np.random.default_rng(9)
    before, after = rng.uniform(-3, 3, (30, 2)), rng.uniform(-3, 3, (30, 2))
    found = fit_rotation(before, after, heading=Heading(), focal_px=FOCAL_PX)
    assert found is None or np.all(np.abs(found.angles_rad) <= 1.0)
