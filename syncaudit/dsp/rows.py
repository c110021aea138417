"""Medians, quantiles and lines of many short columns at once, one a row, equal to the last bit.

On the few hundred stamps of a camera most of NumPy's time goes into calling it; the six cameras of
a clip together cost little more than one. Each function does to every row what its namesake in
`dsp.medians` or `dsp.sound` does to one column, by the same operations in the same order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.medians import median

__all__ = ["median_of_sorted", "medians", "quantile_of_sorted", "robust_lines"]


def medians(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the median of every row, shape (m,).

    Parameters
    ----------
    rows : ndarray, shape (m, n)
        None of them NaN; n >= 1.
    """
    return median_of_sorted(np.sort(rows, axis=1))


def median_of_sorted(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the median of every sorted row, shape (m,); parameters as `medians`."""
    middle = rows.shape[1] // 2
    upper: NDArray[np.float64] = rows[:, middle]
    if rows.shape[1] % 2:
        return upper
    return np.asarray((rows[:, middle - 1] + upper) / 2.0)


def quantile_of_sorted(rows: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Return the linearly interpolated quantile of every sorted row, shape (m,)."""
    place = share * (rows.shape[1] - 1)
    below = int(place)
    part = place - below
    low, high = rows[:, below], rows[:, min(below + 1, rows.shape[1] - 1)]
    step = high - low
    return np.asarray(low + step * part if part < 0.5 else high - step * (1.0 - part))


def robust_lines(
    x: NDArray[np.float64], rows: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return `robust_line` through every row: slopes and intercepts, shape (m,).

    Parameters
    ----------
    x : ndarray, shape (n,)
        Strictly increasing, n >= 2.
    rows : ndarray, shape (m, n)
        Finite.

    Returns
    -------
    slopes, levels : ndarray, shape (m,)
        Of the lines.
    is_sound : ndarray of bool, shape (m,)
        Whether the weights could be found to the end; a row that half of which lies on a line
        exactly has to be fitted by itself.
    """
    third = max(1, x.size // 3)
    spread = median(x[-third:]) - median(x[:third])
    slope = (medians(rows[:, -third:]) - medians(rows[:, :third])) / spread
    level = medians(rows - slope[:, None] * x)
    is_sound = np.ones(rows.shape[0], dtype=np.bool_)
    rest, distance, ordered = np.empty_like(rows), np.empty_like(rows), np.empty_like(rows)
    ones = np.ones_like(rows)  # NumPy takes twice as long for the minimum of rows and a number
    for _ in range(4):
        np.multiply(slope[:, None], x, out=rest)
        np.subtract(rows, rest, out=rest)
        rest -= level[:, None]
        np.abs(rest, out=distance)
        ordered[...] = distance
        ordered.sort(axis=1)
        scale = 1.4826 * median_of_sorted(ordered)
        if np.count_nonzero(scale) < scale.size:
            is_sound &= scale > 0.0
            scale[scale <= 0.0] = 1.0
        distance /= (4.685 * scale)[:, None]
        u = np.minimum(distance, ones, out=distance)
        u *= u
        weight = np.subtract(1.0, u, out=u)
        weight *= weight
        total = np.add.reduce(weight, axis=1)
        mean_x = np.vecdot(weight, x) / total
        mean_rest = np.vecdot(weight, rest) / total
        from_mean = np.subtract(x, mean_x[:, None], out=ordered)
        weight *= from_mean
        change = np.vecdot(weight, rest) / np.vecdot(weight, from_mean)
        slope = slope + change
        level = level + (mean_rest - change * mean_x)
    return slope, level, is_sound
