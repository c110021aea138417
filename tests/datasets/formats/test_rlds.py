from __future__ import annotations

import sys

import av
import numpy as np
import pytest

from syncaudit.datasets.formats.rlds import read_example
from syncaudit.decode import iter_luma
from syncaudit.errors import MissingExtraError, UsageError
from syncaudit.model import CameraStream, SignalStream, Verdict
from syncaudit.pipeline import audit
from syncaudit.readers import read_source
from testkit.data_sets import rlds_data
from testkit.data_sets.importing import import_clips
from testkit.data_sets.rlds_data import N_STEPS, features, shard_of, write_rlds
from testkit.places import real_recording


def test_an_episode_becomes_cameras_and_vectors(tmp_path):
    clips, notes = import_clips(write_rlds(tmp_path / "data", 3), tmp_path, "rlds")
    assert [clip.clip_id for clip in clips] == [
        f"toy_arm/1.0.0/train-00000/{n:05d}" for n in range(3)
    ]
    for number, clip in enumerate(clips):
        assert set(clip.sources) == {"image", "state", "action"}
        truth = features(number)
        camera = read_source("image", clip.sources["image"], clip.base_uri)
        assert isinstance(camera, CameraStream)
        assert (camera.width_px, camera.height_px, camera.time_ns.size) == (32, 24, N_STEPS)
        with av.open(camera.files.paths[0]) as container:  # byte by byte
            packets = [bytes(packet) for packet in container.demux(video=0) if packet.size]
        assert packets == truth["steps/observation/image"]
        for name, key in (("state", "steps/observation/state"), ("action", "steps/action")):
            stream = read_source(name, clip.sources[name], clip.base_uri)
            assert isinstance(stream, SignalStream)
            np.testing.assert_array_equal(stream.channels[0].values, truth[key].astype("<f4"))
    for text in (
        "ignored observation/wrist where it is one blank image: padding",
        "ignored observation/far: images of uint16 are distances",
        "ignored language_embedding: 512 numbers per step are an embedding",
        "ignored reward: bookkeeping",
    ):
        assert text in notes


def test_steps_without_a_rate_are_numbered_and_with_one_counted(tmp_path):
    root = write_rlds(tmp_path / "data", 1)
    [clip], notes = import_clips(root, tmp_path / "none", "rlds")
    assert {spec.stamp_kind for spec in clip.sources.values()} == {"index"}
    assert any("numbered only, so nothing can pass" in text for text in notes)
    [clip], notes = import_clips(root, tmp_path / "rate", "rlds", rules={"rate_hz": 5})
    assert {spec.stamp_kind for spec in clip.sources.values()} == {"counter"}
    assert "timestamps are step / 5 Hz: a counter, not capture times" in notes
    state = read_source("state", clip.sources["state"], clip.base_uri)
    assert state.time_ns.tolist() == [k * 200_000_000 for k in range(N_STEPS)]


@pytest.mark.parametrize(
    ("rules", "pattern"),
    [({"rate": 5}, "Did you mean 'rate_hz'"), ({"rate_hz": 0}, "rate_hz is 0.*steps per second")],
)
def test_wrong_rules_are_told(rules, pattern, tmp_path):
    with pytest.raises(UsageError, match=pattern):
        import_clips(write_rlds(tmp_path / "data", 1), tmp_path, "rlds", rules=rules)


def damaged(tmp_path, change):
    """Return the verdicts on three episodes after their file was altered."""
    root = write_rlds(tmp_path / "data", 3)
    path = shard_of(root)
    path.write_bytes(change(path.read_bytes()))
    return [audit(clip) for clip in import_clips(root, tmp_path, "rlds")[0]]


def test_a_changed_byte_is_a_fault_of_its_episode_alone(tmp_path):
    def change(data: bytes) -> bytes:
        at = len(data) // 2
        return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]

    verdicts = damaged(tmp_path, change)
    assert [each.verdict for each in verdicts] == [
        Verdict.UNVERIFIED,
        Verdict.REJECT,
        Verdict.UNVERIFIED,
    ]
    (told,) = [each.message for each in verdicts[1].reasons if "record 1" in each.message]
    assert "toy_arm-train.tfrecord-00000-of-00001" in told
    assert "its checksum is wrong" in told
    assert "Download the file again" in told


