"""Adapt tables of phone applications that have no header, or their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from syncaudit.datasets.sidecars import Sidecars
from syncaudit.datasets.source import Source
from syncaudit.errors import ManifestError

__all__ = ["adapt_tables"]

# MARS Logger
_FRAME_STAMPS = {"frame_timestamps.txt": "Frame timestamp[nanosec]"}
# OpenCamera Sensors
_PREFIX = "VID_"
_STAMPS = "timestamp_ns"
# Suffixes of its files, and their columns.
_COLUMNS = {
    "gyro.csv": ("gyro_x", "gyro_y", "gyro_z", _STAMPS),
    "accel.csv": ("accel_x", "accel_y", "accel_z", _STAMPS),
    "_timestamps.csv": (_STAMPS,),
}
_LONGEST_LINE = 1000


def adapt_tables(row: dict[str, Any], source: Source, sidecars: Sidecars) -> None:
    """Name the timestamp column of a source's tables, or rewrite them with the missing header.

    Changes `row`. Tables that cannot be converted are left to their reader to report.
    """
    stamps = _FRAME_STAMPS.get(str(row.get("timestamps", "")).rpartition("/")[2])
    if stamps is not None:
        row.setdefault("stamps", stamps)
    for key in ("uri", "timestamps"):
        name = str(row.get(key, ""))
        columns = next((names for end, names in _COLUMNS.items() if name.endswith(end)), None)
        if columns is None or not name.rpartition("/")[2].startswith(_PREFIX):
            continue
        try:
            text = source.read(name).decode("ascii")
        except (ManifestError, ValueError):
            continue
        if _is_row(text[:_LONGEST_LINE].split("\n")[0], columns):
            row[key] = sidecars.write_text(name, f"{','.join(columns)}\n{text}")


def _is_row(line: str, columns: Sequence[str]) -> bool:
    """Return whether a line holds numbers, not a header."""
    try:
        return len([float(cell) for cell in line.split(",")]) == len(columns)
    except ValueError:
        return False
