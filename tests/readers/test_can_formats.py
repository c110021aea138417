"""Binary logs, decoded tables and real drives agree with other decoders."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import can
import cantools
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncaudit.errors import MissingExtraError, StreamReadError
from syncaudit.model import CanSpec, SignalStream
from syncaudit.readers import read_source
from syncaudit.readers.can import decode, find_signals
from syncaudit.readers.canlog import EXTENDED, frames_of
from testkit.bus_logs import Bus
from testkit.places import real_recording


# python-can writes an MDF through float unix seconds, whose step is 238.4 ns: half a step of the
# start and half a step of the message.
@pytest.mark.parametrize(("name", "step_ns"), [("blf", 1), ("mf4", 239), ("trc", 1000)])
def test_binary_logs_keep_stamps_that_float_seconds_would_lose(
    samples: Mapping[str, Any], tmp_path: Path, name: str, step_ns: int
) -> None:
    stream = read_source("c", samples[f"can .{name}"].put(tmp_path), str(tmp_path))
    assert isinstance(stream, SignalStream)
    wheel = stream.channel("wheel_speed_fl")
    assert wheel is not None
    expected = [1767225600250000000 + k * 10**9 // 64 + 10**9 // 1024 for k in range(0, 10, 2)]
    assert np.abs(wheel.time_ns - np.array(expected)).max() <= step_ns


def test_all_formats_decode_the_same(samples: Mapping[str, Any], tmp_path: Path) -> None:
    found = []
    for name in ("log", "asc", "blf", "trc", "mf4"):
        stream = read_source("c", samples[f"can .{name}"].put(tmp_path), str(tmp_path))
        assert isinstance(stream, SignalStream)
        found.append([(ch.name, ch.unit, ch.values.tolist()) for ch in stream.channels])
    assert all(one == found[0] for one in found)
    assert [len(values) for _, _, values in found[0]] == [10, 5, 10]


def test_undecoded_mdf_without_dbc_asks_for_one(samples: Mapping[str, Any], tmp_path: Path) -> None:
    spec = samples["can .mf4"].changed(dbc=None).put(tmp_path)
    with pytest.raises(StreamReadError, match=r"channel 'YawRate' .*Name the DBC"):
        read_source("c", spec, str(tmp_path))


def test_decoded_mdf_is_read_by_channel_name(tmp_path: Path) -> None:
    asammdf = pytest.importorskip("asammdf")
    mdf = asammdf.MDF()
    stamps = np.array([0.0, 0.1, 0.30000001])
    mdf.append([asammdf.Signal(np.array([1, 2, 3]), stamps, name="V", unit="km/h")])
    mdf.save(tmp_path / "d.mf4")
    start_ns = int(mdf.header.abs_time)
    mdf.close()
    stream = read_source("c", CanSpec(uri=str(tmp_path / "d.mf4"), signals={"speed": "V"}))
    assert isinstance(stream, SignalStream)
    (channel,) = stream.channels
    assert (channel.unit, channel.values[:, 0].tolist()) == ("km/h", [1, 2, 3])
    assert (channel.time_ns - start_ns).tolist() == [0, 100000000, 300000010]


def test_missing_asammdf_gives_the_pip_line(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "asammdf", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'syncaudit\[mdf\]'"):
        bus(b"x", name="can.mf4")


def test_decoded_table_skips_blank_cells_and_keeps_nan(bus: Bus) -> None:
    text = "timestamp_ns,v,w\n5,1.5,\n6,,7\n7,nan,8\n8,,\n"
    stream = bus(text, {"speed": "v", "yaw_rate": "w"}, name="can.csv", dbc=None)
    speed, yaw = stream.channels
    assert (speed.time_ns.tolist(), yaw.time_ns.tolist()) == ([5, 7], [6, 7])
    assert stream.time_ns.tolist() == [5, 6, 7]
    assert speed.unit == ""
    assert [finding.code for finding in stream.findings] == ["non_finite"]


def test_decoded_table_without_a_column_is_refused(bus: Bus) -> None:
    with pytest.raises(StreamReadError, match=r"no column 'x' \(role speed\)"):
        bus("timestamp_ns,v\n5,1\n", {"speed": "x"}, name="can.csv", dbc=None)


def test_decoded_column_that_is_blank_throughout_is_a_finding(bus: Bus) -> None:
    stream = bus("timestamp_ns,v,w\n5,1,\n", {"speed": "w"}, name="can.csv", dbc=None)
    assert [finding.code for finding in stream.findings] == ["empty"]


BITS = st.tuples(
    st.integers(1, 64),
    st.booleans(),
    st.booleans(),
    st.integers(0, 63),
    st.binary(min_size=8, max_size=8),
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(case=BITS)
def test_decoding_equals_cantools(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[int, bool, bool, int, bytes]
) -> None:
    length, is_little, is_signed, start, data = case
    if is_little:
        start %= 64 - length + 1
    elif sum(1 for _ in range(length)) > 63 - (8 * (start // 8) + 7 - start % 8) + 1:
        start = 7
    path = tmp_path_factory.mktemp("dbc") / "v.dbc"
    path.write_text(
        'VERSION ""\nBU_: A\nBO_ 5 M: 8 A\n'
        f" SG_ S : {start}|{length}@{int(is_little)}{'-' if is_signed else '+'} (0.25,-3)"
        ' [0|0] "" A\n'
    )
    signal = find_signals(str(path), {"speed": "S"})["speed"]
    frames = frames_of([1], [5], [data], ["can0"], n_total=1, ids_seen=[5])
    expected = cantools.database.load_file(path).decode_message(5, data)["S"]
    assert decode(frames, signal)[1].tolist() == [expected]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(rows=st.lists(st.binary(max_size=9), min_size=1, max_size=5))
def test_multiplexed_and_float_signals_equal_cantools(
    tmp_path_factory: pytest.TempPathFactory, rows: list[bytes]
) -> None:
    text = (
        'VERSION ""\nBU_: A\nBO_ 2566844885 M: 8 A\n SG_ Page M : 0|1@1+ (1,0) [0|1] "" A\n'
        ' SG_ Real m0 : 8|32@1- (1,0) [0|0] "" A\n SG_ Whole m1 : 8|16@1- (0.5,1) [0|0] "" A\n'
        "SIG_VALTYPE_ 2566844885 Real : 1;\n"
    )
    path = tmp_path_factory.mktemp("dbc") / "v.dbc"
    path.write_text(text)
    database = cantools.database.load_string(text)
    key = 0x18FEF1D5 + EXTENDED
    found = find_signals(str(path), {"speed": "Real", "brake": "Whole"})
    n = len(rows)
    frames = frames_of(range(n), [key] * n, rows, ["can0"] * n, n_total=n, ids_seen=[key])
    for role, name in (("speed", "Real"), ("brake", "Whole")):
        expected = {}
        for row, data in enumerate(rows):
            try:
                values = database.decode_message(
                    0x18FEF1D5, data, allow_truncated=True, decode_choices=False
                )
            except (cantools.database.DecodeError, KeyError, ValueError):
                continue
            if name in values:
                expected[row] = values[name]
        at, decoded, _ = decode(frames, found[role])
        assert at.tolist() == list(expected)
        np.testing.assert_array_equal(decoded, list(expected.values()))


def test_20_s_of_a_busy_bus_read_fast(bus: Bus) -> None:
    lines = [
        f"({1767225600 + k / 1500:.6f}) can0 {k % 15 + 34:03X}#0000E80300000000"
        for k in range(30000)
    ]
    bus(lines[0].replace("022#", "024#"))  # imports and DBC
    start = time.process_time()
    stream = bus("\n".join(lines) + "\n")
    assert time.process_time() - start < 0.5  # seconds of CPU; about 0.06 as measured
    assert len(stream.time_ns) == 2000


@pytest.mark.realdata
def test_real_drive_equals_python_can_and_cantools() -> None:
    folder = real_recording("drive_can_imu")
    signals = {"yaw_rate": "YAW_RATE", "speed": "VEHICLE_SPEED", "steering_angle": "STEER_ANGLE"}
    spec = CanSpec(uri="can.log", dbc="vehicle.dbc", signals=signals)
    stream = read_source("can", spec, str(folder))
    assert isinstance(stream, SignalStream)
    database = cantools.database.load_file(folder / "vehicle.dbc")
    expected: dict[str, list[tuple[int, float]]] = {name: [] for name in signals.values()}
    with can.LogReader(folder / "can.log") as log:
        for message in log:
            if message.arbitration_id not in (36, 37, 180):
                continue
            values = database.decode_message(
                message.arbitration_id, message.data, decode_choices=False
            )
            stamp = round(message.timestamp * 1e6) * 1000
            for name in set(values) & set(expected):
                expected[name].append((stamp, values[name]))
    for role, name in signals.items():
        channel = stream.channel(role)
        assert channel is not None
        assert (
            list(zip(channel.time_ns.tolist(), channel.values[:, 0], strict=True)) == expected[name]
        )
    assert stream.findings == ()
