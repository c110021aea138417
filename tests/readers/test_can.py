from __future__ import annotations

import time
from collections.abc import Callable, Mapping
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
from syncaudit.readers.canlog import EXTENDED, frames_of
from syncaudit.readers.dbc import decode, find_signals
from testkit.places import real_recording

Put = Callable[..., str]


DBC = """VERSION ""
BU_: CAR
BO_ 36 MOTION: 8 CAR
 SG_ YawRate : 1|10@0+ (0.25,-125) [0|250] "deg/s" CAR
 SG_ Speed : 16|16@1+ (0.01,0) [0|250] "km/h" CAR
 SG_ Gear : 32|8@1+ (1,0) [0|0] "" CAR
BO_ 2566844885 WHEELS: 8 CAR
 SG_ Left : 8|16@1+ (0.5,0) [0|0] "m/s" CAR
BO_ 64 OTHER: 8 CAR
 SG_ Twice : 0|8@1+ (1,0) [0|0] "" CAR
BO_ 65 MORE: 8 CAR
 SG_ Twice : 0|8@1+ (1,0) [0|0] "" CAR
VAL_ 36 Gear 0 "park" 1 "drive" ;
"""


@pytest.fixture
def bus(put: Put) -> Callable[..., SignalStream]:
    def read(
        log: str | bytes,
        signals: Mapping[str, str] | None = None,
        *,
        name: str = "can.log",
        dbc: str | None = DBC,
    ) -> SignalStream:
        spec = CanSpec(
            uri=put(name, log),
            dbc=None if dbc is None else put("v.dbc", dbc),
            signals={"speed": "Speed"} if signals is None else signals,
        )
        stream = read_source("can", spec)
        assert isinstance(stream, SignalStream)
        return stream

    return read


Bus = Callable[..., SignalStream]


@pytest.mark.parametrize(
    "line",
    [
        "(1767225600.123456) can0 024#0000E80300000000",
        "(1767225600.123456) vcan0 024#0000E80300000000 R",
        "(1767225600.123456)  can0  024   [8]  00 00 E8 03 00 00 00 00",
        "(1767225600.123456)  can0  024   [8]  00 00 E8 03 00 00 00 00   '........'",
        "(1767225600.123456) can0 024##10000E80300000000",
        "(1767225600.123456) can0 024#00.00.E8.03.00.00.00.00\r",
    ],
)
def test_candump_dialects_read_the_same(bus: Bus, line: str) -> None:
    stream = bus(f"{line}\n")
    (channel,) = stream.channels
    assert stream.time_ns.tolist() == [1767225600123456000]
    assert (channel.name, channel.unit, channel.values.tolist()) == ("speed", "km/h", [[10.0]])
    assert stream.findings == ()


@settings(max_examples=30, deadline=None, derandomize=True)
@given(stamp=st.integers(0, 2**63 - 1))
def test_candump_stamps_keep_every_nanosecond(
    tmp_path_factory: pytest.TempPathFactory, stamp: int
) -> None:
    folder = tmp_path_factory.mktemp("log")
    (folder / "v.dbc").write_text(DBC)
    text = f"({stamp // 10**9}.{stamp % 10**9:09d}) can0 024#0000E80300000000\n"
    (folder / "can.log").write_text(text)
    spec = CanSpec(uri="can.log", dbc="v.dbc", signals={"speed": "Speed"})
    assert read_source("can", spec, str(folder)).time_ns.tolist() == [stamp]


def test_each_role_has_the_stamps_of_its_own_message(bus: Bus) -> None:
    log = (
        "(1.000000) can0 024#0000E80300000000\n"
        "(1.100000) can0 700#00\n"
        "(1.200000) can0 18FEF1D5#0002000000000000\n"
        "(1.150000) can0 024#0000D00700000000\n"
    )
    stream = bus(log, {"speed": "MOTION.Speed", "wheel_speed_fl": "Left"})
    speed, wheel = stream.channels
    assert speed.time_ns.tolist() == [1000000000, 1150000000]
    assert wheel.time_ns.tolist() == [1200000000]
    assert stream.time_ns.tolist() == [1000000000, 1200000000, 1150000000]
    assert (wheel.values.tolist(), wheel.unit) == ([[1.0]], "m/s")


