"""Write vehicle buses with corrected timestamps: raw logs as candump text, others as a table."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import numpy as np

from syncaudit.errors import StreamReadError
from syncaudit.model import CanSpec
from syncaudit.model.arrays import Ints
from syncaudit.model.units import si_per_unit
from syncaudit.readers.buslogs import RAW_LOGS
from syncaudit.readers.can import read_can
from syncaudit.readers.canlog import EXTENDED, BusFrames
from syncaudit.readers.columns import STAMPS
from syncaudit.readers.uris import read_bytes
from syncaudit_calibration.apply.tables import restamp_table
from syncaudit_calibration.apply.task import Task, Written, no_stamps, parquet_bytes, put

_STAMP = re.compile(rb"^([ \t]*\()(\d{1,12})\.(\d{1,9})(\))", re.MULTILINE)


def write_can(task: Task, spec: CanSpec) -> Written:
    """Write a bus with corrected timestamps.

    In candump text, only the digits of the timestamps change, and their number stays: a timestamp
    in microseconds remains one. Other logs (ASC, BLF, TRC, MDF bus logging) become candump text
    with all their data frames; MDF files of decoded signals become a Parquet table. The DBC and the
    signals stay. StreamReadError if the log or the table cannot be read.
    """
    uri = task.resolve(spec.uri)
    suffix = PurePosixPath(uri.split("::")[0]).suffix.lower()
    if suffix not in RAW_LOGS:
        return restamp_table(task, uri)
    if suffix in (".mf4", ".mdf") and spec.dbc is None:
        return _write_decoded(task, spec)
    return _restamp_candump(task, uri) if suffix == ".log" else _write_candump(task, uri, suffix)


def _restamp_candump(task: Task, uri: str) -> Written:
    data = read_bytes(uri)
    found = list(_STAMP.finditer(data))
    if not found:
        RAW_LOGS[".log"](uri, (), task.scratch)  # raises an error if the log is damaged
        raise no_stamps(uri)
    stamps = [int(m[2]) * 10**9 + int(m[3].ljust(9, b"0")) for m in found]
    _check_range(uri, max(stamps))
    correction, remarks = task.settled(stamps[0])
    parts: list[bytes] = []
    end = 0
    corrected = correction.apply(np.array(stamps, dtype=np.int64)).tolist()
    _check_range(uri, min(corrected))
    for match, stamp in zip(found, corrected, strict=True):
        parts += (data[end : match.start()], match[1], _digits(stamp, match), match[4])
        end = match.end()
    path = put(task.beside(".log"), b"".join((*parts, data[end:])))
    return Written(correction=correction, files={"uri": path}, remarks=remarks)


def _digits(stamp_ns: int, old: re.Match[bytes]) -> bytes:
    """Format a timestamp with as many digits after the decimal point as the old one had."""
    n_digits = len(old[3])
    step = 10 ** (9 - n_digits)
    seconds, fraction = divmod((stamp_ns + step // 2) // step, 10**n_digits)
    return b"%0*d.%0*d" % (len(old[2]), seconds, n_digits, fraction)


def _check_range(uri: str, stamp_ns: int) -> None:
    if not 0 <= stamp_ns < 2**63:
        raise StreamReadError(
            f"a stamp of {stamp_ns * 1e-9:.6f} s cannot be written to a candump log",
            code="corrupt",
            path=uri,
            hint="Such a log counts seconds from 1970 and cannot hold negative times: export a "
            "table with 'timestamp_ns'.",
        )


def _write_candump(task: Task, uri: str, suffix: str) -> Written:
    ids = RAW_LOGS[suffix](uri, (), task.scratch).ids_seen
    frames = RAW_LOGS[suffix](uri, ids, task.scratch)
    if not frames.time_ns.size:
        raise StreamReadError("holds no frames", code="empty", path=uri, hint="Record it again.")
    correction, remarks = task.settled(int(frames.time_ns[0]))
    corrected = correction.apply(frames.time_ns)
    _check_range(uri, int(corrected.min()))
    path = put(task.beside(".log"), _candump(frames, corrected))
    return Written(
        correction=correction,
        files={"uri": path},
        remarks=(
            *remarks,
            f"{suffix} was written as candump .log with its data frames",
            *(finding.message for finding in frames.findings),
        ),
    )


def _candump(frames: BusFrames, stamps: Ints) -> bytes:
    lines: list[str] = []
    rows = zip(stamps.tolist(), frames.ids.tolist(), frames.lengths.tolist(), strict=True)
    for row, (stamp, key, length) in enumerate(rows):
        seconds, fraction = divmod(stamp, 10**9)
        name = f"{key - EXTENDED:08X}" if key >= EXTENDED else f"{key:03X}"
        mark = "#" if length <= 8 else "##0"  # the longer ones are CAN FD
        data = frames.payload[row, :length].tobytes().hex().upper()
        lines.append(f"({seconds:010d}.{fraction:09d}) can0 {name}{mark}{data}\n")
    return "".join(lines).encode("ascii")


def _write_decoded(task: Task, spec: CanSpec) -> Written:
    """Write decoded signals as a table: one row per sample, blank where a signal has none."""
    import pyarrow as pa

    stream = read_can(task.name, spec, task.base_uri, scratch=task.scratch)
    channels = [channel for channel in stream.channels if channel.time_ns.size]
    if not channels:
        raise StreamReadError("holds no samples", code="empty", path=stream.uri)
    time_ns = np.concatenate([channel.time_ns for channel in channels])
    correction, remarks = task.settled(int(time_ns[0]))
    if all(bool(np.all(np.diff(channel.time_ns) >= 0)) for channel in channels):
        order = np.argsort(time_ns, kind="stable")
    else:
        order = np.arange(time_ns.size)  # keep unordered timestamps: they are a defect to report
    columns: dict[str, pa.Array] = {STAMPS: pa.array(correction.apply(time_ns[order]))}
    start = 0
    for channel in channels:
        stop = start + channel.time_ns.size
        values, is_blank = np.zeros(time_ns.size), np.ones(time_ns.size, dtype=np.bool_)
        # A table states no unit and is read as SI.
        si = si_per_unit(channel.unit) or 1.0
        values[start:stop] = si * channel.values[:, 0]
        is_blank[start:stop] = False
        columns[channel.name] = pa.array(values[order], mask=is_blank[order])
        start = stop
    path = put(task.beside(".parquet"), parquet_bytes(pa.table(columns)))
    return Written(
        correction=correction,
        files={"uri": path},
        fields={
            "dbc": None,
            "signals": {channel.name: channel.name for channel in channels},
            "units": None,  # the table is in SI units
        },
        remarks=(*remarks, "decoded signals were written as Parquet, in SI units"),
    )
