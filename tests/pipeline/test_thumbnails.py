"""Images for the report: small, of local cameras only, and never a reason to fail."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest

from syncaudit.model import CameraSpec
from syncaudit.pipeline.thumbnails import take_thumbnails
from testkit.sample_audits import sample_clips


def test_the_cameras_asked_for_first_are_shown() -> None:
    wanted = ["cam_rear", "cam_front_left", "imu", "cam_front", "cam_front_right"]
    pictures = take_thumbnails(sample_clips()["good"], wanted)
    assert [frame.source for frame in pictures] == ["cam_rear", "cam_front_left", "cam_front"]
    for frame in pictures:
        pixels = cv2.imdecode(np.frombuffer(frame.jpeg, np.uint8), cv2.IMREAD_COLOR)
        assert pixels is not None
        assert pixels.shape[:2] == (frame.height_px, frame.width_px)
        assert frame.width_px <= 320
        assert pixels.std() > 10  # a scene, not a blank
        assert frame.words == "frame 121 of 240"
        assert len(frame.jpeg) < 20_000


@pytest.mark.parametrize("name", ["truncated_video", "missing_file"])
def test_what_cannot_be_read_is_left_out(name: str) -> None:
    assert take_thumbnails(sample_clips()[name], ["cam_front", "nobody"]) == []


def test_nothing_is_fetched_from_afar() -> None:
    clip = sample_clips()["good"]
    assert take_thumbnails(replace(clip, base_uri="memory://data"), ["cam_rear"]) == []
    spec = clip.sources["cam_rear"]
    assert isinstance(spec, CameraSpec)
    remote = replace(clip, sources={"cam_rear": replace(spec, uri="memory://a.mp4")})
    assert take_thumbnails(remote, ["cam_rear"]) == []
