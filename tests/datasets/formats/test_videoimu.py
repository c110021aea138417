"""VideoIMUCapture recordings, with messages written by protobuf."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from syncaudit.model import Severity, Verdict
from syncaudit.pipeline import audit
from syncaudit.readers import read_source
from testkit.data_sets.importing import import_clips
from testkit.data_sets.videoimu_data import (
    BOOT_NS,
    EXPOSURE_NS,
    FRAME_NS,
    READOUT_NS,
    camera,
    frames,
    samples,
    write_videoimu,
    written,
)

imported = partial(import_clips, format_name="videoimu")


@pytest.fixture
def recording(tmp_path):
    """Return the folder of a recording."""
    (folder,) = write_videoimu(tmp_path / "data", 1).iterdir()
    return folder


def clip_of(recording, tmp_path, *parts):
    (recording / "video_meta.pb3").write_bytes(written(*parts))
    return imported(recording, tmp_path)[0][0]


def read(clip, name):
    return read_source(name, clip.sources[name], clip.base_uri)


def test_frames_are_dated_by_the_middle_of_their_exposure(recording, tmp_path):
    clip = clip_of(recording, tmp_path, camera(), *frames(range(10)), *samples(50))
    assert clip.clip_id == recording.name
    stream = read(clip, "camera")
    middle_ns = BOOT_NS + (EXPOSURE_NS + READOUT_NS) // 2
    np.testing.assert_array_equal(stream.time_ns, middle_ns + FRAME_NS * np.arange(10))
    assert (stream.stamp_at, stream.focal_px) == ("mid_exposure_mid_row", 500.0)
    assert stream.findings == ()


def test_samples_of_the_sensors_are_read(recording, tmp_path):
    stream = read(clip_of(recording, tmp_path, *samples(50)), "imu")
    np.testing.assert_array_equal(stream.time_ns, BOOT_NS + 10**7 * np.arange(50))
    assert stream.channel("gyro").values[7].tolist() == [0.5, 0.0, -7.0]
    assert stream.channel("accel").values[7].tolist() == [0.0, 0.0, 9.75]


@pytest.mark.parametrize(
    ("said", "severity", "text"),
    [
        ({"timestamp_source": 0}, Severity.WARNING, "timestamp_source UNKNOWN"),
        ({"optical_image_stabilization": True}, Severity.DOUBT, "optical stabilisation was on"),
        ({"video_stabilization": True}, Severity.DOUBT, "digital stabilisation was on"),
    ],
)
def test_what_makes_its_times_doubtful_is_told(recording, tmp_path, said, severity, text):
    clip = clip_of(recording, tmp_path, camera(**said), *frames(range(10)))
    (finding,) = read(clip, "camera").findings
    assert finding.severity is severity
    assert text in finding.message


def test_frames_after_one_without_a_time_have_none(recording, tmp_path):
    clip = clip_of(recording, tmp_path, camera(), *frames([0, 1, 2, 4, 5, 6, 7, 8, 9]))
    stream = read(clip, "camera")
    assert stream.time_ns.size == 3
    assert {each.code for each in stream.findings} == {"length_mismatch", "missing_frames"}


def test_a_file_that_breaks_off_is_read_up_to_there(recording, tmp_path):
    content = written(camera(), *frames(range(10)), *samples(50))
    (recording / "video_meta.pb3").write_bytes(content[:-5])
    clip = imported(recording, tmp_path)[0][0]
    stream = read(clip, "imu")
    assert stream.time_ns.size == 49
    assert "breaks off at byte" in stream.findings[0].message


@pytest.mark.parametrize(
    "content", [b"\n" + b"\xff" * 99, b"\n\x00\x22\x02\x08\x05", b"\n\x00\x1f"]
)
def test_a_file_of_which_nothing_can_be_read_is_rejected(recording, tmp_path, content):
    (recording / "video_meta.pb3").write_bytes(content)
    (clip,), _ = imported(recording, tmp_path)
    assert audit(clip).verdict is Verdict.REJECT


def test_a_recording_without_its_video_keeps_its_sensors(recording, tmp_path):
    (recording / "video_recording.mp4").unlink()
    (clip,), notes = imported(recording, tmp_path)
    assert {*clip.sources} == {"imu"}
    assert notes["left out the camera: video_recording.mp4 is not there"] == 1
