"""Bags in every storage format yield their content, including damaged ones."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest
from rosbags.rosbag1 import Reader as Reader1

from syncaudit.decode import iter_luma
from syncaudit.model import CameraStream, SignalStream
from syncaudit.pipeline import read_clip
from testkit.bags.rig import N_PICTURES, N_SAMPLES, STORAGES, take_in, write_rig
from testkit.bags.writing import arrivals, stamps

DBC = (
    'VERSION ""\nBU_: ECU\nBO_ 291 Motion: 8 ECU\n'
    ' SG_ YawRate : 0|16@1- (0.01,0) [-300|300] "deg/s" ECU\n'
)


@pytest.mark.parametrize("name", sorted(STORAGES))
def test_a_bag_gives_its_sources_with_all_their_stamps(name, tmp_path):
    source = write_rig(tmp_path / "data", name)
    dbc = tmp_path / "vehicle.dbc"
    dbc.write_text(DBC)
    done, clips = take_in(source, tmp_path / "out", dbc=str(dbc), signals={"yaw_rate": "YawRate"})
    assert [clip.clip_id for clip in clips] == ["drive"]
    assert set(clips[0].sources) == {"cam_front", "imu", "joint_states", "can"}
    assert any("/chatter (std_msgs/msg/String): not taken, 1 message" in n for n in done.notes)
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
    """Return where a ROS 1 bag states the position of its index, and that position."""
    at = data.index(b"index_pos=") + len(b"index_pos=")
    return at, int.from_bytes(data[at : at + 8], "little")


@pytest.mark.parametrize("n_zeros", [1, 4, 4096])
def test_zeros_before_the_index_of_a_ros1_bag_are_no_damage(n_zeros, tmp_path):
    """Writers that reserve space leave zeros; all readers find their way by the index."""
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
