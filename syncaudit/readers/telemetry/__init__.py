"""Read camera motion embedded in videos: gyroscope, accelerometer, GPS speed."""

from __future__ import annotations

from syncaudit.errors import StreamReadError
from syncaudit.readers.telemetry.by_library import maker_of, read_by_library
from syncaudit.readers.telemetry.gpmf import SensorSamples, Telemetry, holds_gpmf, read_gpmf

__all__ = ["SensorSamples", "Telemetry", "holds_telemetry", "read_telemetry"]


def holds_telemetry(path: str) -> bool:
    """Return whether a local video is from a camera that embeds telemetry in its videos."""
    try:
        return holds_gpmf(path) or maker_of(path) is not None
    except (StreamReadError, OSError):
        return False


def read_telemetry(path: str) -> Telemetry | None:
    """Return the telemetry embedded in a local video, or None if there is none.

    StreamReadError if it is not a video. MissingExtraError if the package that reads it is not
    installed.
    """
    found = read_gpmf(path)
    if found is not None:
        return found
    maker = maker_of(path)
    return None if maker is None else read_by_library(path, maker)
