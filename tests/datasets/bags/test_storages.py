"""Every container of bags gives the same sources, whole or damaged."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from mcap.writer import CompressionType
from rosbags.rosbag1 import Reader as Reader1
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import CompressionFormat, CompressionMode

from syncaudit.datasets import load_manifest
from syncaudit.datasets.importing import import_dataset
from syncaudit.decode import iter_luma
from syncaudit.errors import ManifestError, MissingExtraError, SyncAuditError
from syncaudit.model import CameraStream, SignalStream, Verdict
from syncaudit.pipeline import audit, read_clip
from testkit.bags.writing import (
    COMPRESSED,
    FRAME,
    IMU,
    JOINTS,
    START_NS,
    Messages,
    Sent,
    arrivals,
    jpeg,
    pack,
    stamps,
    write_bag,
)
from testkit.command_line import run_command

DBC = (
    'VERSION ""\nBU_: ECU\nBO_ 291 Motion: 8 ECU\n'
    ' SG_ YawRate : 0|16@1- (0.01,0) [-300|300] "deg/s" ECU\n'
)
N_PICTURES, N_SAMPLES = 40, 400


def rig(messages: Messages) -> list[Sent]:
    """Return two seconds of a camera, an IMU, joints, a bus and something else."""
    cam, imu = stamps(N_PICTURES, 20.0), stamps(N_SAMPLES, 200.0, seed=1)
    cam_in, imu_in = arrivals(cam), arrivals(imu, seed=1)
    return pack(
        [
            Sent(
                "/cam/front/image_raw/compressed",
                COMPRESSED,
                messages.compressed(t, jpeg(4 * k)),
                r,
            )
            for k, (t, r) in enumerate(zip(cam.tolist(), cam_in.tolist(), strict=True))
        ],
        [
            Sent("/imu/data", IMU, messages.imu(t, (k, 2.0, 3.0), (0.0, -k, 9.81)), r)
            for k, (t, r) in enumerate(zip(imu.tolist(), imu_in.tolist(), strict=True))
        ],
        [
            Sent("/joint_states", JOINTS, messages.joints(t, ("hip", "knee"), (k, -k)), r)
            for k, (t, r) in enumerate(zip(imu.tolist(), imu_in.tolist(), strict=True))
        ],
        [
            Sent("/can", FRAME, messages.can(t, 291, (k).to_bytes(2, "little") + bytes(6)), r)
            for k, (t, r) in enumerate(zip(imu.tolist(), imu_in.tolist(), strict=True))
        ],
        [
            Sent(
                "/chatter",
                "std_msgs/msg/String",
                messages.make("std_msgs/msg/String", data="hi"),
                START_NS,
            )
        ],
    )


STORAGES = {
    "ros1": ("drive.bag", True, {}),
    "ros1_bz2": ("drive.bag", True, {"compression": Writer1.CompressionFormat.BZ2}),
    "ros1_lz4": ("drive.bag", True, {"compression": Writer1.CompressionFormat.LZ4}),
    "sqlite3": ("drive", False, {}),
    "sqlite3_v8": ("drive", False, {"version": 8}),
    "sqlite3_zstd_file": (
        "drive",
        False,
        {"compression": (CompressionMode.FILE, CompressionFormat.ZSTD)},
    ),
    "sqlite3_zstd_message": (
        "drive",
        False,
        {"compression": (CompressionMode.MESSAGE, CompressionFormat.ZSTD)},
    ),
    "rosbag2_mcap": ("drive", False, {"storage": "mcap"}),
    "mcap_zstd": ("drive.mcap", False, {"chunk_size": 1 << 13}),
    "mcap_lz4": ("drive.mcap", False, {"compression": CompressionType.LZ4}),
    "mcap_plain": ("drive.mcap", False, {"use_chunking": False}),
    "mcap_ros1": ("drive.mcap", True, {}),
}


def write_rig(folder: Path, name: str) -> Path:
    place, is_ros1, options = STORAGES[name]
    messages = Messages(is_ros1=is_ros1)
    folder.mkdir(exist_ok=True)
    return write_bag(folder / place, rig(messages), messages, **options)


def take_in(source: Path, out: Path, **rules):
    done = import_dataset(str(source), out / "m.jsonl", rules=rules)
    return done, load_manifest(str(out / "m.jsonl"))


@pytest.mark.parametrize("name", sorted(STORAGES))
def test_a_bag_gives_its_sources_with_all_their_stamps(name, tmp_path):
    source = write_rig(tmp_path / "data", name)
    dbc = tmp_path / "vehicle.dbc"
    dbc.write_text(DBC)
    done, clips = take_in(source, tmp_path / "out", dbc=str(dbc), signals={"yaw_rate": "YawRate"})
    assert [clip.clip_id for clip in clips] == ["drive"]
    assert set(clips[0].sources) == {"cam_front", "imu", "joint_states", "can"}
    assert any("/chatter (std_msgs/msg/String): not taken, 1 messages" in n for n in done.notes)
    read = read_clip(clips[0])
    assert not read.findings
    cam, imu, bus = (read.streams[name] for name in ("cam_front", "imu", "can"))
    assert isinstance(cam, CameraStream)
    assert cam.time_ns.tolist() == stamps(N_PICTURES, 20.0).tolist()
    assert cam.n_frames_container == N_PICTURES
    assert cam.arrivals is not None
    assert cam.arrivals.receive_ns.tolist() == arrivals(stamps(N_PICTURES, 20.0)).tolist()
    shades = [float(np.median(frame.luma)) for frame in iter_luma(cam.files)]
    np.testing.assert_allclose(shades, 4.0 * np.arange(N_PICTURES), atol=2.0)
    assert isinstance(imu, SignalStream)
    np.testing.assert_array_equal(imu.channel("gyro").values[:, 0], np.arange(N_SAMPLES))
    np.testing.assert_array_equal(imu.channel("accel").values[:, 1], -np.arange(N_SAMPLES))
    np.testing.assert_allclose(bus.channel("yaw_rate").values[:, 0], 0.01 * np.arange(N_SAMPLES))
    assert bus.time_ns.tolist() == stamps(N_SAMPLES, 200.0, seed=1).tolist()
    joints = read.streams["joint_states"].channel("position").values
    np.testing.assert_array_equal(joints, np.outer(np.arange(N_SAMPLES), [1, -1]))


def test_a_bag_without_type_definitions_is_read_by_the_names_of_its_types(tmp_path):
    source = write_rig(tmp_path, "sqlite3_v8")
    database = next(source.glob("*.db3"))
    with sqlite3.connect(database) as base:
        base.execute("DROP TABLE message_definitions")
        base.execute("DROP TABLE schema")
    base.close()
    _, clips = take_in(source, tmp_path / "out", stamps_only=True)
    assert set(clips[0].sources) == {"cam_front", "imu", "joint_states", "can"}
    assert not read_clip(clips[0]).findings


def test_a_single_storage_file_needs_no_metadata(tmp_path):
    source = next(write_rig(tmp_path, "sqlite3").glob("*.db3"))
    _, clips = take_in(source, tmp_path / "out", stamps_only=True)
    assert len(read_clip(clips[0]).streams) == 4


@pytest.mark.parametrize("name", ["ros1", "sqlite3", "mcap_zstd", "mcap_plain"])
def test_a_bag_that_breaks_off_gives_what_it_holds_and_says_so(name, tmp_path):
    source = write_rig(tmp_path, name)
    file = source if source.is_file() else next(source.glob("*.db3"))
    data = file.read_bytes()
    file.write_bytes(data[: int(0.6 * len(data))])
    done, clips = take_in(source, tmp_path / "out")
    read = read_clip(clips[0])
    stamped = stamps(N_PICTURES, 20.0).tolist()
    n_kept = read.streams["cam_front"].time_ns.size
    assert 0.2 * N_PICTURES < n_kept < N_PICTURES
    assert read.streams["cam_front"].time_ns.tolist() == stamped[:n_kept]
    assert {str(finding.code) for finding in read.findings} == {"corrupt"}
    assert any(file.name in note for note in done.notes)


def test_a_ros1_bag_that_was_never_closed_is_read_without_its_index(tmp_path):
    source = write_rig(tmp_path, "ros1")
    data = bytearray(source.read_bytes())
    at, index_at = _index_at(data)
    data[at : at + 8] = bytes(8)
    active = tmp_path / "drive.bag.active"
    active.write_bytes(data[:index_at])
    source.unlink()
    _, clips = take_in(active, tmp_path / "out")
    read = read_clip(clips[0])
    assert read.streams["cam_front"].time_ns.size == N_PICTURES
    assert all("never closed" in finding.message for finding in read.findings)


def _index_at(data: bytes) -> tuple[int, int]:
    """Return where a ROS 1 bag states the place of its index, and that place."""
    at = data.index(b"index_pos=") + len(b"index_pos=")
    return at, int.from_bytes(data[at : at + 8], "little")


@pytest.mark.parametrize("n_zeros", [1, 4, 4096])
def test_zeros_before_the_index_of_a_ros1_bag_are_no_damage(n_zeros, tmp_path):
    """Writers that set space aside leave zeros; by the index all readers find their way."""
    source = write_rig(tmp_path, "ros1")
    data = source.read_bytes()
    at, index_at = _index_at(data)
    moved = (index_at + n_zeros).to_bytes(8, "little")
    data = data[:at] + moved + data[at + 8 : index_at] + bytes(n_zeros) + data[index_at:]
    source.write_bytes(data)
    with Reader1(source) as other:
        n_messages = sum(1 for _ in other.messages())
    assert n_messages > N_PICTURES
    _, clips = take_in(source, tmp_path / "out")
    read = read_clip(clips[0])
    assert not read.findings
    assert read.streams["cam_front"].time_ns.size == N_PICTURES


def test_zeros_where_a_ros1_bag_had_messages_are_told(tmp_path):
    source = write_rig(tmp_path, "ros1")
    data = bytearray(source.read_bytes())
    start, stop = int(0.4 * len(data)), int(0.7 * len(data))
    data[start:stop] = bytes(stop - start)
    source.write_bytes(data)
    _, clips = take_in(source, tmp_path / "out")
    assert read_clip(clips[0]).findings


def test_the_parts_of_a_split_recording_are_one_clip(tmp_path):
    messages = Messages(is_ros1=True)
    sent = rig(messages)
    half = len(sent) // 2
    write_bag(tmp_path / "data_0.bag", sent[:half], messages)
    write_bag(tmp_path / "data_1.bag", sent[half:], messages)
    folder = tmp_path / "bags"
    folder.mkdir()
    for path in tmp_path.glob("*.bag"):
        shutil.move(path, folder / path.name)
    _, clips = take_in(folder, tmp_path / "out")
    assert [clip.clip_id for clip in clips] == ["data"]
    cam = read_clip(clips[0]).streams["cam_front"]
    assert cam.time_ns.tolist() == stamps(N_PICTURES, 20.0).tolist()
    assert cam.n_frames_container == N_PICTURES


def test_files_that_are_not_numbered_from_zero_are_recordings_of_their_own(tmp_path):
    messages = Messages(is_ros1=True)
    folder = tmp_path / "bags"
    folder.mkdir()
    names = ["day_0", "day_2026-01-31-10-00-00_0", "other", "run_3", "run_7"]
    for name in names:
        write_bag(folder / f"{name}.bag", rig(messages)[:300], messages)
    _, clips = take_in(folder, tmp_path / "out", stamps_only=True)
    assert [clip.clip_id for clip in clips] == names


def test_publish_stamps_of_mcap_are_kept_where_they_say_something(tmp_path):
    messages = Messages(is_ros1=False)
    captured = stamps(50, 100.0)
    received = arrivals(captured)
    sent = [
        Sent("/imu", IMU, messages.imu(t, (0, 0, 0), (0, 0, 0)), r, publish_ns=r - 500_000)
        for t, r in zip(captured.tolist(), received.tolist(), strict=True)
    ]
    write_bag(tmp_path / "a.mcap", sent, messages)
    _, clips = take_in(tmp_path / "a.mcap", tmp_path / "out")
    found = read_clip(clips[0]).streams["imu"].arrivals
    assert found.publish_ns.tolist() == (received - 500_000).tolist()


def test_windows_cut_a_recording_into_clips(tmp_path):
    messages = Messages(is_ros1=False)
    captured = stamps(1000, 100.0)
    sent = [
        Sent("/imu", IMU, messages.imu(t, (0, 0, 0), (0, 0, 0)), r)
        for t, r in zip(captured.tolist(), arrivals(captured).tolist(), strict=True)
    ]
    write_bag(tmp_path / "a.mcap", sent, messages)
    _, clips = take_in(tmp_path / "a.mcap", tmp_path / "out", clip_seconds=3)
    assert [clip.clip_id for clip in clips] == ["a/0000", "a/0001", "a/0002"]
    assert {clip.recording_id for clip in clips} == {"a"}
    assert all(clip.end_ns - clip.start_ns == 3 * 10**9 for clip in clips)
    assert clips[1].start_ns == clips[0].end_ns


def test_the_table_of_joints_holds_integers_of_nanoseconds(tmp_path):
    source = write_rig(tmp_path, "mcap_zstd")
    take_in(source, tmp_path / "out")
    row = json.loads((tmp_path / "out" / "m.jsonl").read_text())
    table = pq.read_table(tmp_path / "out" / row["sources"]["joint_states"]["uri"])
    assert str(table.schema.field("timestamp_ns").type) == "int64"
    assert table.column_names[:2] == ["timestamp_ns", "receive_ns"]


@pytest.mark.parametrize("name", ["ros1", "sqlite3", "mcap_zstd", "sqlite3_zstd_file"])
def test_a_bag_of_which_nothing_can_be_read_is_a_clip_that_is_rejected(name, tmp_path):
    source = write_rig(tmp_path / "data", name)
    file = source if source.is_file() else next(p for p in source.iterdir() if "db3" in p.name)
    file.write_bytes(file.read_bytes()[:60])
    _, clips = take_in(source, tmp_path / "out")
    verdict = audit(clips[0])
    assert verdict.verdict is Verdict.REJECT
    assert [str(finding.code) for finding in verdict.reasons] == ["empty"]
    assert any(file.name.removesuffix(".zstd") in f.message for f in verdict.warnings)


def test_a_bag_without_a_sensor_lists_its_topics(tmp_path):
    messages = Messages(is_ros1=False)
    text = messages.make("std_msgs/msg/String", data="hi")
    write_bag(tmp_path / "a.mcap", [Sent("/talk", "std_msgs/msg/String", text, 5)], messages)
    with pytest.raises(ManifestError, match=r"no camera.*/talk \(std_msgs/msg/String\): not taken"):
        take_in(tmp_path / "a.mcap", tmp_path / "out")


@pytest.mark.parametrize(
    "content",
    ["{", "a: 1", "\xff", "rosbag2_bagfile_information: 5", "", "[" * 5000],
    ids=["broken", "another", "no text", "no list", "empty", "deep"],
)
@pytest.mark.parametrize("name", ["sqlite3", "sqlite3_zstd_message"])
def test_metadata_that_cannot_be_read_are_a_finding_and_the_files_are_read(tmp_path, name, content):
    source = write_rig(tmp_path, name)
    (source / "metadata.yaml").write_text(content, encoding="latin-1")
    _, clips = take_in(source, tmp_path / "out", stamps_only=True)
    read = read_clip(clips[0])
    assert set(read.streams) == {"cam_front", "imu", "joint_states", "can"}
    assert read.streams["imu"].time_ns.size == N_SAMPLES
    assert all("metadata.yaml cannot be read" in finding.message for finding in read.findings)
    assert read.findings


def test_a_file_that_metadata_name_and_that_is_missing_is_a_finding(tmp_path):
    source = write_rig(tmp_path, "sqlite3")
    text = (source / "metadata.yaml").read_text()
    (source / "metadata.yaml").write_text(
        text.replace("  - drive.db3\n", "  - drive.db3\n  - drive_1.db3\n")
    )
    _, clips = take_in(source, tmp_path / "out", stamps_only=True)
    read = read_clip(clips[0])
    assert {str(finding.code) for finding in read.findings} == {"missing_file"}


@pytest.mark.parametrize(
    ("rules", "match"),
    [
        ({"stamp_only": True}, "stamp_only.*stamps_only"),
        ({"stamps_only": 1}, "stamps_only is 1.*true or false"),
        ({"clip_seconds": 0.2}, "clip_seconds is 0.2.*1 or more"),
        ({"clip_seconds": True}, "clip_seconds is True"),
        ({"topics": "/a"}, "topics is '/a'.*list"),
        ({"names": ["a"]}, "names is"),
        ({"sources": {"cam": 5}}, "sources.cam is 5"),
        ({"dbc": "a.dbc"}, "'dbc' and 'signals'"),
        ({"sources": {"imu": {"colour": 1}}}, "colour"),
    ],
)
def test_wrong_rules_are_told(tmp_path, rules, match):
    source = write_rig(tmp_path, "mcap_plain")
    with pytest.raises(SyncAuditError, match=match):
        take_in(source, tmp_path / "out", **rules)


def test_rules_choose_topics_and_names_and_add_what_a_bag_does_not_hold(tmp_path):
    source = write_rig(tmp_path, "mcap_zstd")
    _, clips = take_in(
        source,
        tmp_path / "out",
        topics=["/cam/*", "/imu/*"],
        names={"/imu/data": "xsens"},
        sources={"cam_*": {"line_delay_s": 2e-5, "fov_deg": 90.0}},
    )
    assert set(clips[0].sources) == {"cam_front", "xsens"}
    assert clips[0].sources["cam_front"].line_delay_s == 2e-5


def test_validate_takes_a_bag_directly(tmp_path):
    source = write_rig(tmp_path, "ros1")
    outcome = run_command("validate", source, "--out", tmp_path / "out", "--workers", 1)
    assert outcome.exit_code in (0, 1, 4), outcome.output
    verdict = json.loads((tmp_path / "out" / "verdicts.jsonl").read_text())
    assert verdict["clip_id"] == "drive"
    assert verdict["sources"]["cam_front"]["timing"]["arrival"]["negative"] == 0


def test_recordings_of_one_name_are_told_apart_and_a_mixed_folder_is_taken_whole(tmp_path):
    folder = tmp_path / "bags"
    for name in ("ros1", "mcap_plain", "sqlite3"):
        write_rig(folder, name)
    done, clips = take_in(folder, tmp_path / "out", stamps_only=True)
    assert done.format == "rosbag"
    assert sorted(clip.clip_id for clip in clips) == ["drive", "drive.bag", "drive.mcap"]


def test_a_file_that_is_no_bag_is_told_in_its_verdict(tmp_path):
    (tmp_path / "a.bag").write_bytes(b"#ROSBAG V1.2\n")
    _, clips = take_in(tmp_path / "a.bag", tmp_path / "out")
    assert any("version 2.0" in finding.message for finding in audit(clips[0]).warnings)


def test_a_missing_package_is_told_with_its_pip_line(tmp_path, monkeypatch):
    source = write_rig(tmp_path, "ros1")
    monkeypatch.setattr("syncaudit.datasets.formats.rosbag.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"'rosbags'.*pip install 'syncaudit\[ros\]'"):
        take_in(source, tmp_path / "out")
