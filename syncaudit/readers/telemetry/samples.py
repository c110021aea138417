"""Data types of telemetry embedded in videos."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from syncaudit.model.arrays import Floats

__all__ = ["SensorSamples", "Telemetry"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SensorSamples:
    """Samples of one sensor.

    Parameters
    ----------
    times_s : ndarray, shape (n,)
        Presentation times of the container.
    values : ndarray, shape (n, d)
        In SI units.
    """

    times_s: Floats
    values: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Telemetry:
    """Telemetry of one video.

    Parameters
    ----------
    camera : str
        Make or model, for people.
    sensors : mapping of str to SensorSamples
        ``gyro`` in rad/s and ``accel`` in m/s^2 of three axes, ``speed`` over ground in m/s.
    stabilised : str, optional
        Evidence that the image was rotated relative to the camera; None if there is none.
    """

    camera: str
    sensors: Mapping[str, SensorSamples]
    stabilised: str | None = None
