"""What is fixed to the camera in its images does not count as the scene."""

import cv2
import numpy as np
import pytest

from syncaudit.detectors.rotation.point_tracks import COUNTING_CELL_PX, FixedParts
from testkit.turning_camera import ANGLE_TOL_RAD, detected, directions, pictures, stream

N_FRAMES = 24
SHAPE = (240, 428)


def with_text(frames, noise, seed=1):
    """Return faint, noisy images with lines of text burnt in, the time among it."""
    rng = np.random.default_rng(seed)
    written = []
    for k, frame in enumerate(frames):
        image = 80.0 + 0.3 * frame + rng.normal(0.0, noise, frame.shape)
        image = np.clip(image, 0, 255).astype(np.uint8)
        for row, text in ((468, f"{k:09.3f} CAM1 52.1N 13.4E"), (42, "2026-11-28 CAM1 52.1N")):
            cv2.putText(image, text, (5, row), cv2.FONT_HERSHEY_SIMPLEX, 1.0, 255, 2)
        written.append(image)
    return written


@pytest.mark.parametrize("noise", [3.0, 6.0])
def test_burnt_in_text_does_not_hold_the_rotation_back(noise):
    found = detected(stream(N_FRAMES), with_text(pictures(N_FRAMES), noise))
    true_rad = np.diff(directions(N_FRAMES), axis=0)
    assert np.max(np.abs(found.angles_rad - true_rad)) < 3 * ANGLE_TOL_RAD


def seen(moved_px, n_pairs=8, seed=2):
    """Return the parts after pairs of 80 points, each of which moved as stated."""
    rng = np.random.default_rng(seed)
    parts = FixedParts()
    places = rng.uniform(0.0, 1.0, (80, 2)) * (SHAPE[1] - 1, SHAPE[0] - 1)
    for _ in range(n_pairs):
        moved = np.stack((moved_px, np.zeros(80)), axis=1)
        parts.add(places, places + moved + rng.normal(0.0, 0.03, (80, 2)), SHAPE)
    return parts, places


def test_points_that_stay_while_most_move_are_hidden():
    parts, places = seen(np.where(np.arange(80) < 20, 0.0, 3.0))
    hidden = parts.hides(places)
    cells = {tuple(cell) for cell in (places[:20] // COUNTING_CELL_PX).astype(int).tolist()}
    assert hidden[:20].mean() > 0.8  # the others share their cell with points that move
    assert all(
        tuple(cell) in cells for cell in (places[hidden] // COUNTING_CELL_PX).astype(int).tolist()
    )


def test_nothing_is_hidden_where_nothing_moves():
    parts, places = seen(np.zeros(80))
    assert not parts.hides(places).any()


def test_a_scene_in_which_a_lorry_passes_is_not_hidden():
    parts, places = seen(np.where(np.arange(80) < 38, 0.0, 3.0))
    assert parts.hides(places).any()
    for _ in range(24):
        parts.add(places[:38], places[:38], SHAPE)
    assert not parts.hides(places).any()


def test_nothing_is_known_before_anything_was_seen():
    assert not FixedParts().hides(np.zeros((3, 2))).any()
