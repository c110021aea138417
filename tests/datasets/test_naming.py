from __future__ import annotations

import pytest

from syncaudit.datasets.naming import DEFAULT_RULES, name_sources, parse_rules
from syncaudit.datasets.starter_rules import messages_in_dbc, roles_of
from syncaudit.errors import UsageError


def kinds(names):
    found = name_sources(names, DEFAULT_RULES)
    return {title: row["kind"] for title, row in found.sources.items()}, found


def test_names_tell_what_files_are():
    names = ["cam_a.mp4", "cam_a.csv", "imu_left.csv", "mic1.wav", "mic1.TextGrid", "trigger.csv"]
    names += ["joints.parquet", "notes.txt", "can_log.csv", "frames/"]
    found, named = kinds(names)
    assert found == {
        "cam_a": "camera",
        "imu_left": "imu",
        "mic1": "audio",
        "mic1_text": "transcript",
        "trigger": "events",
        "joints": "state",
        "can_log": "can",
    }
    assert named.sources["cam_a"]["timestamps"] == "cam_a.csv"
    assert named.sources["mic1_text"]["audio"] == "mic1"
    assert named.ignored == ("notes.txt", "frames/")


def test_the_nearest_stamp_table_is_taken_and_is_no_source():
    found, named = kinds(["imu.mp4", "imu.csv"])
    assert found == {"imu": "camera"}
    assert named.sources["imu"]["timestamps"] == "imu.csv"


def test_a_stem_with_wildcards_is_text():
    _, named = kinds(["cam[1].mp4", "cam1.csv", "cam[1].csv"])
    assert named.sources["cam[1]"]["timestamps"] == "cam[1].csv"


def test_folders_of_images_are_cameras():
    found, named = kinds(["cam_top/", "cam_top.csv"])
    assert found == {"cam_top": "camera"}
    assert named.sources["cam_top"] == {
        "uri": "cam_top",
        "kind": "camera",
        "timestamps": "cam_top.csv",
    }


def test_the_dbc_may_lie_beside_the_clips():
    _, named = kinds(["can0.log", "../vehicle.dbc"])
    assert named.sources["can0"]["dbc"] == "../vehicle.dbc"
    assert named.ignored == ()


def test_a_transcript_without_sound_is_no_source():
    found, named = kinds(["a.TextGrid", "a.mp4"])
    assert found == {"a": "camera"}
    assert named.ignored == ("a.TextGrid",)


def test_equal_stems_are_numbered():
    found, _ = kinds(["mic.wav", "mic.mp3"])
    assert found == {"mic": "audio", "mic_2": "audio"}


def test_own_rules_replace_the_defaults():
    rules = parse_rules(
        {"source": [{"match": "*.dat", "kind": "imu", "name": "body", "columns": {"gyro_x": "x"}}]}
    )
    found = name_sources(["1.dat", "cam.mp4"], rules)
    assert found.sources == {"body": {"uri": "1.dat", "kind": "imu", "columns": {"gyro_x": "x"}}}
    assert found.ignored == ("cam.mp4",)


@pytest.mark.parametrize(
    ("content", "pattern"),
    [
        ({"sources": []}, "the rules hold the unknown key 'sources'"),
        ({"source": []}, "no list 'source'"),
        ({"source": ["x"]}, "rule 1 is not a table"),
        ({"source": [{"kind": "imu"}]}, "rule 1 has no 'match'"),
        ({"source": [{"match": "*", "kind": "imo"}]}, "kind is 'imo'.*'imu'"),
        ({"source": [{"match": "*", "kind": "imu", "name": 3}]}, "name is 3, expected text"),
        (
            {"source": [{"match": "*", "kind": "camera", "timestamps": [7]}]},
            r"rule 1: timestamps is \[7\], expected a glob or a list of them",
        ),
        (
            {"source": [{"match": "*", "kind": "can", "dbc": {}}]},
            r"rule 1: dbc is \{\}, expected a glob",
        ),
    ],
)
def test_wrong_rules_are_told(content, pattern):
    with pytest.raises(UsageError, match=pattern):
        parse_rules(content)


def test_signals_are_known_by_their_names():
    names = ["VehicleSpeed", "YawRate", "SteeringWheelAngle", "BrakePressure", "WheelSpeed_FL"]
    names += ["lateral_accel", "StrobeCount", "EngineRPM", "WHL_SPD_RR", "SPEED"]
    assert roles_of(names) == {
        "speed": "VehicleSpeed",
        "yaw_rate": "YawRate",
        "steering_angle": "SteeringWheelAngle",
        "brake": "BrakePressure",
        "wheel_speed_fl": "WheelSpeed_FL",
        "wheel_speed_rr": "WHL_SPD_RR",
        "lateral_accel": "lateral_accel",
        "strobe": "StrobeCount",
    }


def test_names_of_a_dbc_are_in_its_order():
    dbc = (
        b'BO_ 1 M: 8 E\n SG_ B : 0|8@1+ (1,0) [0|1] "\xb0" E\n SG_ A m0 : 8|8@1+ (1,0) [0|1] "" E\n'
    )
    assert messages_in_dbc(dbc) == {1: ("M", ["B", "A"])}
