"""Inertial, state and event tables."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from syncaudit.errors import StreamReadError
from syncaudit.model import EventsSpec, ImuSpec, SignalStream, StateSpec
from syncaudit.readers import read_source
from testkit.places import real_recording

Put = Callable[..., str]

HEADER = "timestamp_ns,gyro_x,gyro_y,gyro_z,accel_x,accel_y,accel_z\n"


def signals(uri: str, spec: ImuSpec | StateSpec | None = None) -> SignalStream:
    stream = read_source("s", spec or ImuSpec(uri=uri))
    assert isinstance(stream, SignalStream)
    return stream


def test_both_triples_have_their_units_and_values(put: Put) -> None:
    stream = signals(put("i.csv", HEADER + "5,1,2,3,4,5,6\n7,1,2,3,4,5,-9.8\n"))
    gyro, accel = stream.channels
    assert (gyro.name, gyro.unit, accel.name, accel.unit) == ("gyro", "rad/s", "accel", "m/s^2")
    np.testing.assert_array_equal(accel.values, [[4, 5, 6], [4, 5, -9.8]])
    assert gyro.time_ns.tolist() == stream.time_ns.tolist() == [5, 7]


@pytest.mark.parametrize("kind", ["gyro", "accel"])
def test_either_triple_may_be_absent(put: Put, kind: str) -> None:
    stream = signals(put("i.csv", f"timestamp_ns,{kind}_x,{kind}_y,{kind}_z\n5,1,2,3\n"))
    assert [channel.name for channel in stream.channels] == [kind]


def test_disorder_and_duplicates_stay(put: Put) -> None:
    path = put("i.csv", HEADER + "".join(f"{t},1,2,3,4,5,6\n" for t in (9, 5, 5, 7)))
    stream = signals(path)
    assert stream.time_ns.tolist() == [9, 5, 5, 7]
    assert stream.findings == ()


def test_samples_that_are_not_finite_stay_and_are_counted(put: Put) -> None:
    path = put("i.csv", HEADER + "1,1,2,3,4,5,6\n2,nan,2,inf,4,5,6\n3,1,,3,4,5,6\n")
    stream = signals(path)
    (finding,) = stream.findings
    assert (finding.code, finding.value, finding.source) == ("non_finite", 2.0, "s")
    assert "gyro_x, gyro_y, gyro_z" in finding.message
    assert "the first in row 3" in finding.message
    assert stream.channels[0].values.shape == (3, 3)
    assert np.isinf(stream.channels[0].values[1, 2])


@pytest.mark.parametrize("value", ["1.1e30", "-3.4028235e38", "1e308"])
def test_numbers_that_no_sensor_gives_are_counted(put: Put, value: str) -> None:
    path = put("i.csv", HEADER + f"1,1,2,3,4,5,6\n2,1,{value},3,4,5,6\n3,1,1e30,3,4,5,6\n")
    (finding,) = signals(path).findings
    assert (finding.code, finding.value) == ("non_finite", 1.0)
    assert "beyond 1e+30 in gyro_y, the first in row 3" in finding.message


def test_columns_rename_ours_to_theirs(put: Put) -> None:
    path = put("i.csv", "#time,wx,wy,wz\n5,1,2,3\n")
    names = {"timestamp_ns": "#time", "gyro_x": "wx", "gyro_y": "wy", "gyro_z": "wz"}
    assert signals(path, ImuSpec(uri=path, columns=names)).time_ns.tolist() == [5]


@pytest.mark.parametrize(
    ("columns", "code", "message"),
    [
        ({"wx": "gyro_x"}, "manifest", r"renames 'wx'.*Swap them: .*'gyro_x': 'wx'"),
        ({"gyrox": "wx"}, "manifest", r"renames 'gyrox'.*Did you mean 'gyro_x'"),
        ({"gyro_x": "vx"}, "unreadable", r"no column 'vx' \(gyro needs x, y, z.*found: .*, wx, "),
    ],
)
def test_wrong_renames_are_refused(
    put: Put, columns: dict[str, str], code: str, message: str
) -> None:
    path = put("i.csv", "timestamp_ns,wx,gyro_y,gyro_z\n5,1,2,3\n")
    with pytest.raises(StreamReadError, match=message) as caught:
        signals(path, ImuSpec(uri=path, columns=columns))
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("timestamp_ns,gyro_x,gyro_y", r"no column 'gyro_z' \(gyro needs x, y, z in rad/s\)"),
        ("timestamp_ns,a,b", r"neither gyro_x/y/z nor accel_x/y/z.*found: timestamp_ns, a, b"),
        ("time,gyro_x,gyro_y", r"no column 'timestamp_ns'"),
    ],
)
def test_missing_columns_are_named(put: Put, header: str, message: str) -> None:
    with pytest.raises(StreamReadError, match=message):
        signals(put("i.csv", f"{header}\n1,2,3\n"))


def test_lists_are_no_inertial_columns(tmp_path: Path) -> None:
    columns = {f"gyro_{axis}": pa.array([[1.0, 2.0]]) for axis in "xyz"}
    sink = io.BytesIO()
    pq.write_table(pa.table({"timestamp_ns": [1], **columns}), sink)
    path = tmp_path / "i.parquet"
    path.write_bytes(sink.getvalue())
    with pytest.raises(StreamReadError, match="holds lists"):
        signals(str(path))


def test_a_table_without_header_is_told_as_such(put: Put) -> None:
    path = put("i.csv", "1767225600000000000,0.1,-2e-3,0.3\n")
    with pytest.raises(StreamReadError, match=r"begins with a row of numbers.*Write the names"):
        signals(path)


def test_header_alone_is_an_empty_stream(put: Put) -> None:
    stream = signals(put("i.csv", HEADER))
    assert [finding.code for finding in stream.findings] == ["empty"]
    assert stream.channels[0].values.shape == (0, 3)


def test_state_groups_columns_into_channels(put: Put) -> None:
    path = put("q.csv", "timestamp_ns,q0,q1,g\n5,1,2,3\n6,1,2,nan\n")
    groups = {"q": ["q1", "q0"], "gripper": ["g"]}
    stream = signals(path, StateSpec(uri=path, columns=groups))
    np.testing.assert_array_equal(stream.channels[0].values, [[2, 1], [2, 1]])
    assert stream.channels[1].name == "gripper"
    assert [finding.code for finding in stream.findings] == ["non_finite"]


def test_state_without_groups_takes_every_column_but_counters(put: Put) -> None:
    path = put("q.csv", "frame_index,timestamp_ns,q0,q1\n0,5,1,2\n")
    stream = signals(path, StateSpec(uri=path))
    assert [channel.name for channel in stream.channels] == ["q0", "q1"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"q": ["q9"]}, r"no column 'q9' \(group 'q'\)"),
        ({"q": []}, r"no state column"),
        ({"q": ["q0"], "r": []}, r"group 'r' of 'columns' names no column"),
    ],
)
def test_wrong_groups_are_refused(put: Put, columns: dict[str, list[str]], message: str) -> None:
    path = put("q.csv", "timestamp_ns,q0\n5,1\n")
    with pytest.raises(StreamReadError, match=message):
        signals(path, StateSpec(uri=path, columns=columns))


def test_events_keep_their_order(put: Put) -> None:
    path = put("e.csv", "timestamp_ns,line\n9,1\n3,1\n")
    assert read_source("e", EventsSpec(uri=path)).time_ns.tolist() == [9, 3]


def test_events_without_rows_are_an_empty_finding(put: Put) -> None:
    stream = read_source("e", EventsSpec(uri=put("e.csv", "timestamp_ns\n")))
    assert [finding.code for finding in stream.findings] == ["empty"]


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("file", "n_samples", "first_ns"),
    [
        ("two_imus/mcu.csv", 4883, 1264250902773),
        ("two_imus/phone.csv", 4883, 949113215987860),
        ("phone_gyro/imu.csv", 3874, 4328040691172000),
        ("drive_can_imu/imu.csv", 3128, 46408580034294),
    ],
)
def test_real_inertial_files(file: str, n_samples: int, first_ns: int) -> None:
    path = real_recording(file)
    stream = signals(str(path))
    assert (len(stream.time_ns), stream.time_ns[0]) == (n_samples, first_ns)
    assert stream.findings == ()


def test_state_carries_what_the_manifest_says_of_it(put: Put) -> None:
    path = put("s.csv", "timestamp_ns,q\n5,1\n7,2\n")
    told = signals(path, StateSpec(uri=path, is_command=True, is_rate=False))
    assert (told.is_command, told.is_rate) == (True, False)
    silent = signals(path, StateSpec(uri=path))
    assert (silent.is_command, silent.is_rate) == (None, None)