def test_enumerations_stay_numbers(bus: Bus) -> None:
    stream = bus("(1.0) can0 024#0000000001000000\n", {"brake": "Gear"})
    assert stream.channels[0].values.tolist() == [[1.0]]


def test_error_and_remote_frames_are_passed_over(bus: Bus) -> None:
    log = (
        "(1.0) can0 20000004#0001000000000000\n(1.1) can0 024#R\n(1.2) can0 024#0000E80300000000\n"
    )
    stream = bus(log)
    assert stream.time_ns.tolist() == [1200000000]
    assert stream.findings == ()


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        ("(1.1) can0 024#0000E8", r"frames too short .* 1 of MOTION"),
        ("(1.1) can0 02", r"the last line \(2\) is cut off"),
        ("garbage\nmore\n(1.2) can0 024#0000E80300000000\n", r"2 of 4 lines are no frames.*line 2"),
    ],
)
def test_damage_of_a_log_is_a_finding(bus: Bus, tail: str, message: str) -> None:
    stream = bus(f"(1.0) can0 024#0000E80300000000\n{tail}")
    (finding,) = stream.findings
    assert finding.code == "corrupt"
    assert finding.source == "can"
    with pytest.raises(ValueError, match=message):
        raise ValueError(finding.message)
    assert stream.channels[0].values[0, 0] == 10.0


@pytest.mark.parametrize(
    ("signals", "code", "message"),
    [
        ({}, "manifest", r"'signals' names no signal"),
        ({"velocity": "Speed"}, "manifest", r"signals\.velocity: there is no such role"),
        ({"Speed": "speed"}, "manifest", r"Turn it round"),
        ({"speed": "Sped"}, "manifest", r"v\.dbc: has no signal 'Sped' .*Did you mean 'Speed'"),
        ({"speed": "MOTION.Sped"}, "manifest", r"Did you mean 'MOTION\.Speed'"),
        ({"speed": "Twice"}, "manifest", r"in 2 messages.*OTHER\.Twice, MORE\.Twice"),
    ],
)
def test_wrong_signals_are_refused_with_a_suggestion(
    bus: Bus, signals: dict[str, str], code: str, message: str
) -> None:
    with pytest.raises(StreamReadError, match=message) as caught:
        bus("(1.0) can0 024#0000E80300000000\n", signals)
    assert caught.value.code == code


def test_dbc_of_another_vehicle_names_both_files(bus: Bus) -> None:
    with pytest.raises(
        StreamReadError, match=r"can\.log: none of its 1 frames \(ids 0x123.*v\.dbc.*0x024"
    ) as caught:
        bus("(1.0) can0 123#00\n")
    assert caught.value.code == "manifest"


def test_role_without_frames_is_an_empty_finding(bus: Bus) -> None:
    stream = bus("(1.0) can0 024#0000E80300000000\n", {"speed": "Speed", "wheel_speed_fl": "Left"})
    (finding,) = stream.findings
    assert finding.code == "empty"
    assert "no frame carries WHEELS.Left (role wheel_speed_fl, id 0x18FEF1D5" in finding.message


