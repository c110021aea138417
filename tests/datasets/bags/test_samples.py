"""Numbers in messages are read by their layout, whatever it is."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncaudit.datasets import load_manifest
from syncaudit.datasets.bags.layout import LayoutError, lay_out, read_columns
from syncaudit.datasets.bags.topics import Definitions, Topic
from syncaudit.datasets.importing import import_dataset
from syncaudit.pipeline import read_clip
from testkit.bags.writing import FRAME, IMU, JOINTS, START_NS, Messages, Sent, write_bag

TIMES = [START_NS + k * 10_000_000 for k in range(50)]


def types_of(type_name: str, *, is_ros1: bool):
    topic = Topic(name="/t", type_name=type_name, encoding="ros1" if is_ros1 else "cdr")
    return Definitions().of(topic)


def streams_of(tmp_path, sent, messages, **rules):
    write_bag(tmp_path / "a.mcap", sent, messages)
    import_dataset(str(tmp_path / "a.mcap"), tmp_path / "out" / "m.jsonl", rules=rules)
    read = read_clip(load_manifest(str(tmp_path / "out" / "m.jsonl"))[0])
    return read.streams, read.findings


@settings(max_examples=30, deadline=None)
@given(
    is_ros1=st.booleans(),
    frame=st.text(st.characters(codec="ascii", exclude_characters="\0"), max_size=9),
    names=st.lists(st.text("abc", max_size=5), max_size=4),
    position=st.lists(st.floats(allow_nan=False), max_size=5),
)
def test_fields_lie_where_the_formats_own_library_puts_them(is_ros1, frame, names, position):
    messages = Messages(is_ros1=is_ros1)
    joints = messages.joints(START_NS, names, position)
    joints.header.frame_id = frame
    joints.effort = np.array([7.5])
    data = messages.serialize(joints, JOINTS)
    layout = lay_out(data, types_of(JOINTS, is_ros1=is_ros1), JOINTS, is_ros1=is_ros1)
    assert layout.text(data, "header.frame_id") == frame
    assert [layout.text(data, f"name[{k}]") for k in range(len(names))] == names
    _, columns = read_columns([data], layout, ["header.stamp.sec", "position", "effort"])
    assert columns["header.stamp.sec"].tolist() == [[START_NS // 10**9]]
    assert columns["position"].tolist() == [position]
    assert columns["effort"].tolist() == [[7.5]]


def test_definitions_in_idl_are_read():
    idl = (
        "=" * 80 + "\nIDL: my_msgs/msg/Level\n"
        "module my_msgs { module msg { struct Level { double height; int32 number; }; }; };\n"
    )
    topic = Topic(
        name="/t",
        type_name="my_msgs/msg/Level",
        encoding="cdr",
        schema_format="idl",
        schema=idl.encode(),
    )
    data = b"\0\1\0\0" + struct.pack("<di", 2.5, 7)
    layout = lay_out(data, Definitions().of(topic), topic.type_name, is_ros1=False)
    assert layout.number(data, "number") == 7


def test_big_endian_messages_are_read():
    messages = Messages(is_ros1=False)
    joints = messages.joints(START_NS, ["a"], [1.25])
    data = bytes(messages.store.serialize_cdr(joints, JOINTS, little_endian=False))
    layout = lay_out(data, types_of(JOINTS, is_ros1=False), JOINTS, is_ros1=False)
    _, columns = read_columns([data, data], layout, ["header.stamp.nanosec", "position"])
    assert columns["position"].tolist() == [[1.25], [1.25]]
    assert columns["position"].dtype == np.float64


@pytest.mark.parametrize("cut", [0, 3, 7, 15, 17, 30, -1])
def test_a_message_that_is_cut_off_is_refused(cut):
    messages = Messages(is_ros1=False)
    data = messages.serialize(messages.imu(START_NS, (1, 2, 3), (4, 5, 6)), IMU)
    with pytest.raises(LayoutError):
        lay_out(data[:cut], types_of(IMU, is_ros1=False), IMU, is_ros1=False)


def test_a_list_that_claims_more_than_the_message_holds_is_refused():
    messages = Messages(is_ros1=True)
    data = messages.serialize(messages.joints(START_NS, [], []), JOINTS)
    at = 4 + 8 + 4 + len("link")
    with pytest.raises(LayoutError, match="claims 4294967295 items"):
        lay_out(
            data[:at] + struct.pack("<I", 2**32 - 1) + data[at + 4 :],
            types_of(JOINTS, is_ros1=True),
            JOINTS,
            is_ros1=True,
        )


def test_two_publishers_on_one_topic_stay_in_file_order(tmp_path):
    messages = Messages(is_ros1=False)
    sent = [
        Sent(
            "/imu",
            IMU,
            messages.imu(t, (k, 0, 0), (0, 0, 0), frame="left" if k % 3 else "right_imu"),
            t,
        )
        for k, t in enumerate(TIMES)
    ]
    streams, findings = streams_of(tmp_path, sent, messages)
    assert not findings
    assert streams["imu"].time_ns.tolist() == TIMES
    assert streams["imu"].channel("gyro").values[:, 0].tolist() == list(range(50))


def test_sets_of_joints_on_one_topic_are_sources_of_their_own(tmp_path):
    messages = Messages(is_ros1=False)
    sent = [
        Sent("/joint_states", JOINTS, messages.joints(t, names, range(len(names))), t)
        for t, names in zip(TIMES, [("a", "b"), ("grip",)] * 25, strict=True)
    ]
    streams, _ = streams_of(tmp_path, sent, messages)
    assert set(streams) == {"joint_states", "joint_states_2"}
    assert streams["joint_states"].time_ns.tolist() == TIMES[::2]
    assert streams["joint_states_2"].channel("position").values.shape == (25, 1)


def test_an_imu_that_declares_no_accelerometer_has_none(tmp_path):
    messages = Messages(is_ros1=True)
    sent = [
        Sent("/imu", IMU, messages.imu(t, (1, 2, 3), (0, 0, 0), has_accel=False), t) for t in TIMES
    ]
    streams, findings = streams_of(tmp_path, sent, messages)
    assert not findings
    assert [channel.name for channel in streams["imu"].channels] == ["gyro"]


def test_broken_messages_are_counted_and_left_out(tmp_path):
    messages = Messages(is_ros1=False)
    good = messages.serialize(messages.imu(START_NS, (1, 2, 3), (0, 0, 0)), IMU)
    sent = [
        Sent("/imu", IMU, None, t, raw=good if k % 10 else good[:99]) for k, t in enumerate(TIMES)
    ]
    streams, findings = streams_of(tmp_path, sent, messages)
    assert streams["imu"].time_ns.size == 45
    assert [str(f.code) for f in findings] == ["corrupt"]
    assert "5 messages of /imu" in findings[0].message


def test_a_bus_without_a_dbc_is_judged_by_its_stamps(tmp_path):
    messages = Messages(is_ros1=False)
    sent = [Sent("/can", FRAME, messages.can(t, 5, b"\1"), t + 1000) for t in TIMES]
    streams, findings = streams_of(tmp_path, sent, messages)
    assert not findings
    assert streams["can"].kind == "events"
    assert streams["can"].arrivals.receive_ns.tolist() == [t + 1000 for t in TIMES]


@pytest.mark.parametrize(
    ("data", "type_name", "match"),
    [
        (b"\0\3\0\0" + bytes(40), IMU, "it is not plain CDR"),
        (b"\0\1\0\0" + bytes(40), "my_msgs/msg/Nothing", "my_msgs/msg/Nothing is not defined"),
        (b"", IMU, "it is not plain CDR"),
    ],
)
def test_what_cannot_be_laid_out_says_why(data, type_name, match):
    with pytest.raises(LayoutError, match=match):
        lay_out(data, types_of(IMU, is_ros1=False), type_name, is_ros1=False)
