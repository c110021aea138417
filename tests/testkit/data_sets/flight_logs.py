"""Autopilot logs, ULog of PX4 and DataFlash of ArduPilot, written to their specifications."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_FMT = "BBnNZ"
_DF_CODES = {"Q": "Q", "B": "B", "f": "f"}
_GYRO = ("timestamp", "timestamp_sample", "x", "y", "z")


def _message(kind: str, content: bytes) -> bytes:
    return struct.pack("<HB", len(content), ord(kind)) + content


def ulog_of(
    topics: Mapping[tuple[str, int], Mapping[str, NDArray[np.generic]]],
    *,
    dropouts_ms: tuple[int, ...] = (),
) -> bytes:
    """Return a ULog (docs.px4.io, ULog File Format) of topics by name and sensor number.

    Integer columns are microseconds, all others floats.
    """
    parts = [b"ULog\x01\x12\x35\x01" + struct.pack("<Q", 0), _message("B", bytes(40))]
    for name, columns in {topic: columns for (topic, _), columns in topics.items()}.items():
        fields = ";".join(
            f"{'uint64_t' if values.dtype.kind == 'i' else 'float'} {column}"
            for column, values in columns.items()
        )
        parts.append(_message("F", f"{name}:{fields};".encode()))
    for number, (name, multi) in enumerate(topics):
        parts.append(_message("A", struct.pack("<BH", multi, number) + name.encode()))
    for number, columns in enumerate(topics.values()):
        row = "<H" + "".join("Q" if c.dtype.kind == "i" else "f" for c in columns.values())
        cells = zip(*(values.tolist() for values in columns.values()), strict=True)
        parts += [_message("D", struct.pack(row, number, *each)) for each in cells]
    parts += [_message("O", struct.pack("<H", duration)) for duration in dropouts_ms]
    return b"".join(parts)


def gyro_topic(sampled_us: NDArray[np.int64], rates: NDArray[np.float64]) -> dict[str, NDArray]:
    """Return the columns of ``sensor_gyro``, published half a millisecond later."""
    columns = (sampled_us + 500, sampled_us, *rates.T)
    return dict(zip(_GYRO, columns, strict=True))


def dataflash_of(messages: Mapping[str, tuple[str, str, NDArray[np.float64]]]) -> bytes:
    """Return a DataFlash log of messages: name to format, columns and rows."""
    parts = [_format(0x80, 89, "FMT", _FMT, "Type,Length,Name,Format,Columns")]
    for number, (name, (codes, columns, rows)) in enumerate(messages.items(), start=1):
        layout = "<" + "".join(_DF_CODES[code] for code in codes)
        parts.append(_format(number, 3 + struct.calcsize(layout), name, codes, columns))
        for row in rows.tolist():
            cells = [c if code == "f" else int(c) for code, c in zip(codes, row, strict=True)]
            parts.append(b"\xa3\x95" + bytes([number]) + struct.pack(layout, *cells))
    return b"".join(parts)


def _format(number: int, length: int, name: str, codes: str, columns: str) -> bytes:
    body = struct.pack(
        "<BB4s16s64s", number, length, name.encode(), codes.encode(), columns.encode()
    )
    return b"\xa3\x95\x80" + body


def imu_messages(n: int = 50) -> dict[str, tuple[str, str, NDArray[np.float64]]]:
    """Return filtered samples of two sensors at 50 Hz."""
    times = np.repeat(20_000.0 * np.arange(1, n + 1), 2)
    number = np.tile([0.0, 1.0], n)
    rows = np.column_stack([times, number, *[np.full(2 * n, k / 10) for k in range(6)]])
    return {"IMU": ("QBffffff", "TimeUS,I,GyrX,GyrY,GyrZ,AccX,AccY,AccZ", rows)}


def write_ulog(folder: Path, n_clips: int) -> Path:
    root = folder / "log"
    for number in range(n_clips):
        path = root / "2026-07-01" / f"10_{number:02d}_00.ulg"
        path.parent.mkdir(parents=True, exist_ok=True)
        stamps = 4_000 * np.arange(50)
        gyros = {("sensor_gyro", k): gyro_topic(stamps, np.full((50, 3), 0.1)) for k in (0, 1)}
        path.write_bytes(ulog_of(gyros))
    return root


def write_ardupilot(folder: Path, n_clips: int) -> Path:
    root = folder / "LOGS"
    root.mkdir(parents=True)
    for number in range(n_clips):
        (root / f"{number + 1:08d}.BIN").write_bytes(dataflash_of(imu_messages()))
    return root
