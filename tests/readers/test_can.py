"""Text logs of a bus are decoded by their DBC, and faults of either are reported."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncaudit.errors import StreamReadError
from syncaudit.model import CanSpec
from syncaudit.readers import read_source
from testkit.bus_logs import DBC, Bus


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


def test_identifier_on_two_buses_is_read_on_the_one_with_most_frames(bus: Bus) -> None:
    log = (
        "(1.000000) can1 024#0000A00F00000000\n"
        "(1.000000) can0 024#0000E80300000000\n"
        "(1.100000) can1 024#0000A00F00000000\n"
        "(1.200000) can1 024#0000D00700000000\n"
    )
    stream = bus(log)
    assert stream.time_ns.tolist() == [1000000000, 1100000000, 1200000000]
    assert stream.channels[0].values.tolist() == [[40.0], [40.0], [20.0]]
    (finding,) = stream.findings
    assert "frames 0x024 were received on can1, can0; only those on can1 are read" in (
        finding.message
    )


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
        ("(1.1) can0 024#0000E8\n", r"frames too short .* 1 of MOTION"),
        ("(1.1) can0 024#0000E8", r"the last line \(2\) is cut off"),
        ("(1.1) can0 024#0000E803000000", r"the last line \(2\) is cut off"),
        ("(1.1) can0 024#", r"the last line \(2\) is cut off"),
        ("(1.1)  can0  024   [8]  00 00 E8 03 00", r"the last line \(2\) is cut off"),
        ("(1.1) can0 02", r"the last line \(2\) is cut off"),
        (
            "garbage\nmore\n(1.2) can0 024#0000E80300000000\n",
            r"2 of 4 lines are not frames.*line 2",
        ),
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


def test_log_without_a_final_newline_is_complete(bus: Bus) -> None:
    stream = bus("(1.0) can0 024#0000E80300000000\n(1.1) can0 024#0000E80300000000")
    assert stream.findings == ()
    assert stream.time_ns.size == 2


@pytest.mark.parametrize(
    ("signals", "code", "message"),
    [
        ({}, "manifest", r"'signals' names no signal"),
        ({"velocity": "Speed"}, "manifest", r"signals\.velocity: there is no such role"),
        ({"Speed": "speed"}, "manifest", r"Swap them"),
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
        ("can.csv", DBC, r"a 'dbc' is given, but this is not a raw log"),
        ("can.log", "nonsense", r"v\.dbc: is not a bus description"),
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
        ("can.blf", b"LOGG", r"is not a BLF log"),
        ("can.blf", b"LOOG" + bytes(400), r"is not a BLF log"),
        ("can.trc", ";$FILEVERSION=2.1\n", r"is not a TRC log"),
        ("can.mf4", b"no mdf", r"is not an intact MDF"),
        ("can.asc", b"\0" * 50, r"is not ASC text"),
        ("can.asc", "date Sat Foo 30 15:06:13.191 2017\n", r"the date in its header is invalid"),
        (
            "can.asc",
            "base hex  timestamps relative\n",
            r"timestamps are relative to the previous event",
        ),
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


BUS = 'VERSION ""\nBU_: A\nBO_ 1 M: 8 A\n SG_ S {s} "" A\n SG_ T {t} "" A\n'


@pytest.mark.parametrize(
    ("s", "t", "more", "pattern"),
    [
        (": 0|2000000000@1+ (1,0) [0|1]", ": 8|8@1+ (1,0) [0|1]", "", "2000000000"),
        (": 2000000000|8@1+ (1,0) [0|1]", ": 8|8@1+ (1,0) [0|1]", "", "2000000000"),
        ("m0M : 0|8@1+ (1,0) [0|1]", "m0M : 8|8@1+ (1,0) [0|1]",
         "SG_MUL_VAL_ 1 S T 0-0;\nSG_MUL_VAL_ 1 T S 0-999999999;\n", "pages 0-999999999"),
        ("m0M : 0|8@1+ (1,0) [0|1]", "m0M : 8|8@1+ (1,0) [0|1]",
         "SG_MUL_VAL_ 1 S T 0-0;\nSG_MUL_VAL_ 1 T S 0-0;\n", "form a loop"),
    ],
)  # fmt: skip
def test_bus_descriptions_without_end_are_refused(s, t, more, pattern, tmp_path):
    (tmp_path / "bus.dbc").write_text(BUS.format(s=s, t=t) + more)
    (tmp_path / "can.log").write_text("(1.0) can0 001#0000000000000000\n" * 3)
    spec = CanSpec(uri="can.log", dbc="bus.dbc", signals={"speed": "S"})
    with pytest.raises(StreamReadError, match=pattern):
        read_source("can", spec, str(tmp_path))
