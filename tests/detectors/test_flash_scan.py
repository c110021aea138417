"""Images that are not read from the top to the bottom."""

import numpy as np
import pytest

from syncaudit.decode import Frame
from syncaudit.model.clip import SCAN_DIRECTIONS
from testkit.flash_footage import camera, detected, footage, onsets, stored

LINES = {
    "down": [[0, 1, 2], [3, 4, 5]],
    "up": [[3, 4, 5], [0, 1, 2]],
    "right": [[0, 3], [1, 4], [2, 5]],
    "left": [[2, 5], [1, 4], [0, 3]],
}


@pytest.mark.parametrize("scan", SCAN_DIRECTIONS)
def test_lines_become_rows_in_the_order_in_which_they_are_read(scan):
    image = np.arange(6, dtype=np.uint8).reshape(2, 3)
    lines = Frame(4, image, white=235).scanned(scan)
    assert lines.luma.tolist() == LINES[scan]
    assert (lines.index, lines.white) == (4, 235)
    assert camera(width_px=3, height_px=2, scan=scan).n_lines == len(LINES[scan])


@pytest.mark.parametrize("scan", ["up", "right", "left"])
def test_flashes_are_found_in_the_direction_that_is_stated(scan):
    frames = list(footage(onsets(3)))
    usual = detected(camera(), frames)
    found = detected(camera(scan=scan), stored(frames, scan))
    assert found.scan == scan
    assert usual.scan is None
    assert np.array_equal(found.frame_index, usual.frame_index)
    assert found.row_px == pytest.approx(usual.row_px, abs=1e-6)
    assert np.array_equal(found.exposure_part, usual.exposure_part)


def test_mirrored_edges_are_those_of_images_read_the_other_way():
    frames = list(footage(onsets(3)))
    mirrored = detected(camera(), stored(frames, "up")).mirrored()
    usual = detected(camera(), frames)
    order = np.lexsort((mirrored.row_px, mirrored.frame_index))
    assert np.array_equal(mirrored.frame_index[order], usual.frame_index)
    assert mirrored.row_px[order] == pytest.approx(usual.row_px, abs=0.5)
    assert np.array_equal(mirrored.exposure_part[order], usual.exposure_part)
