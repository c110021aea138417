"""Fit the clock behind timestamps: least squares for symmetric jitter, lower hull for delays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from syncaudit.dsp.robust import MAD_TO_STD, quantiles, robust_line, spread
from syncaudit.model.arrays import Floats, Ints

# Minimum number of stamps that reveals the shape of the jitter.
MIN_SHAPE = 60
# Points that the hull is built from (block minima): enough for its slope, cheap for millions.
HULL_POINTS = 4096


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClockFit:
    """Straight-line clock through numbered stamps."""

    period_s: float  # slope
    # shape (n,): stamps minus clock: around zero for least squares, above zero for the hull
    residual_s: Floats
    method: str  # ``hull`` or ``least_squares``


def has_floor(residual_s: Floats) -> bool:
    """Return whether jitter is one-sided: a sharp lower edge and a longer upper tail.

    Two conditions. (1) The minima of consecutive blocks scatter clearly less than the blocks'
    means: then the lower edge defines the clock more sharply than the average does (exponential
    delays: 1/m against 1/sqrt(m) of the delay for m samples per block; Gaussian jitter: the other
    way round). (2) The upper quantile spread exceeds the lower one, so that polling or rounding,
    which are uniform and symmetric, are not mistaken for delays.

    `residual_s`, shape (n,): residuals of a symmetric fit in order of time.
    """
    n = residual_s.size
    if n < MIN_SHAPE:
        return False
    low, mid, high = quantiles(residual_s, [0.05, 0.5, 0.95])
    if not high - mid > 1.5 * (mid - low) > 0.0:
        return False
    n_blocks = int(np.clip(n // 12, 5, 24))
    size = n // n_blocks
    # A few early stamps must not create a floor of their own.
    kept = np.clip(residual_s, low - 3.0 * (mid - low), high)[: n_blocks * size]
    blocks = kept.reshape(n_blocks, size)
    minima, means = blocks.min(axis=1), blocks.mean(axis=1)
    return _scatter(minima) < 0.6 * _scatter(means)


def _scatter(values: Floats) -> float:
    x = np.arange(values.size, dtype=np.float64)
    slope, level = np.polynomial.polynomial.polyfit(x, values, 1)[::-1]
    return float(np.std(values - slope * x - level))


def lower_hull_line(x: Floats, y: Floats) -> tuple[float, float]:
    """Return slope and intercept of the line below all points that is closest to them.

    The line with the least sum of vertical distances under the constraint of staying below is
    the edge of the lower convex hull above the mean of `x` (Moon, Skelly, Towsley, "Estimation
    and removal of clock skew from network delay measurements", INFOCOM 1999,
    doi:10.1109/INFCOM.1999.749287, by linear programming; Zhang, Liu, Xia, "Clock
    synchronization algorithms for network measurements", INFOCOM 2002,
    doi:10.1109/INFCOM.2002.1019257, by the hull). Sharp when delays are one-sided (0.6 ppm on
    60 s of 4 ms exponential delays), poor for symmetric jitter (33 ppm on the same span).

    `x`, shape (n,), increases; `y`, shape (n,), is detrended. Large inputs are represented by
    block minima.
    """
    points = _block_minima(x, y)
    hull: list[tuple[float, float]] = []
    for px, py in points:
        while len(hull) > 1:
            (ax, ay), (bx, by) = hull[-2], hull[-1]
            if (bx - ax) * (py - ay) - (by - ay) * (px - ax) > 0.0:
                break
            hull.pop()
        hull.append((px, py))
    slope = 0.0
    centre = float(np.mean(x))
    for (ax, ay), (bx, by) in pairwise(hull):
        slope = (by - ay) / (bx - ax)
        if bx >= centre:
            break
    return slope, float(np.min(y - slope * x))


def _block_minima(x: Floats, y: Floats) -> list[tuple[float, float]]:
    if x.size > HULL_POINTS:
        size = -(-x.size // HULL_POINTS)
        n_full = x.size // size
        best = np.argmin(y[: n_full * size].reshape(n_full, size), axis=1)
        at = best + np.arange(n_full) * size
        tail = np.arange(n_full * size, x.size)
        at = np.concatenate((at, tail))
        x, y = x[at], y[at]
    return list(zip(x.tolist(), y.tolist(), strict=True))


def centred(index: Ints) -> Floats:
    """Return sample numbers counted from the middle one, shape (n,)."""
    from_middle: Floats = (index - index[index.size // 2]).astype(np.float64)
    return from_middle


def fit_clock(
    index: Ints,
    times_s: Floats,
    *,
    resolution_s: float = 0.0,
    line: tuple[float, float] | None = None,
) -> ClockFit:
    """Fit ``times = level + period * index`` by the method that suits the jitter.

    Parameters
    ----------
    index : ndarray of int64, shape (n,)
        Sample numbers, missing samples counted; n >= 2.
    times_s : ndarray, shape (n,)
        Stamps in seconds.
    resolution_s : float
        Rounding of the stamps: jitter of that size has no shape to analyse.
    line : tuple of float, optional
        `robust_line` through these same stamps, if already computed.
    """
    x = centred(index)
    slope, level = robust_line(x, times_s) if line is None else line
    residual = times_s - slope * x - level
    if has_floor(residual) and spread(residual) > resolution_s:
        low, mid = quantiles(residual, [0.05, 0.5])
        kept = residual >= low - 3.0 * (mid - low)  # drop implausibly early stamps
        more, floor = lower_hull_line(x[kept], residual[kept])
        return ClockFit(
            period_s=slope + more, residual_s=residual - more * x - floor, method="hull"
        )
    return ClockFit(period_s=slope, residual_s=residual, method="least_squares")


def mean_waiting(late_s: Floats) -> float:
    """Return the mean of delays above their floor, ignoring rare long ones.

    Delays are clipped at their 95 % quantile, which lowers the mean of exponential delays by 5 %;
    the result is corrected for that. One stall in a hundred samples must not affect the rest.

    `late_s`, shape (n,): delays above the floor.
    """
    return float(np.mean(np.minimum(late_s, quantiles(late_s, [0.95])[0]))) / 0.95


def scatter(residual: Floats, rounding_s: float = 0.0) -> float:
    """Return the standard deviation of what scatters, without rare outliers and rounding.

    The robust deviation ignores outliers, but where delays are even within bounds (a timer that
    polls, a buffer read in one go) it exceeds the standard deviation by 28 %. Outliers only make
    that one larger, so the smaller of the two counts.

    `residual`, shape (n,): stamps minus clock in seconds, their median zero. `rounding_s`: step to
    which stamps are rounded.
    """
    robust2 = spread(residual, 0.0) ** 2 - (MAD_TO_STD * 0.25 * rounding_s) ** 2
    return math.sqrt(max(0.0, min(robust2, float(np.var(residual)) - rounding_s**2 / 12.0)))


def robust_jitter(residual: Floats, tick_s: float) -> float:
    """Return the `scatter` of stamps; 0 if rounding alone explains it.

    `residual`, shape (n,): stamps minus clock in seconds, their median zero. `tick_s`: rounding of
    the stamps.
    """
    jitter = spread(residual, 0.0)
    # Where 96 % lie within 1.1 ticks around zero, so does their middle: 1.1 * 1.4826 < 1.7.
    if tick_s > 0.0 and jitter < 1.7 * tick_s:
        low, high = quantiles(residual, [0.02, 0.98])
        if high - low <= 1.1 * tick_s:
            return 0.0
    return scatter(residual, tick_s)
