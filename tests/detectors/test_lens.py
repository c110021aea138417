"""Undistortion of lenses, with OpenCV's own undistortion as independent truth."""

import cv2
import numpy as np
import pytest

from syncaudit.detectors.rotation.lens import Lens
from syncaudit.model import Distortion

# A thousandth of a pixel at a focal length of 500 pixels.
PLACE_TOL = 2e-6
NARROW = Distortion(model="radtan", k=[-0.283, 0.074, 0.0002, -0.0018, 0.01])
RATIONAL = Distortion(model="radtan", k=[0.3, -0.05, 1e-4, 2e-4, 0.002, 0.65, 0.02, 0.001])
FISHEYE = Distortion(model="fisheye", k=[0.0034, 0.0007, -0.002, 0.0002])


def places(reach):
    return np.random.default_rng(3).uniform(-reach, reach, (400, 2)) * [1.0, 0.6]


def seen_by_opencv(plane, lens):
    """Return where OpenCV projects points of a pinhole image."""
    rays, still = np.column_stack([plane, np.ones(len(plane))])[:, None], np.zeros(3)
    draw = cv2.fisheye.projectPoints if lens.model == "fisheye" else cv2.projectPoints
    return draw(rays, still, still, np.eye(3), np.array(lens.k))[0][:, 0]


@pytest.mark.parametrize("lens", [NARROW, RATIONAL, FISHEYE])
def test_lenses_of_opencv_are_undone(lens):
    plane = places(0.7)
    sight = Lens.stated(lens).sight(seen_by_opencv(plane, lens))
    assert np.max(np.abs(sight.places - plane)) < PLACE_TOL
    assert sight.is_seen.all()


def test_scale_is_that_of_areas():
    points, step = places(0.6), 1e-3
    lens = Lens.stated(NARROW)
    sides = [lens.sight(points + step * side).places for side in np.eye(2)]
    back = [lens.sight(points - step * side).places for side in np.eye(2)]
    (a, b), (c, d) = (
        (one - other).T / (2.0 * step) for one, other in zip(sides, back, strict=True)
    )
    # decentring, a percent here, is ignored: it only affects weights
    assert lens.sight(points).scale == pytest.approx((a * d - b * c) ** -0.5, rel=1e-2)


def test_rays_far_from_the_axis_are_not_seen():
    lens = Lens.stated(Distortion(model="fisheye", k=[0.0, 0.0, 0.0, 0.0]))
    angle = np.radians([10.0, 69.0, 71.0, 100.0])
    sight = lens.sight(np.stack([angle, 0.0 * angle], axis=-1))  # equidistant: radius is angle
    assert sight.is_seen.tolist() == [True, True, False, False]
    assert sight.places[:2, 0] == pytest.approx(np.tan(angle[:2]), abs=1e-4)


def test_polynomials_end_where_they_turn_back():
    lens = Lens.stated(Distortion(model="radtan", k=[-0.3, 0.0, 0.0, 0.0]))
    edge = (0.9**-0.5) * (1.0 - 0.3 / 0.9)  # of r - 0.3 r^3
    assert lens.radius[-1] == pytest.approx(edge, abs=1e-3)
    assert not lens.sight(np.array([[edge + 0.01, 0.0]])).is_seen.any()


@pytest.mark.parametrize("term", [-0.33, -0.1, 0.0, 0.05])
def test_one_radial_term_divides(term):
    points = places(0.8)
    divided = points / (1.0 + term * np.sum(points**2, axis=1, keepdims=True))
    assert np.max(np.abs(Lens.radial(term).sight(points).places - divided)) < PLACE_TOL