@pytest.mark.parametrize(
    ("name", "dbc", "message"),
    [
        ("can.log", None, r"a raw log needs 'dbc'"),
        ("can.csv", DBC, r"a 'dbc' is given, but this is no raw log"),
        ("can.log", "nonsense", r"v\.dbc: is no bus description"),
        ("can.log", 'VERSION ""\n', r"v\.dbc: describes no message"),
    ],
)
def test_log_and_dbc_must_fit(bus: Bus, name: str, dbc: str | None, message: str) -> None:
    with pytest.raises(StreamReadError, match=message):
        bus("(1.0) can0 024#0000E80300000000\n", name=name, dbc=dbc)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("can.log", "no log\n", r"holds no candump line"),
        ("can.log", "(999999999999.0) can0 024#00\n", r"too large for int64"),
        ("can.blf", b"LOGG", r"is no BLF log"),
        ("can.blf", b"LOOG" + bytes(400), r"is no BLF log"),
        ("can.trc", ";$FILEVERSION=2.1\n", r"is no TRC log"),
        ("can.mf4", b"no mdf", r"is no intact MDF"),
        ("can.asc", b"\0" * 50, r"is no ASC text"),
        ("can.asc", "date Sat Foo 30 15:06:13.191 2017\n", r"the date of its header is none"),
        ("can.asc", "base hex  timestamps relative\n", r"stamps are relative to the event before"),
    ],
)
def test_what_is_no_log_is_refused(bus: Bus, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(StreamReadError, match=message):
        bus(content, name=name)


@pytest.mark.parametrize(
    ("date", "start_ns"),
    [
        ("date Thu Jan 1 12:00:00.250 am 2026", 1767225600250000000),
        ("date Don Jan 01 00:00:00 2026", 1767225600000000000),
        ("date Thu Jan 1 01:00:00.000 PM 2026", 1767272400000000000),
        ("date Mit Dez 31 23:59:59.999 2025", 1767225599999000000),
    ],
)
def test_asc_date_is_read_as_utc_wherever_it_runs(
    bus: Bus, monkeypatch: pytest.MonkeyPatch, date: str, start_ns: int
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    text = (
        f"{date}\nbase hex  timestamps absolute\nno internal events logged\n"
        "   0.123457 1  24              Rx   d 8 00 00 E8 03 00 00 00 00\n"
    )
    try:
        stream = bus(text, name="can.asc")
    finally:
        monkeypatch.undo()
        time.tzset()
    assert stream.time_ns.tolist() == [start_ns + 123457000]


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
    frames = frames_of([1], [5], [data], n_total=1, ids_seen=[5])
    expected = cantools.database.load_file(path).decode_message(5, data)["S"]
    assert decode(frames, signal).values.tolist() == [expected]


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
    frames = frames_of(range(len(rows)), [key] * len(rows), rows, n_total=len(rows), ids_seen=[key])
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
        decoded = decode(frames, found[role])
        assert decoded.rows.tolist() == list(expected)
        np.testing.assert_array_equal(decoded.values, list(expected.values()))


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


BUS = 'VERSION ""\nBU_: A\nBO_ 1 M: 8 A\n SG_ S {s} "" A\n SG_ T {t} "" A\n'


@pytest.mark.parametrize(
    ("s", "t", "more", "pattern"),
    [
        (": 0|2000000000@1+ (1,0) [0|1]", ": 8|8@1+ (1,0) [0|1]", "", "2000000000"),
        (": 2000000000|8@1+ (1,0) [0|1]", ": 8|8@1+ (1,0) [0|1]", "", "2000000000"),
        ("m0M : 0|8@1+ (1,0) [0|1]", "m0M : 8|8@1+ (1,0) [0|1]",
         "SG_MUL_VAL_ 1 S T 0-0;\nSG_MUL_VAL_ 1 T S 0-999999999;\n", "pages 0-999999999"),
        ("m0M : 0|8@1+ (1,0) [0|1]", "m0M : 8|8@1+ (1,0) [0|1]",
         "SG_MUL_VAL_ 1 S T 0-0;\nSG_MUL_VAL_ 1 T S 0-0;\n", "round in a circle"),
    ],
)  # fmt: skip
def test_bus_descriptions_without_end_are_refused(s, t, more, pattern, tmp_path):
    (tmp_path / "bus.dbc").write_text(BUS.format(s=s, t=t) + more)
    (tmp_path / "can.log").write_text("(1.0) can0 001#0000000000000000\n" * 3)
    spec = CanSpec(uri="can.log", dbc="bus.dbc", signals={"speed": "S"})
    with pytest.raises(StreamReadError, match=pattern):
        read_source("can", spec, str(tmp_path))
