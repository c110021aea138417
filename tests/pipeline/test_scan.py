"""Lights that stay on show in which direction a camera reads its images."""

import dataclasses

import numpy as np
import pytest

from syncaudit.model import FrameFiles, ReasonCode, Severity
from syncaudit.pipeline.camera_evidence import find_flashes, find_in_pictures
from syncaudit.pipeline.stages import Stages
from testkit.flash_footage import camera, footage, stored
from testkit.videos import exact_frame, write_video

EXPOSURE_S = 0.008
N = 100
# On while the rows of every 16th frame are exposed, and off eight frames later.
ON_S = np.array([(8 + 16 * i) / 12.0 + 0.0017 * (i - 3) for i in range(6)])
OFF_S = ON_S + 8 / 12.0 + 0.0031


def lamp(picture, _k, middle_s):
    """Add a lamp that every row shows for the lit part of its exposure."""
    light = np.zeros(middle_s.size)
    for on_s, off_s in zip(ON_S, OFF_S, strict=True):
        light += np.clip((middle_s - on_s) / EXPOSURE_S + 0.5, 0.0, 1.0)
        light -= np.clip((middle_s - off_s) / EXPOSURE_S + 0.5, 0.0, 1.0)
    return picture + (40.0 * light[:, None] * (0.3 + 0.7 * picture / 128.0)).astype(np.float32)


@pytest.fixture(scope="module")
def upside_down(tmp_path_factory):
    """Return a camera whose images were rotated after readout, which is not stated."""
    path = tmp_path_factory.mktemp("scan") / "cam.mkv"
    frames = stored(footage([], n=N, noise=1.0, paint=lamp), "up")
    write_video(path, map(exact_frame, frames), rate=12, options={"crf": "18"})
    return dataclasses.replace(
        camera(N, exposure_s=EXPOSURE_S), files=FrameFiles(paths=(str(path),))
    )


def test_a_calibration_reads_the_images_as_the_light_shows(upside_down):
    part, _ = find_flashes(upside_down, Stages())
    found = part.flashes["cam"]
    assert found.scan == "up"
    at_s = found.frame_s + found.row_px * 5e-5
    true_s = np.where(found.sense > 0, ON_S[:, None], OFF_S[:, None])
    assert np.abs(at_s - true_s).min(axis=0).max() < 1e-4
    assert not part.findings


@pytest.mark.parametrize("scan", [None, "down"])
def test_an_audit_doubts_a_direction_that_lights_contradict(upside_down, scan):
    stream = dataclasses.replace(upside_down, scan=scan)
    part, _ = find_in_pictures(
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
