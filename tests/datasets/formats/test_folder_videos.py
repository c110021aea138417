"""The sound and subtitles of a folder's videos are sources of their own."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from syncaudit.decode import iter_luma
from syncaudit.readers import read_source
from testkit.data_sets.importing import import_clips
from testkit.data_sets.talking_video import EVENT_S, SRT, write_video

# Codecs smear a click over several samples, and frames last 1/25 s.
CLICK_S = 0.0015
START_NS = 1_767_225_600_000_000_000


imported = partial(import_clips, format_name="folder")


def clip_folder(tmp_path):
    folder = tmp_path / "data" / "one"
    folder.mkdir(parents=True)
    return folder


def clicked_at_ns(stream):
    at = int(np.argmax(np.abs(stream.samples) > 0.3))
    return int(stream.time_ns[0]) + round(at / stream.rate_hz * 1e9)


def lit_at_ns(stream):
    with iter_luma(stream.files) as frames:
        level = [float(frame.luma.mean()) for frame in frames]
    return int(stream.time_ns[int(np.argmax(level))])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("talk.mp4", {}),
        ("talk.mp4", {"sound_late_s": 0.5}),
        ("talk.mp4", {"video_late_s": 0.4, "sound_late_s": 0.2}),
        ("talk.mkv", {"codec": "libopus"}),
        ("talk.mkv", {"sound_late_s": 0.5}),
        ("talk.mov", {"codec": "pcm_s16le", "sound_late_s": 0.25}),
    ],
)
def test_sound_of_a_video_lies_on_its_presentation_time(name, options, tmp_path):
    write_video(clip_folder(tmp_path) / name, **options)
    (clip,), notes = imported(tmp_path / "data", tmp_path)
    assert {title: spec.kind for title, spec in clip.sources.items()} == {
        "talk": "camera",
        "talk_sound": "audio",
    }
    assert any(note.startswith("sound of") for note in notes)
    sound = read_source("talk_sound", clip.sources["talk_sound"], clip.base_uri)
    assert clicked_at_ns(sound) == pytest.approx(round(EVENT_S * 1e9), abs=CLICK_S * 1e9)
    assert not sound.is_start_assumed  # the file itself positions its streams
    assert not any("presentation time" in finding.message for finding in sound.findings)
    camera = read_source("talk", clip.sources["talk"], clip.base_uri)
    assert lit_at_ns(camera) == round(EVENT_S * 1e9)


def test_stamps_of_the_frames_date_the_sound_too(tmp_path):
    folder = clip_folder(tmp_path)
    write_video(folder / "cam.mp4", video_late_s=0.4)
    stamps = [START_NS + k * 40_000_000 for k in range(10, 75)]
    (folder / "cam.csv").write_text("timestamp_ns\n" + "".join(f"{t}\n" for t in stamps))
    (clip,), _ = imported(tmp_path / "data", tmp_path)
    sound = read_source("cam_sound", clip.sources["cam_sound"], clip.base_uri)
    assert clicked_at_ns(sound) == pytest.approx(START_NS + 1e9, abs=CLICK_S * 1e9)
    assert sound.is_start_assumed


def test_subtitles_beside_a_video_belong_to_its_sound(tmp_path):
    folder = clip_folder(tmp_path)
    write_video(folder / "talk.mp4", sound_late_s=0.5)
    (folder / "talk.srt").write_text(SRT)
    (folder / "talk.de.vtt").write_text("WEBVTT\n\n00:00.500 --> 00:00.900\nhallo\n")
    (clip,), notes = imported(tmp_path / "data", tmp_path)
    for title in ("talk_text", "talk.de_text"):
        assert clip.sources[title].audio == "talk_sound"
        # They count from presentation time 0; the sound's first sample comes later.
        assert clip.sources[title].expected_offset_s == pytest.approx(-0.5, abs=0.025)
    assert not any(note.startswith("ignored") for note in notes)


def test_subtitles_inside_a_video_become_a_file_beside_the_manifest(tmp_path):
    write_video(clip_folder(tmp_path) / "talk.mp4", subtitles="mov_text")
    (clip,), notes = imported(tmp_path / "data", tmp_path)
    assert "subtitles inside a video (mov_text) -> transcript" in notes
    spec = clip.sources["talk_sound_subtitles"]
    stream = read_source("talk_sound_subtitles", spec, clip.base_uri)
    (tier,) = stream.tiers
    assert [(i.start_s, i.stop_s, i.label) for i in tier.intervals] == [
        (0.5, 0.9, "hello there"),
        (1.2, 1.6, "again"),
    ]
    assert (tmp_path / "out" / "m_files" / "one").is_dir()


def test_a_silent_track_is_no_source(tmp_path):
    write_video(clip_folder(tmp_path) / "cam.mp4", level=0.0)
    (clip,), notes = imported(tmp_path / "data", tmp_path)
    assert set(clip.sources) == {"cam"}
    assert "ignored the sound of a video: it is silent" in notes


def test_a_video_that_cannot_be_opened_stays_a_camera(tmp_path):
    (clip_folder(tmp_path) / "cam.mp4").write_bytes(b"cut off")
    (clip,), _ = imported(tmp_path / "data", tmp_path)
    assert set(clip.sources) == {"cam"}


@pytest.mark.parametrize("text", ["txt", "lab", "TextGrid"])
def test_recordings_with_transcripts_in_one_folder_are_one_clip_each(text, tmp_path):
    root = tmp_path / "data"
    root.mkdir()
    for stem in ("s1", "s2", "s10"):
        (root / f"{stem}.wav").write_bytes(b"not looked at")
        (root / f"{stem}.{text}").write_text("hello there")
    clips, _ = imported(root, tmp_path)
    assert [clip.clip_id for clip in clips] == ["s1", "s2", "s10"]
    assert {name: spec.kind for name, spec in clips[2].sources.items()} == {
        "s10": "audio",
        "s10_text": "transcript",
    }


def test_talks_with_subtitles_in_one_folder_are_one_clip_each(tmp_path):
    root = tmp_path / "data"
    root.mkdir()
    for stem in ("a", "b"):
        write_video(root / f"{stem}.mp4")
        (root / f"{stem}.srt").write_text(SRT)
    clips, _ = imported(root, tmp_path)
    assert [sorted(clip.sources) for clip in clips] == [
        ["a", "a_sound", "a_text"],
        ["b", "b_sound", "b_text"],
    ]


def test_microphones_beside_other_sources_stay_one_clip(tmp_path):
    root = tmp_path / "data"
    root.mkdir()
    for stem in ("mic1", "mic2"):
        (root / f"{stem}.wav").write_bytes(b"not looked at")
        (root / f"{stem}.txt").write_text("hello")
    (root / "imu.csv").write_text("timestamp_ns,gyro_x,gyro_y,gyro_z\n1,0,0,0\n")
    (clip,), _ = imported(root, tmp_path)
    assert {"imu", "mic1", "mic2"} < set(clip.sources)


def test_text_beside_a_tier_of_the_same_sound_is_left_out(tmp_path):
    folder = clip_folder(tmp_path)
    for ending in ("wav", "TextGrid", "lab"):
        (folder / f"mic.{ending}").write_text("x")
    (clip,), _ = imported(tmp_path / "data", tmp_path)
    assert set(clip.sources) == {"mic", "mic_text"}
    assert clip.sources["mic_text"].uri.endswith(".TextGrid")
