"""Read the telemetry of DJI, Insta360 and Sony cameras with the library telemetry-parser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from syncaudit.decode.container import open_container
from syncaudit.dsp.attitude import rates_of_attitudes
from syncaudit.errors import MissingExtraError
from syncaudit.readers.telemetry.gpmf import SensorSamples, Telemetry

_PACKAGE = "telemetry_parser"
# Insta360 cameras write this at the end of their files.
_INSTA360 = b"8db42d694ccc418790edff439fe026bf"
# The library pairs the n-th sample of one sensor with the n-th of the other: if more than this
# share of rows lacks one, the two have different rates, and the library's times are wrong.
_MOST_LACKING = 0.01


def maker_of(path: str) -> str | None:
    """Return the maker of the camera if the library reads its telemetry, else None.

    StreamReadError if it is not a video.
    """
    with open_container(path, fast=True) as container:
        handlers = [stream.metadata.get("handler_name", "") for stream in container.streams]
        brand = container.metadata.get("major_brand", "")
    if any("DJI meta" in handler or "CAM meta" in handler for handler in handlers):
        return "DJI"
    if brand.startswith("XAVC"):
        return "Sony"
    with Path(path).open("rb") as file:
        file.seek(max(0, Path(path).stat().st_size - len(_INSTA360)))
        return "Insta360" if file.read() == _INSTA360 else None


def read_by_library(path: str, maker: str) -> Telemetry | None:
    """Return the telemetry of a local video, or None if the library finds no motion in it.

    MissingExtraError if the library is not installed.
    """
    if find_spec(_PACKAGE) is None:
        purpose = f"telemetry of {maker} cameras"
        raise MissingExtraError("telemetry-parser", extra="telemetry", purpose=purpose)
    import telemetry_parser

    try:
        parser = telemetry_parser.Parser(path)
        tables = parser.telemetry(human_readable=False)
        rows = parser.normalized_imu()
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001  # a panic on damaged files is not an Exception
        return None
    sensors = {
        name: found
        for name, key, scale in (("gyro", "gyro", np.pi / 180.0), ("accel", "accl", 1.0))
        if (found := _triple(rows, key, scale)) is not None
    }
    if "gyro" not in sensors and (turned := _rates(tables)) is not None:
        sensors["gyro"] = turned
    if not sensors:
        return None
    model = str(parser.model or "")
    camera = model if model.startswith(maker) else f"{maker} {model}".strip()
    return Telemetry(camera=camera, sensors=sensors, stabilised=_why_stabilised(tables))


def _triple(rows: Sequence[Mapping[str, Any]], key: str, scale: float) -> SensorSamples | None:
    """Return a sensor if it has a sample in nearly every row, else None."""
    known = [row for row in rows if row.get(key) is not None]
    if not known or len(known) < (1.0 - _MOST_LACKING) * len(rows):
        return None
    return SensorSamples(
        times_s=1e-3 * np.array([row["timestamp_ms"] for row in known]),
        values=scale * np.array([row[key] for row in known], dtype=np.float64),
    )


def _rates(tables: Sequence[Mapping[str, Any]]) -> SensorSamples | None:
    """Return the angular rate of a camera that wrote only its attitude, as DJI's do."""
    turns = [each for table in tables for each in table.get("Quaternion", {}).get("Data", ())]
    times_s = 1e-3 * np.array([turn["t"] for turn in turns])
    if times_s.size < 2 or not np.all(np.diff(times_s) > 0.0):
        return None
    quaternions = np.array([[turn["v"][axis] for axis in "xyzw"] for turn in turns])
    middle_s, rates = rates_of_attitudes(times_s, quaternions)
    return SensorSamples(times_s=middle_s, values=rates)


def _why_stabilised(tables: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the evidence that the image was stabilised, or None."""
    said = {key: value for table in tables for key, value in _leaves(table)}
    if said.get("is_flowstate_online") is True:
        return "according to the camera's settings (FlowState)"
    if said.get("eis_status/status"):
        return "according to the camera's settings (EIS)"
    if said.get("Stabilization/Enabled") is True:
        return "according to the camera's settings (Stabilization)"
    return None


def _leaves(tree: Mapping[str, Any], inside: str = "") -> Iterator[tuple[str, object]]:
    """Yield the values of nested tables under their own key, and under ``parent/key``."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, key)
        else:
            yield key, value
            yield f"{inside}/{key}", value
