"""Rules turn messages of unknown types into sources."""

from __future__ import annotations

import numpy as np
import pytest

from syncaudit.datasets import load_manifest
from syncaudit.datasets.importing import import_dataset
from syncaudit.errors import SyncAuditError
from syncaudit.pipeline import read_clip
from testkit.bags.writing import START_NS, Messages, Sent, write_bag

TWIST, FLOATS = "geometry_msgs/msg/TwistStamped", "std_msgs/msg/Float64MultiArray"
TIMES = [START_NS + k * 10_000_000 for k in range(50)]


def twist(messages: Messages, stamp_ns: int, speed: float, yaw: float):
    vector = "geometry_msgs/msg/Vector3"
    return messages.make(
        TWIST,
        header=messages.header(stamp_ns),
        twist=messages.make(
            "geometry_msgs/msg/Twist",
            linear=messages.make(vector, x=speed, y=0.0, z=0.0),
            angular=messages.make(vector, x=0.0, y=0.0, z=yaw),
        ),
    )


def floats(messages: Messages, values):
    layout = messages.make("std_msgs/msg/MultiArrayLayout", dim=[], data_offset=0)
    return messages.make(FLOATS, layout=layout, data=np.array(values, dtype=np.float64))


def drive(messages: Messages) -> list[Sent]:
    sent = []
    for k, t in enumerate(TIMES):
        sent.append(Sent("/car/twist", TWIST, twist(messages, t, 36.0, k / 100), t + 2_000_000))
        sent.append(Sent("/arm/q", FLOATS, floats(messages, [k, 2 * k, 3 * k]), t + 1_000_000))
    return sent


def read(tmp_path, rules, *, is_ros1=False, name="a.mcap"):
    messages = Messages(is_ros1=is_ros1)
    write_bag(tmp_path / name, drive(messages), messages)
    import_dataset(str(tmp_path / name), tmp_path / "out" / "m.jsonl", rules=rules)
    [clip] = load_manifest(str(tmp_path / "out" / "m.jsonl"))
    found = read_clip(clip)
    return clip, found.streams, found.findings


@pytest.mark.parametrize("name", ["a.mcap", "a.bag"])
def test_fields_of_any_message_become_signals_of_a_bus(tmp_path, name):
    rule = {
        "match": "/car/*",
        "kind": "can",
        "name": "vehicle",
        "fields": {"speed": "twist.linear.x", "yaw_rate": "twist.angular.z"},
        "scale": {"speed": 1 / 3.6},
    }
    is_ros1 = name.endswith(".bag")
    clip, streams, findings = read(tmp_path, {"topic": [rule]}, is_ros1=is_ros1, name=name)
    assert list(clip.sources) == ["vehicle"]
    assert not findings
    bus = streams["vehicle"]
    assert bus.kind == "can"
    assert bus.channel("speed").time_ns.tolist() == TIMES
    np.testing.assert_allclose(bus.channel("speed").values.ravel(), 10.0, atol=1e-12)
    np.testing.assert_allclose(bus.channel("yaw_rate").values.ravel(), np.arange(50) / 100)
    assert bus.arrivals.receive_ns.tolist() == [t + 2_000_000 for t in TIMES]


def test_items_of_lists_become_state_and_receive_stamps_say_so(tmp_path):
    rule = {"match": "/arm/q", "kind": "state", "fields": {"elbow": "data[1]", "wrist": "data[2]"}}
    clip, streams, findings = read(tmp_path, {"topic": [rule]})
    assert clip.sources["arm_q"].stamp_kind == "receive"
    state = streams["arm_q"]
    assert state.time_ns.tolist() == [t + 1_000_000 for t in TIMES]
    assert state.channels[0].values[:, 1].tolist() == [3.0 * k for k in range(50)]
    assert "hold no 'header.stamp', so receive timestamps are used" in findings[0].message


def test_the_first_rule_that_matches_counts(tmp_path):
    rules = [
        {"match": "/car/*", "kind": "events"},
        {"match": "*", "kind": "imu", "fields": {f"gyro_{a}": "data[0]" for a in "xyz"}},
    ]
    _, streams, _ = read(tmp_path, {"topic": rules})
    assert streams["car_twist"].kind == "events"
    assert streams["arm_q"].channel("gyro").values[4].tolist() == [4.0, 4.0, 4.0]


def test_messages_without_the_field_are_counted(tmp_path):
    messages = Messages(is_ros1=False)
    sent = [
        Sent("/arm/q", FLOATS, floats(messages, [1.0, 2.0] if k % 10 else [1.0]), t)
        for k, t in enumerate(TIMES)
    ]
    write_bag(tmp_path / "a.mcap", sent, messages)
    rule = {"match": "/arm/q", "kind": "state", "fields": {"q": "data[1]"}}
    import_dataset(str(tmp_path / "a.mcap"), tmp_path / "m.jsonl", rules={"topic": [rule]})
    found = read_clip(load_manifest(str(tmp_path / "m.jsonl"))[0])
    assert found.streams["arm_q"].time_ns.size == 45
    assert any("5 messages of /arm/q cannot be read" in f.message for f in found.findings)


@pytest.mark.parametrize(
    ("rule", "match"),
    [
        (["match"], "topic rule 1 is not a table"),
        ({"kind": "can", "fields": {"speed": "x"}}, "match is None"),
        ({"match": "*", "kind": "car", "fields": {"speed": "x"}}, "kind is 'car'.*can"),
        ({"match": "*", "kind": "can", "field": {}}, "holds 'field'.*fields"),
        ({"match": "*", "kind": "can"}, "has no 'fields'"),
        ({"match": "*", "kind": "events", "fields": {"a": "b"}}, "of kind events has 'fields'"),
        (
            {"match": "*", "kind": "imu", "fields": {"gyro": "b"}},
            "fields.gyro is not an axis.*gyro_",
        ),
        ({"match": "*", "kind": "can", "fields": {"speed": 3}}, "fields.speed is 3"),
        ({"match": "*", "kind": "can", "fields": "speed"}, "fields is 'speed'"),
        (
            {"match": "*", "kind": "can", "fields": {"speed": "a"}, "scale": {"sped": 2}},
            "scale.sped belongs to none of the fields.*speed",
        ),
        (
            {"match": "*", "kind": "can", "fields": {"speed": "a"}, "scale": {"speed": "2"}},
            "scale.speed is '2'.*a number",
        ),
        (
            {"match": "/car/*", "kind": "can", "fields": {"speed": "twist.linear.w"}},
            r"/car/twist .*no number 'twist.linear.w', but .*twist.linear.x",
        ),
        (
            {"match": "/arm/*", "kind": "state", "fields": {"q": "data[3]"}},
            r"no number 'data\[3\]', but .*data\[0..2\]",
        ),
        (
            {"match": "/arm/*", "kind": "state", "fields": {"q": "data"}},
            r"no number 'data', but .*data\[0..2\]",
        ),
        (
            {"match": "/car/*", "kind": "can", "fields": {"sped": "twist.linear.x"}},
            "signals.sped.*speed",
        ),
    ],
)
def test_wrong_rules_are_told(tmp_path, rule, match):
    with pytest.raises(SyncAuditError, match=match):
        read(tmp_path, {"topic": [rule]})


def test_rules_that_are_no_list_are_told(tmp_path):
    with pytest.raises(SyncAuditError, match="Expected tables"):
        read(tmp_path, {"topic": {"match": "*"}})
