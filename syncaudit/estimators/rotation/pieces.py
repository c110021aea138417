"""Measure pieces of a clip, each by itself, of a camera whose offset as a whole is known."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from syncaudit.estimators.delay.increments import from_rotation
from syncaudit.estimators.delay.parts import measure_near
from syncaudit.estimators.inertial import imu_integral
from syncaudit.model import Activity, RotationIncrements

__all__ = ["offsets_of_pieces"]


def offsets_of_pieces(
    camera: RotationIncrements, gyro: Activity, *, near_s: float, n_pieces: int
) -> Iterator[tuple[float, float]]:
    """Yield the offset of each piece of a clip and its standard error, in seconds.

    Parameters
    ----------
    camera : RotationIncrements
        Source; pieces have equally many of its increments.
    gyro : Activity
        Target, three axes in rad/s.
    near_s : float
        Offset of the whole clip; a piece that cannot be measured near it has that, and an infinite
        error.
    n_pieces : int
        How many.
    """
    increments, driver = from_rotation(camera), imu_integral(gyro)
    epochs_s = (gyro.epoch_ns - camera.epoch_ns) * 1e-9
    for rows in np.array_split(np.argsort(increments.mid_s, kind="stable"), n_pieces):
        fit = measure_near(increments.rows(rows), driver, near_s - epochs_s)
        yield (near_s, math.inf) if fit is None else (fit.offset_s + epochs_s, fit.offset_std_s)
