"""Recordings of the Lab Streaming Layer: timestamps on the recorder's clock, unsmoothed."""

from __future__ import annotations

import numpy as np

from syncaudit.model import Verdict
from syncaudit.pipeline import audit
from syncaudit.readers import read_source
from testkit.data_sets.importing import import_clips
from testkit.data_sets.xdf_data import GYRO, header, stream, write_xdf

TIMES_S = 10.0 + np.arange(200) / 100
RATES = np.random.default_rng(1).normal(0.0, 1.0, (200, 3))


def clip_of(tmp_path, *streams):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "run.xdf").write_bytes(header() + b"".join(streams))
    (clip,), notes = import_clips(tmp_path / "data", tmp_path, "xdf")
    return clip, notes


def read(clip, name):
    return read_source(name, clip.sources[name], clip.base_uri)


def test_streams_are_sources(tmp_path):
    (clip, _), _ = import_clips(write_xdf(tmp_path / "data", 2), tmp_path, "xdf")
    assert clip.clip_id == "sub-000/eeg/run"
    assert {name: str(spec.kind) for name, spec in clip.sources.items()} == {
        "Head": "imu",
        "Marks": "events",
    }
    assert read(clip, "Marks").time_ns.tolist() == [10_000_000_000, 10_010_000_000]


def test_jitter_is_kept(tmp_path):
    times_s = TIMES_S + np.random.default_rng(2).uniform(0.0, 0.004, 200)
    clip, _ = clip_of(tmp_path, stream(1, "Head", "IMU", times_s, RATES, labels=GYRO))
    stamps = read(clip, "Head")
    assert stamps.time_ns.tolist() == np.rint(1e9 * times_s).astype(np.int64).tolist()
    np.testing.assert_allclose(stamps.channel("gyro").values, RATES)


def test_stamps_are_set_to_the_clock_of_the_recorder(tmp_path):
    """The device is 500 s behind the recorder and loses 50 ppm."""
    clock = [(t, 500.0 + 5e-5 * t) for t in np.arange(5.0, 30.0, 5.0)]
    clip, _ = clip_of(tmp_path, stream(1, "Head", "IMU", TIMES_S, RATES, labels=GYRO, clock=clock))
    expected_s = TIMES_S + 500.0 + 5e-5 * TIMES_S
    np.testing.assert_allclose(read(clip, "Head").time_ns * 1e-9, expected_s, atol=1e-6)


def two_stretches(again_s, offset_s):
    """Return a stream whose clock reads `again_s` after a minute, instead of 60."""
    before = np.arange(0.0, 60.0, 0.5)
    asked = np.arange(1.0, 60.0, 5.0)
    clock = [(t, 100.0) for t in asked] + [(t + again_s, offset_s) for t in asked]
    times_s = np.concatenate([before, before + again_s])
    values = np.random.default_rng(3).normal(0.0, 1.0, (240, 3))
    return times_s, stream(1, "Head", "IMU", times_s, values, labels=GYRO, clock=clock)


def step_of(found):
    (finding,) = [each for each in found.findings if each.code == "step"]
    return finding.message


def test_a_jump_of_a_clock_is_told(tmp_path):
    """Another computer took over after 70 s: both parts are placed correctly."""
    _, content = two_stretches(1000.0, 170.0 - 1000.0)
    found = read(clip_of(tmp_path, content)[0], "Head")
    assert "jumped before sample 120" in step_of(found)
    before = np.arange(0.0, 60.0, 0.5)
    expected_s = np.concatenate([before + 100.0, before + 170.0])
    np.testing.assert_allclose(found.time_ns * 1e-9, expected_s, atol=1e-6)


def test_a_clock_that_begins_anew_is_left_as_it_was(tmp_path):
    times_s, content = two_stretches(0.0, 170.0)
    found = read(clip_of(tmp_path, content)[0], "Head")
    assert "began anew" in step_of(found)
    np.testing.assert_allclose(found.time_ns * 1e-9, times_s)


def test_units_of_channels_count(tmp_path):
    clip, _ = clip_of(tmp_path, stream(1, "Head", "IMU", TIMES_S, RATES, labels=GYRO, unit="deg/s"))
    assert read(clip, "Head").channel("gyro").unit == "deg/s"


def test_streams_that_tell_nothing_are_ignored(tmp_path):
    clip, notes = clip_of(
        tmp_path,
        stream(1, "Head", "IMU", TIMES_S, RATES, labels=GYRO),
        stream(2, "Cap", "EEG", TIMES_S, RATES, labels=("Fp1", "Fp2", "Cz")),
        stream(3, "Arm", "MoCap", TIMES_S, RATES),
    )
    assert {*clip.sources} == {"Head", "Arm"}
    assert any("ignored streams of EEG" in note for note in notes)
    assert len(read(clip, "Arm").channels) == 3


def test_a_recording_that_breaks_off_gives_what_it_holds(tmp_path):
    whole = stream(1, "Head", "IMU", TIMES_S, RATES, labels=GYRO)
    cut = stream(2, "Hand", "IMU", TIMES_S, RATES, labels=GYRO)
    for stop, n_read in ((len(cut) // 2, 0), (len(cut) - 9, 200)):
        folder = tmp_path / str(stop)
        folder.mkdir()
        clip, _ = clip_of(folder, whole, cut[:stop])
        assert read(clip, "Head").time_ns.size == 200
        assert read(clip, "Head").findings == ()
        hand = read(clip, "Hand")
        assert hand.time_ns.size == n_read
        assert any("no end mark" in finding.message for finding in hand.findings)


def test_a_timestamp_that_is_no_number_is_the_least(tmp_path):
    times_s = TIMES_S.copy()
    times_s[50] = np.nan
    clip, _ = clip_of(tmp_path, stream(1, "Head", "IMU", times_s, RATES, labels=GYRO))
    assert read(clip, "Head").time_ns[50] == np.iinfo(np.int64).min


def test_a_recording_of_which_nothing_can_be_read_is_rejected(tmp_path):
    clip, _ = clip_of(tmp_path, b"\x04\x20\x00\x00\x00\x02\x00\x01\x00\x00\x00<no xml")
    assert audit(clip).verdict is Verdict.REJECT
