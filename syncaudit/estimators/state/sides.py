"""The two sides of a comparison with a robot's state: what is seen, and what drives it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.state.driver import state_driver
from syncaudit.model import Activity, PictureMotion

__all__ = ["camera_increments", "driver_of", "held_back_s", "period_of", "state_increments"]

# Smoothing of both sides, in periods of the slower one, and at least so much.
SMOOTHING_PERIODS = 2.0
MIN_SMOOTHING_S = 0.066
# Motion vectors are rounded to a quarter of a pixel: up to an eighth is held back.
HELD_BACK_PX = 0.125


def camera_increments(camera: PictureMotion) -> Increments:
    """Return what a camera saw move: each increment averaged with its neighbours."""
    moves = camera.moves
    padded = np.concatenate([moves[:1], moves, moves[-1:]])
    return Increments(
        start_s=camera.start_s,
        stop_s=camera.stop_s,
        # Which shifts nothing.
        values=np.asarray(0.25 * padded[:-2] + 0.5 * moves + 0.25 * padded[2:]),
        weights=np.ones_like(moves),
        # Video coding holds back what moves slowly: weights that shrink with the motion would
        # trust that most.
        is_noise_even=True,
    )


def state_increments(state: Activity) -> Increments | None:
    """Return what a robot did between even instants; None where it is too short or stands still."""
    width_s = _width_s(period_of(state))
    curve = state_driver(state, width_s=width_s, n_rows=0, is_linear=True)
    if curve is None:
        return None
    n = max(0, math.floor((curve.stop_s - curve.start_s) / width_s))
    begin = curve.start_s + width_s * np.arange(n, dtype=np.float64)
    end = np.minimum(begin + width_s, curve.stop_s)
    values = curve.at(end) - curve.at(begin)
    increments = Increments(start_s=begin, stop_s=end, values=values, weights=np.ones_like(values))
    return increments.rows(curve.covers(begin, end))


def held_back_s(camera: PictureMotion) -> float:
    """Return for how long coding holds motion back: for less where it is fast.

    The speed is that of what tells the delay, which is weighed by its square.
    """
    square = (camera.moves / (camera.stop_s - camera.start_s)[:, None]) ** 2
    if camera.coded_width_px is None or not square.any():
        return 0.0
    speed = math.sqrt(float(np.sum(square**2) / np.sum(square)))
    return HELD_BACK_PX / (camera.coded_width_px * speed)


def driver_of(
    target: Activity, *, slower_s: float, n_rows: int, is_linear: bool
) -> RunningIntegral | None:
    """Return the driver of a state, smoothed by two periods of the slower side.

    Parameters
    ----------
    target : Activity
        Of quantity ``state`` or ``command``.
    slower_s : float
        Period of the slower side.
    n_rows, is_linear
        As for `state_driver`.
    """
    return state_driver(target, width_s=_width_s(slower_s), n_rows=n_rows, is_linear=is_linear)


def period_of(side: Activity | PictureMotion) -> float:
    """Return the typical period of a side in seconds."""
    if isinstance(side, PictureMotion):
        return float(np.median(side.stop_s - side.start_s))
    times: NDArray[np.float64] = side.times_s
    return float(np.median(np.diff(times)))


def _width_s(period_s: float) -> float:
    return max(MIN_SMOOTHING_S, SMOOTHING_PERIODS * period_s)