@pytest.mark.parametrize(
    ("change", "n_clips", "pattern"),
    [
        (lambda data: data[:-9], 3, "the file breaks off in it"),
        (lambda data: b"\x01" + data[1:], 1, "its length is damaged"),
    ],
)
def test_what_lies_behind_damage_is_told(change, n_clips, pattern, tmp_path):
    verdicts = damaged(tmp_path, change)
    assert len(verdicts) == n_clips
    assert verdicts[-1].verdict is Verdict.REJECT
    assert any(pattern in each.message for each in verdicts[-1].reasons)


def test_a_record_of_something_else_is_told(tmp_path):
    root = write_rlds(tmp_path / "data", 1)
    rlds_data.write_records(shard_of(root), [b"\x0b no example", b"\x0a\x05ab", b"\x0a\xff", b""])
    clips, notes = import_clips(root, tmp_path, "rlds")
    assert len(clips) == 4
    assert all(audit(clip).verdict is Verdict.REJECT for clip in clips)
    for words in (
        "wire type 3",
        "longer than what holds it",
        "breaks off",
        "it holds 0 steps",
    ):
        assert any(words in text for text in notes), words


def test_a_sequence_example_is_read(tmp_path):
    truth = {"a": [b"x", b"yz"], "b": np.array([[1.0, 2.0], [3.0, 4.0]])}
    found = read_example(rlds_data.sequence_example(truth))
    assert found["a"] == truth["a"]
    assert found["b"].tolist() == [1, 2, 3, 4]


def test_numbers_that_are_none_are_a_finding(tmp_path):
    root = write_rlds(tmp_path / "data", 1)
    named = features(0)
    named["steps/observation/state"][2, 3] = np.nan
    rlds_data.write_records(shard_of(root), [rlds_data.example(named)])
    [clip], _ = import_clips(root, tmp_path, "rlds")
    (finding,) = [f for f in read_source("state", clip.sources["state"], clip.base_uri).findings
                  if f.code == "non_finite"]  # fmt: skip
    assert "state, the first in row 2" in finding.message


def test_images_that_are_no_longer_some_are_told(tmp_path):
    root = write_rlds(tmp_path / "data", 1)
    named = features(0)
    named["steps/observation/image"][3] = b"no image at all"
    rlds_data.write_records(shard_of(root), [rlds_data.example(named)])
    [clip], _ = import_clips(root, tmp_path, "rlds")
    findings = read_source("image", clip.sources["image"], clip.base_uri).findings
    assert any("left out from image 3 on" in finding.message for finding in findings)
    assert "length_mismatch" in {finding.code for finding in findings}


def test_without_its_package_the_pip_line_is_told(tmp_path, monkeypatch):
    root = write_rlds(tmp_path / "data", 1)
    monkeypatch.setitem(sys.modules, "crc32c", None)
    monkeypatch.setattr("syncaudit.datasets.formats.rlds.find_spec", {}.get)
    with pytest.raises(MissingExtraError, match=r"pip install 'syncaudit\[rlds\]'"):
        import_clips(root, tmp_path, "rlds")


@pytest.mark.realdata
def test_the_bridge_is_unverified_in_clear_words(tmp_path):
    root = real_recording("rlds_bridge")
    clips, notes = import_clips(root, tmp_path, "rlds")
    assert len(clips) == 25
    assert "ignored observation/image_3 where it is one blank image: padding" in notes
    assert set(clips[0].sources) == {"image_0", "image_1", "image_2", "state", "action"}
    camera = read_source("image_0", clips[0].sources["image_0"], clips[0].base_uri)
    assert len(list(iter_luma(camera.files))) == camera.time_ns.size == 10
    verdict = audit(clips[0])
    assert verdict.verdict is Verdict.UNVERIFIED
    told = [reason.message for reason in verdict.reasons if reason.source == "image_0"]
    assert told == [
        "its samples are numbered, and nothing states a time or a rate: numbers are not "
        "timestamps. Import it with timestamps, or with its rate (rate_hz in --rules)."
    ]
