"""Data types of telemetry embedded in videos."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from syncaudit.model.arrays import Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SensorSamples:
    """Samples of one sensor."""

    times_s: Floats  # shape (n,); presentation times of the container
    values: Floats  # shape (n, d); in SI units


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Telemetry:
    """Telemetry of one video."""

    camera: str  # make or model, for people
    # ``gyro`` in rad/s and ``accel`` in m/s^2 of three axes, ``speed`` over ground in m/s
    sensors: Mapping[str, SensorSamples]
    # evidence that the image was rotated relative to the camera; None if there is none
    stabilised: str | None = None
