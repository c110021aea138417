"""How a camera's position on its vehicle affects a rolling shutter."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from syncaudit.detectors.rotation.fit import Heading, fit_rotations, travel_turns
from testkit.seen_points import FOCAL_PX, HEIGHT_PX, WIDTH_PX

AHEAD = np.array([0.0, 0.0, 1.0])
LEVER_M, SPEED_MPS, PERIOD_S, LINE_DELAY_S = 1.6, 10.0, 1.0 / 12.0, 4e-5


def cross(vector):
    """Return the matrix M with ``M @ w == cross(w, vector)``."""
    return np.cross(np.eye(3), vector).T


TURNS = cross(LEVER_M * AHEAD) / SPEED_MPS


def directions(seed, n=200, noise_rad=1e-3):
    rng = np.random.default_rng(seed)
    rate = rng.normal(0.0, 0.05, (n, 3))
    toward = AHEAD + rate @ TURNS.T + rng.normal(0.0, noise_rad, (n, 3))
    information = np.tile(np.diag([1.0, 1.0, 0.0]) / noise_rad**2, (n, 1, 1))
    return rate, toward / np.linalg.norm(toward, axis=1, keepdims=True), information


def test_turns_of_the_direction_of_travel_are_found():
    # 200 directions that scatter by 10 mrad in addition to the assumed errors, at rates of 50
    # mrad/s
    assert np.max(np.abs(travel_turns(*directions(1)) - TURNS)) < 0.02


def test_it_does_not_matter_which_way_along_a_direction():
    rate, toward, information = directions(2)
    sign = np.where(np.arange(len(rate)) % 3 == 0, -1.0, 1.0)
    turned = travel_turns(rate, sign[:, None] * toward, information)
    either = travel_turns(rate, toward, information)
    np.testing.assert_allclose(turned, sign[:, None, None] * either, atol=1e-12)


def test_nothing_turns_where_no_direction_is_known():
    rate, toward, _ = directions(3)
    assert not travel_turns(rate, toward, np.zeros((len(rate), 3, 3))).any()


def seen_while_rolling(change_rad_s, seed, n_pairs=40, n_points=80):
    """Return points before and after, px, for a camera whose pitch rate changes in between.

    It looks ahead, 1.5 m above the road and `LEVER_M` ahead of the centre of rotation.
    """
    rng = np.random.default_rng(seed)
    half = np.array([WIDTH_PX, HEIGHT_PX]) / 2.0
    before = rng.uniform(-half, half, (n_pairs, n_points, 2))
    depth = rng.uniform(8.0, 60.0, (n_pairs, n_points))
    road = 1.5 * FOCAL_PX / np.maximum(before[..., 1], 1e-6)
    rays = np.concatenate([before / FOCAL_PX, np.ones((n_pairs, n_points, 1))], axis=-1)
    points = rays * np.minimum(depth, road)[..., None]
    rate = np.array([0.5 * change_rad_s, 0.0, 0.0])  # negative before, positive after
    travel = SPEED_MPS * AHEAD
    bent = cross(LEVER_M * AHEAD) @ rate
    after = before.copy()
    for _ in range(4):
        rows = after[..., 1:] + before[..., 1:]  # the rate is nonzero on both sides
        apart_s = PERIOD_S + (after[..., 1:] - before[..., 1:]) * LINE_DELAY_S
        turn = rate * rows * LINE_DELAY_S
        place = points - travel * apart_s - bent * rows * LINE_DELAY_S
        seen = Rotation.from_rotvec(-turn.reshape(-1, 3)).apply(place.reshape(-1, 3))
        after = (FOCAL_PX * seen[:, :2] / seen[:, 2:]).reshape(before.shape)
    return before, after + rng.normal(0.0, 0.05, before.shape)


def fitted(change_rad_s, seed):
    before, after = seen_while_rolling(change_rad_s, seed)
    is_point = np.all(np.abs(after) < np.array([WIDTH_PX, HEIGHT_PX]) / 2.0, axis=-1)
    heading = Heading(information=np.diag([400.0, 400.0, 0.0]))
    fits = fit_rotations(
        before / FOCAL_PX, after / FOCAL_PX, is_point, heading=heading, focal_px=FOCAL_PX
    )
    rows = np.where(is_point, 0.5 * (before + after)[..., 1], 0.0)[fits.pairs]
    own = fits.gains.mean(rows)[:, 0, 0].mean()
    sign = np.sign(fits.direction[:, 2, None, None])
    lent = (sign * fits.gains.mean_of_travel(rows) @ TURNS / PERIOD_S)[:, 0, 0].mean()
    return fits.angles_rad[:, 0].mean(), own, lent


@pytest.mark.parametrize("seed", range(3))
def test_rolling_shutter_ahead_of_the_axis_sees_what_the_moments_say(seed):
    change_rad_s = 0.05
    (up, own, lent), (down, *_) = fitted(change_rad_s, seed), fitted(-change_rad_s, seed)
    seen_px = (up - down) / (2.0 * change_rad_s * LINE_DELAY_S)
    # Mean rows as weighted by the rotation, to a few rows; without the lever arm the error is
    # larger.
    assert abs(seen_px - own - lent) < 3.5
    assert abs(seen_px - own) > 4.5
