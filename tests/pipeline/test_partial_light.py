"""A lamp that lights a part of the width is found in a second look at that part."""

import dataclasses

import numpy as np
import pytest

from syncaudit.model import FrameFiles
from syncaudit.pipeline.camera_evidence import find_flashes
from syncaudit.pipeline.stages import Stages
from testkit.flash_footage import SIZE_PX, camera, errors_s, footage, half_light_s, onsets
from testkit.videos import exact_frame, write_video

TIMING = {"line_delay_s": 5e-5, "exposure_s": 0.008}
WIDTH_S = 0.002


def lit_from(columns):
    """Return a scene's frames in which only these columns show the light."""
    dark = list(footage([], noise=1.0, **TIMING))
    lit = footage(onsets(2), width_s=WIDTH_S, noise=1.0, **TIMING)
    for still, frame in zip(dark, lit, strict=True):
        still[:, columns] = frame[:, columns]
        yield still


def flashes(folder, frames):
    path = write_video(
        folder / "cam.mkv", map(exact_frame, frames), "libx264", rate=12, options={"crf": "18"}
    )
    stream = dataclasses.replace(camera(60, **TIMING), files=FrameFiles(paths=(str(path),)))
    part, _ = find_flashes(stream, Stages())
    return part.flashes.get("cam")


@pytest.mark.parametrize(("start", "stop"), [(0, 0.5), (0.3, 0.75), (0.6, 1.0)])
def test_light_on_a_part_of_the_width_is_timed(tmp_path, start, stop):
    columns = slice(int(start * SIZE_PX[1]), int(stop * SIZE_PX[1]))
    found = flashes(tmp_path, lit_from(columns))
    error_s = errors_s(found, onsets(2) + half_light_s(WIDTH_S), **TIMING)
    assert found.frame_index.size > 15
    assert np.abs(np.median(error_s)) < 1e-4
    assert np.sqrt(np.mean(error_s**2)) < 2e-4


def test_nothing_is_found_where_no_half_is_lit(tmp_path):
    assert flashes(tmp_path, footage([], noise=1.0, **TIMING)) is None
    assert flashes(tmp_path, lit_from(slice(0, 40))) is None
