"""Lights that stay on show in which direction a camera reads its images."""

import dataclasses

import numpy as np
import pytest

from syncaudit.model import FrameFiles, ReasonCode, Severity
from syncaudit.pipeline.camera_evidence import detect_in_frames, find_flashes
from syncaudit.pipeline.stages import Stages
from testkit.flash_footage import camera, footage, stored
from testkit.lamp_footage import LAMPS_S, WIDTH_S, N, lamps
from testkit.videos import exact_frame, write_video


@pytest.fixture(scope="module")
def upside_down(tmp_path_factory):
    """Return a camera whose images were rotated after readout, which is not stated."""
    path = tmp_path_factory.mktemp("scan") / "cam.mkv"
    frames = stored(footage([], n=N, noise=1.0, paint=lamps()), "up")
    write_video(path, map(exact_frame, frames), rate=12, options={"crf": "18"})
    return dataclasses.replace(camera(N), files=FrameFiles(paths=(str(path),)))


def test_a_calibration_reads_the_images_as_the_light_shows(upside_down):
    part, _ = find_flashes(upside_down, Stages())
    found = part.flashes["cam"]
    assert found.scan == "up"
    at_s = found.frame_s + found.row_px * 5e-5
    true_s = LAMPS_S[:, None] + np.where(found.sense > 0, 0.0, WIDTH_S)
    assert np.abs(at_s - true_s).min(axis=0).max() < 1e-4
    assert not part.findings


@pytest.mark.parametrize("scan", [None, "down"])
def test_an_audit_doubts_a_direction_that_lights_contradict(upside_down, scan):
    stream = dataclasses.replace(upside_down, scan=scan)
    part, _ = detect_in_frames(
        stream, Stages(), gyro=None, is_robot=False, wanted={}, decoder="cpu"
    )
    assert "cam" not in part.flashes
    (doubt,) = part.findings
    assert (doubt.code, doubt.severity) == (ReasonCode.MANIFEST, Severity.DOUBT)
    assert '"scan": "up"' in doubt.message


def test_a_wrong_statement_is_no_reason_to_look_again(upside_down):
    part, _ = find_flashes(dataclasses.replace(upside_down, scan="down"), Stages())
    assert "cam" not in part.flashes
    assert len(part.findings) == 1
