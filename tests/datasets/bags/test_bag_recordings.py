"""Which files form one recording, which topics are its sources, and what is noted of the rest."""

from __future__ import annotations

import json
import shutil

import pyarrow.parquet as pq
import pytest

from syncaudit.errors import ManifestError, MissingExtraError, SyncAuditError
from syncaudit.model import Verdict
from syncaudit.pipeline import audit, read_clip
from testkit.bags.rig import N_PICTURES, N_SAMPLES, rig, take_in, write_rig
from testkit.bags.writing import IMU, Messages, Sent, arrivals, stamps, write_bag
from testkit.command_line import run_command


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
    assert [str(finding.code) for finding in verdict.reasons] == ["corrupt"]
    assert any(file.name.removesuffix(".zstd") in f.message for f in verdict.reasons)


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
    outcome = run_command("validate", source, "--out", tmp_path / "out", "--workers", 0)
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
    assert any("version 2.0" in finding.message for finding in audit(clips[0]).reasons)


def test_a_missing_package_is_told_with_its_pip_line(tmp_path, monkeypatch):
    source = write_rig(tmp_path, "ros1")
    monkeypatch.setattr("syncaudit.datasets.formats.rosbag.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"'rosbags'.*pip install 'syncaudit\[ros\]'"):
        take_in(source, tmp_path / "out")
