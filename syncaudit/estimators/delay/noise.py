"""How far residuals of a delay may lie from zero: at rest, and in motion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from syncaudit.dsp.robust import MAD_TO_STD, mad_std_of_columns

__all__ = ["MOTION_ROWS", "noise_of_motion"]

Floats = NDArray[np.float64]

# Increments over which motion is averaged: an error that follows it is not in step with it.
MOTION_ROWS = 5
# The median of as few values as hold half of the information varies by a quarter: scatter below
# twice the noise may be noise alone, and the weights of the fit take care of it.
CLEARLY_MORE = 2.0


def noise_of_motion(
    residuals: Floats, sensitivity: Floats, *, is_even: bool = False
) -> tuple[Floats, Floats]:
    """Return the noise at rest, shape (m,), and by how much more each value scatters, shape (n, m).

    A sensor's noise is the same always; errors of scale, axes, range, filters and timestamps grow
    with the motion. Where a recording mostly rests, the median residual tells only of the noise,
    and by that measure all of the motion, and with it all that tells of the delay, would be
    outliers. So the variance is ``noise^2 + error^2 motion``, ``motion`` being the mean square of
    the sensitivity to the delay nearby, of all columns. The error is the one by which half of the
    information, rather than half of the values, lies within its probable error.

    Parameters
    ----------
    residuals, sensitivity : ndarray, shape (n, m)
        Of the increments, in units in which the columns' noise is even.
    is_even : bool
        Whether errors do not grow with the motion: video coding holds back most where it is slow.
    """
    noise = mad_std_of_columns(residuals) + 1e-15
    if is_even:
        return noise, np.ones_like(residuals)
    information = sensitivity**2
    motion = uniform_filter1d(information.sum(axis=1), MOTION_ROWS, mode="nearest")
    motion = np.maximum(motion, 1e-12 * motion.max() + 1e-300)[:, None]
    excess = ((MAD_TO_STD * residuals) ** 2 - CLEARLY_MORE * noise**2) / motion
    order = np.argsort(excess, axis=0)
    share = np.cumsum(np.take_along_axis(information, order, axis=0), axis=0)
    middle = np.argmax(share >= 0.5 * share[-1], axis=0)
    columns = np.arange(residuals.shape[1])
    error2 = np.maximum(excess[order[middle, columns], columns], 0.0)
    return noise, np.sqrt(1.0 + error2 * motion / noise**2)
