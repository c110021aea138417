"""Corners tracked between images with a known shift."""

import cv2
import numpy as np
import pytest

from syncaudit.detectors.rotation.fit import MIN_POINTS
from syncaudit.detectors.rotation.point_tracks import MAX_POINTS, track_points
from testkit.seen_points import texture

# Lucas-Kanade on noise-free blobs: a few hundredths of a pixel.
TRACK_TOL_PX = 0.05


def moved(frame, dx, dy):
    height, width = frame.shape
    return cv2.warpAffine(
        frame,
        np.array([[1.0, 0.0, dx], [0.0, 1.0, dy]]),
        (width, height),
        flags=cv2.INTER_CUBIC,
        borderMode=cv2.BORDER_REFLECT,
    )


@pytest.mark.parametrize(("dx", "dy"), [(0.0, 0.0), (3.0, -2.0), (0.4, 0.7), (-11.3, 5.6)])
def test_known_shift_is_found(dx, dy):
    frame = texture(1, 240, 428)
    found = track_points(frame, moved(frame, dx, dy))
    step = found.after - found.before
    assert len(step) > 50
    assert np.max(np.abs(np.median(step, axis=0) - [dx, dy])) < TRACK_TOL_PX
    assert np.quantile(np.abs(step - [dx, dy]), 0.9) < 0.1


def test_points_stay_within_the_image_and_the_count():
    frame = texture(2, 240, 428)
    found = track_points(frame, moved(frame, 9.0, 0.0))
    assert MIN_POINTS <= len(found.before) <= MAX_POINTS
    assert found.after.min() > 2.0
    assert found.after[:, 0].max() < 425.0
    assert found.after[:, 1].max() < 237.0


def test_corners_cover_the_image():
    frame = texture(3, 240, 428)
    found = track_points(frame, frame)
    quarters = {(x > 214, y > 120) for x, y in found.before}
    assert len(quarters) == 4
    assert abs(found.mean_corner_px[1] - 120.0) < 15.0


def test_mean_row_is_that_of_all_corners():
    frame = texture(4, 240, 428)
    frame[:120] = 90  # nothing visible above
    found = track_points(frame, frame)
    assert found.mean_corner_px[1] > 150.0


def test_false_tracks_are_dropped():
    """The right half becomes another scene: tracks there lead nowhere."""
    frame, other = texture(5, 240, 428), texture(6, 240, 428)
    after = moved(frame, 2.0, 1.0)
    after[:, 214:] = other[:, 214:]
    found = track_points(frame, after)
    is_false = np.abs(found.after - found.before - [2.0, 1.0]).max(axis=1) > 1.0
    # half of the corners are lost; the few that a chance match leads back are kept
    assert np.mean(is_false) < 0.2


def test_unrelated_images_leave_few_tracks():
    found = track_points(texture(7, 240, 428), texture(8, 240, 428))
    assert found is None or len(found.before) < 40


@pytest.mark.parametrize("level", [0, 128, 255])
def test_blank_image_has_no_tracks(level):
    blank = np.full((240, 428), level, dtype=np.uint8)
    assert track_points(blank, blank) is None


def test_texture_that_vanishes_leaves_no_tracks():
    assert track_points(texture(9, 240, 428), np.full((240, 428), 128, dtype=np.uint8)) is None
