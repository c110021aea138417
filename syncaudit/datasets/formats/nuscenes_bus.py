"""Convert the CAN bus expansion of nuScenes, JSON messages per scene, to tables.

Every message has `utime`, Unix microseconds of the measurement; for ``zoesensors`` and
``zoe_veh_info`` it is the time of reception instead (README of the expansion).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.datasets.protocol import Import
from syncaudit.datasets.source import Source
from syncaudit.errors import ManifestError
from syncaudit.model import CanSpec, ImuSpec, SourceSpec, StateSpec

_KMH = 1 / 3.6
_DEGREES = math.pi / 180
_G = 9.80665
_XYZ = ("x", "y", "z")
_WHEELS = ("fl", "fr", "rl", "rr")


@dataclass(frozen=True, slots=True)
class _Message:
    """Rule that turns a message into a source."""

    kind: str
    # table column to (message key, factor to SI units); vectors are spread over columns
    columns: Mapping[str, tuple[str, float]]
    is_received: bool = False  # timestamps are reception times


_POSE = ("pos", "orientation", "vel", "accel", "rotation_rate")
_MESSAGES: Mapping[str, _Message] = MappingProxyType(
    {
        "ms_imu": _Message("imu", {"gyro": ("rotation_rate", 1.0), "accel": ("linear_accel", 1.0)}),
        "pose": _Message("state", {name: (name, 1.0) for name in _POSE}),
        "steeranglefeedback": _Message("can", {"steering_angle": ("value", 1.0)}),
        "vehicle_monitor": _Message(
            "can",
            {
                "speed": ("vehicle_speed", _KMH),
                "yaw_rate": ("yaw_rate", _DEGREES),
                "steering_angle": ("steering", _DEGREES),
                "brake": ("brake", 1.0),
            },
        ),
        "zoesensors": _Message(
            "can",
            {"brake": ("brake_sensor", 1.0), "steering_angle": ("steering_sensor", 1.0)},
            is_received=True,
        ),
        "zoe_veh_info": _Message(
            "can",
            {
                "speed": ("odom_speed", _KMH),
                **{f"wheel_speed_{w}": (f"{w.upper()}_wheel_speed", 1.0) for w in _WHEELS},
                "long_accel": ("longitudinal_accel", 1.0),
                "lateral_accel": ("transversal_accel", _G),
                "steering_angle": ("steer_corrected", _DEGREES),
            },
            is_received=True,
        ),
    }
)


def bus_sources(root: Source, scene: str, job: Import) -> dict[str, SourceSpec]:
    """Return the sources of a scene in the expansion; {} without the expansion."""
    sources: dict[str, SourceSpec] = {}
    for message, rule in _MESSAGES.items():
        name = f"can_bus/{scene}_{message}.json"
        if not root.has(name):
            continue
        try:
            columns = _table(root, name, rule)
        except ManifestError as error:
            job.note(f"cannot convert {error}")
            # Named unconverted, so that the audit of this clip reports the fault.
            columns, uri = {}, name
        else:
            uri = job.sidecars.write_table(f"{scene}/{message}.parquet", columns)
        sources[message] = _spec(rule, uri, columns)
        times = "times of reception" if rule.is_received else "times of measurement"
        job.note(f"{message} -> {rule.kind}, {times}")
    if not sources:
        job.note("a scene has no CAN bus data (can_bus/scene-0001_ms_imu.json ...)")
    return sources


def _spec(rule: _Message, uri: str, columns: Mapping[str, object]) -> SourceSpec:
    stamp_kind: Any = "receive" if rule.is_received else "capture"
    if rule.kind == "imu":
        return ImuSpec(uri=uri, stamp_kind=stamp_kind)
    if rule.kind == "state":
        groups = {
            group: [name for name in columns if name.startswith(f"{group}_")]
            for group in rule.columns
        }
        kept = {group: names for group, names in groups.items() if names}
        return StateSpec(uri=uri, stamp_kind=stamp_kind, columns=kept or None)
    roles = [role for role in rule.columns if role in columns] or list(rule.columns)
    return CanSpec(uri=uri, stamp_kind=stamp_kind, signals={role: role for role in roles})


def _table(root: Source, name: str, rule: _Message) -> dict[str, NDArray[np.generic]]:
    """Return the columns of a message; keys missing from all rows are left out."""
    rows = root.read_json(name)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ManifestError("is not a list of messages", path=root.uri_of(name))
    times_us = [row.get("utime") for row in rows]
    if not all(isinstance(time, int) and abs(time) < 2**63 // 1000 for time in times_us):
        raise ManifestError(
            "a message has no 'utime' in whole microseconds", path=root.uri_of(name)
        )
    columns: dict[str, NDArray[np.generic]] = {
        "timestamp_ns": np.array(times_us, dtype=np.int64) * 1000
    }
    for column, (key, factor) in rule.columns.items():
        if rows and not any(key in row for row in rows):
            continue
        try:
            values = np.array([row.get(key, math.nan) for row in rows], dtype=np.float64) * factor
        except (TypeError, ValueError) as error:
            raise ManifestError(
                f"'{key}' does not have the same number of values in every message",
                path=root.uri_of(name),
            ) from error
        if values.ndim == 1:
            columns[column] = values
            continue
        parts = _XYZ if values.shape[1] == 3 else tuple(map(str, range(values.shape[1])))
        for place, part in enumerate(parts):
            columns[f"{column}_{part}"] = values[:, place]
    return columns
