from __future__ import annotations

import io
import tarfile
import time
from functools import partial

import pytest

from syncaudit.errors import ManifestError, StreamReadError, UsageError
from syncaudit.readers import read_source
from testkit.data_sets.importing import import_clips
from testkit.data_sets.webdataset_data import imu, sound, write_webdataset

imported = partial(import_clips, format_name="webdataset")


def shard(path, members):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def test_parts_become_sources_and_json_speaks_of_the_clip(tmp_path):
    clips, notes = imported(write_webdataset(tmp_path / "data", 50), tmp_path)
    assert len(clips) == 50
    assert clips[0].clip_id == "train-000000/drive/000000"
    assert clips[49].clip_id == "train-000001/drive/000049"
    assert {clip.recording_id for clip in clips} == {"drive"}
    kinds = {name: str(spec.kind) for name, spec in clips[0].sources.items()}
    assert kinds == {"cam_front": "camera", "imu": "imu", "audio": "audio"}
    assert clips[0].sources["cam_front"].timestamps.startswith("tar://drive/000000.cam_front.csv::")
    assert "ignored parts txt" in notes


def test_members_are_read_out_of_their_shard(tmp_path):
    clips, _ = imported(write_webdataset(tmp_path / "data", 3), tmp_path)
    stream = read_source("imu", clips[2].sources["imu"], clips[2].base_uri)
    assert stream.channel("gyro").values[0].tolist() == [0, 0, 2]
    audio = read_source("audio", clips[2].sources["audio"], clips[2].base_uri)
    assert audio.samples.size == 800


def test_samples_without_stamps_start_together(tmp_path):
    path = shard(
        tmp_path / "a.tar", {"./x/1.mp4": b"v", "./x/1.wav": sound(), "./x/1.TextGrid": b"t"}
    )
    clips, notes = imported(path, tmp_path)
    assert clips[0].clip_id == "a/x/1"
    assert clips[0].sources["video"].start_ns == clips[0].sources["audio"].start_ns == 0
    assert clips[0].sources["audio_text"].audio == "audio"
    assert read_source("audio", clips[0].sources["audio"], clips[0].base_uri).samples.size == 800
    assert any("assumed to start together" in note for note in notes)


def test_rules_name_what_the_defaults_do_not_know(tmp_path):
    path = shard(tmp_path / "a.tar", {"1.mp4": b"v", "1.sensors.csv": imu(1), "1.txt": b"words"})
    rules = {
        "source": [
            {"match": "sensors.csv", "kind": "imu", "name": "body"},
            {"match": "*.mp4", "kind": "camera", "start_ns": 5, "line_delay_s": 2e-5},
        ]
    }
    clips, _ = imported(path, tmp_path, rules=rules)
    assert set(clips[0].sources) == {"body", "video"}
    assert (clips[0].sources["video"].start_ns, clips[0].sources["video"].line_delay_s) == (5, 2e-5)


def test_a_wrong_key_in_the_rules_is_named(tmp_path):
    path = shard(tmp_path / "a.tar", {"1.mp4": b"v"})
    rules = {"source": [{"match": "*.mp4", "kind": "camera", "line_delay": 1.0}]}
    with pytest.raises(ManifestError, match=r"unknown key sources\.video\.line_delay"):
        imported(path, tmp_path, rules=rules)


def test_a_shard_that_is_cut_off_is_read_up_to_the_cut(tmp_path):
    path = shard(tmp_path / "a.tar", {f"{n}.imu.csv": imu(n) for n in range(5)})
    clips, _ = imported(path, tmp_path)
    path.write_bytes(path.read_bytes()[: 512 * 7 + 60])  # within the fourth sample's content
    assert read_source("imu", clips[2].sources["imu"], clips[2].base_uri).findings == ()
    with pytest.raises(StreamReadError, match="cut off within it"):
        read_source("imu", clips[3].sources["imu"], clips[3].base_uri)
    with pytest.raises(StreamReadError):
        read_source("imu", clips[4].sources["imu"], clips[4].base_uri)


@pytest.mark.parametrize("n_bytes", [512 * 7 + 60, 300, 0])
def test_a_cut_shard_loses_its_own_samples_only(tmp_path, n_bytes):
    for name in ("a", "b"):
        shard(tmp_path / f"data/{name}.tar", {f"{n}.imu.csv": imu(n) for n in range(5)})
    cut = tmp_path / "data/a.tar"
    cut.write_bytes(cut.read_bytes()[:n_bytes])
    clips, _ = imported(tmp_path / "data", tmp_path)
    whole = ["a/0", "a/1", "a/2"] if n_bytes > 512 else []
    assert [clip.clip_id for clip in clips] == [*whole, "a", *(f"b/{n}" for n in range(5))]
    (finding,) = clips[len(whole)].sources["episode"].findings
    assert finding.startswith("corrupt: a.tar ")
    assert "Copy" in finding


def test_the_format_that_found_its_files_gives_its_reason_first(tmp_path):
    path = shard(tmp_path / "data/a.tar", {f"{n}.imu.csv": imu(n) for n in range(5)})
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(UsageError, match=r"known format:\n  webdataset: .*not an intact tar"):
        imported(path.parent, tmp_path, format_name="auto")


def test_members_of_a_large_shard_are_found_by_an_index(tmp_path):
    path = shard(tmp_path / "a.tar", {f"{n:05d}.imu.csv": imu(n) for n in range(3000)})
    clips, _ = imported(path, tmp_path)
    read_source("imu", clips[0].sources["imu"], clips[0].base_uri)
    begin = time.process_time()
    for clip in clips[1:101]:
        read_source("imu", clip.sources["imu"], clip.base_uri)
    # Reading the shard 100 times would take at least 20 s.
    assert time.process_time() - begin < 4.0


def test_a_sample_that_is_there_twice_is_told(tmp_path):
    path = tmp_path / "data" / "train.tar"
    path.parent.mkdir()
    with tarfile.open(path, "w") as archive:
        for name in ("a.wav", "b.wav", "a.wav"):
            info = tarfile.TarInfo(name)
            info.size = len(sound())
            archive.addfile(info, io.BytesIO(sound()))
    with pytest.raises(ManifestError, match="two clips called 'train/a'"):
        imported(path.parent, tmp_path)
