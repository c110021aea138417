"""Recordings of the Lab Streaming Layer, written according to the specification of XDF 1.0."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

GYRO = ("gyro_x", "gyro_y", "gyro_z")


def _chunk(tag: int, content: bytes) -> bytes:
    return b"\x04" + struct.pack("<IH", 2 + len(content), tag) + content


def header() -> bytes:
    return b"XDF:" + _chunk(1, b"<?xml version='1.0'?><info><version>1.0</version></info>")


def stream(
    number: int,
    name: str,
    kind: str,
    times_s: NDArray[np.float64],
    values: NDArray[np.float64] | Sequence[str],
    *,
    labels: Sequence[str] = (),
    unit: str = "",
    clock: Sequence[tuple[float, float]] = ((0.0, 0.0), (100.0, 0.0)),
) -> bytes:
    """Return a stream of samples with clock measurements (time, offset)."""
    is_text = isinstance(values, list)
    n_channels = 1 if is_text else values.shape[1]
    channels = "".join(
        f"<channel><label>{label}</label><unit>{unit}</unit></channel>" for label in labels
    )
    said = (
        f"<info><name>{name}</name><type>{kind}</type><channel_count>{n_channels}</channel_count>"
        f"<nominal_srate>{0 if is_text else 100}</nominal_srate>"
        f"<channel_format>{'string' if is_text else 'double64'}</channel_format>"
        f"<desc><channels>{channels}</channels></desc></info>"
    )
    own = struct.pack("<I", number)
    samples = b""
    for time_s, row in zip(times_s.tolist(), values, strict=True):
        samples += b"\x08" + struct.pack("<d", time_s)
        if is_text:
            samples += b"\x01" + bytes([len(row)]) + row.encode()
        else:
            samples += np.asarray(row, dtype="<f8").tobytes()
    parts = [_chunk(2, own + said.encode())]
    parts.append(_chunk(3, own + b"\x04" + struct.pack("<I", len(times_s)) + samples))
    parts += [_chunk(4, own + struct.pack("<dd", *pair)) for pair in clock]
    parts.append(_chunk(6, own + b"<info><sample_count>0</sample_count></info>"))
    return b"".join(parts)


def write_xdf(folder: Path, n_clips: int) -> Path:
    """Write recordings of a gyroscope and of markers."""
    root = folder / "lab"
    times_s = 10.0 + np.arange(50) / 100
    for number in range(n_clips):
        path = root / f"sub-{number:03d}" / "eeg" / "run.xdf"
        path.parent.mkdir(parents=True)
        gyro = stream(1, "Head", "IMU", times_s, np.full((50, 3), 0.1), labels=GYRO)
        marks = stream(2, "Marks", "Markers", times_s[:2], ["go", "stop"])
        path.write_bytes(header() + gyro + marks)
    return root
