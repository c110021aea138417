"""Videos of action cameras: one clip each, with everything in the file."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from syncaudit.datasets.importing import import_dataset, pick_format
from syncaudit.datasets.source import Source
from syncaudit.errors import MissingExtraError, UsageError
from syncaudit.model import Severity, Verdict
from syncaudit.pipeline import audit
from syncaudit.readers import read_source
from testkit.data_sets.importing import import_clips
from testkit.data_sets.telemetry_data import write_telemetry
from testkit.gopro_video import device, gyro_payloads, text, write_gopro
from testkit.places import real_recording
from testkit.videos import grey_frame, write_video

imported = partial(import_clips, format_name="telemetry")


def test_a_video_is_a_clip_of_its_camera_and_its_sensors(tmp_path):
    (clip, _), notes = imported(write_telemetry(tmp_path / "data", 2), tmp_path)
    assert clip.clip_id == "DCIM/100GOPRO/GX010001"
    assert {*clip.sources} == {"camera", "gyro", "racebox", "racebox_speed"}
    assert "GoPro HERO Test: camera, gyro" in notes
    # Chunks of 7 samples leave the clock open by up to half of one.
    assert 0.005 < clip.sources["gyro"].stamp_std_s < 0.02
    streams = {name: read_source(name, s, clip.base_uri) for name, s in clip.sources.items()}
    assert streams["camera"].time_ns[0] == 0
    assert abs(streams["gyro"].time_ns[0]) < 20_000_000
    assert {name for name, s in streams.items() if s.is_start_assumed} == {
        "racebox",
        "racebox_speed",
    }


def test_one_video_may_be_named(tmp_path):
    root = write_telemetry(tmp_path / "data", 2)
    clips, _ = imported(root / "DCIM/100GOPRO/GX010002.MP4", tmp_path)
    assert [clip.clip_id for clip in clips] == ["GX010002"]


def test_stabilised_images_never_pass(tmp_path):
    settings = device(text("EISA", "HyperSmooth"))
    write_gopro(tmp_path / "data/GX010001.MP4", gyro_payloads(), settings=settings)
    (clip,), _ = imported(tmp_path / "data", tmp_path)
    (doubt,) = read_source("camera", clip.sources["camera"], clip.base_uri).findings
    assert doubt.severity is Severity.DOUBT  # defect or not, it prevents the camera from passing
    assert "its video is stabilised" in doubt.message


def test_a_video_that_breaks_off_is_a_clip_all_the_same(tmp_path):
    root = write_telemetry(tmp_path / "data", 1)
    whole = (root / "DCIM/100GOPRO/GX010001.MP4").read_bytes()
    (root / "DCIM/100GOPRO/GX010002.MP4").write_bytes(whole[: len(whole) // 3])
    clips, _ = imported(root, tmp_path)
    (reason, *_) = audit(clips[1]).reasons
    assert (reason.source, reason.code) == ("camera", "unreadable")


def test_videos_without_telemetry_are_left_out(tmp_path):
    root = write_telemetry(tmp_path / "data", 1)
    frames = [grey_frame(np.zeros((48, 64), np.uint8))] * 3
    write_video(root / "DCIM/100GOPRO/GX010000.MP4", frames, container_format="mp4")
    clips, notes = imported(root, tmp_path)
    assert len(clips) == 1
    assert "left out a video without telemetry inside" in notes


def test_frames_that_a_table_stamps_are_for_rules(tmp_path):
    write_gopro(tmp_path / "data/cam.mp4", gyro_payloads(), n_frames=3)
    (tmp_path / "data/cam.csv").write_text("timestamp_ns\n1\n2\n3\n")
    assert pick_format(Source(str(tmp_path / "data"))).name == "folder"


def test_a_missing_library_stops_the_import(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    frames = [grey_frame(np.zeros((48, 64), np.uint8))] * 3
    path = write_video(tmp_path / "data/VID.mp4", frames)
    path.write_bytes(path.read_bytes() + bytes(40) + b"8db42d694ccc418790edff439fe026bf")
    monkeypatch.setattr("syncaudit.readers.telemetry.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match="telemetry of Insta360 cameras needs"):
        import_dataset(str(tmp_path / "data"), tmp_path / "out" / "m.jsonl")


def test_a_folder_of_nothing_says_what_was_looked_for(tmp_path):
    (tmp_path / "data").mkdir()
    with pytest.raises(UsageError, match=r"telemetry: no video with telemetry inside \(\.mp4"):
        pick_format(Source(str(tmp_path / "data")))


@pytest.mark.realdata
def test_a_gimbal_is_refused(tmp_path):
    (clip,), _ = imported(real_recording("drone_gimbal"), tmp_path)
    assert {*clip.sources} == {"camera", "accel", "gyro", "sound"}
    verdict = audit(clip)
    assert verdict.verdict is Verdict.UNVERIFIED
    (pair,) = [pair for pair in verdict.pairs if {pair.source, pair.target} == {"camera", "gyro"}]
    assert "gimbal" in pair.why


@pytest.mark.realdata
def test_a_car_and_its_logger_are_found_400_s_apart(tmp_path):
    """Nothing indicates where; according to the people who recorded it: 407.58 +- 0.1 s."""
    (clip,), _ = imported(real_recording("hero8_racebox"), tmp_path)
    assert "its video is stabilised" in clip.sources["camera"].findings[0]
    inertial = {name: clip.sources[name] for name in ("gyro", "racebox")}
    verdict = audit(replace(clip, sources=inertial))
    (pair,) = verdict.pairs
    assert pair.offset_s == pytest.approx(407.605, abs=0.015)
    assert verdict.verdict is Verdict.UNVERIFIED
    assert any("racebox counts from its own start" in each.message for each in verdict.reasons)
