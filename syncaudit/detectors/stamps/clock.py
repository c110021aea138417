"""Fit the clock behind timestamps: least squares for symmetric jitter, lower hull for delays.

Whether a regular clock stands behind timestamps decides how much scatter is error. Timestamps are
sampling instants plus stamping errors. The error of one stamp makes one interval longer and the
next one shorter by as much: the phase of a clock is kept. A loop that sleeps, or exposure control,
makes an interval longer and leaves the next one unchanged: every interval starts where the last one
ended, and the phase performs a random walk. Such stamps are as good as any, and jitter around an
even clock is not a measure of their quality.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from syncaudit.detectors.stamps.grid import number_samples
from syncaudit.dsp.robust import MAD_TO_STD, median, quantiles, robust_line, spread
from syncaudit.model.arrays import Floats, Ints

# Minimum number of stamps that reveals the shape of the jitter.
MIN_SHAPE = 60
# Points that the hull is built from (block minima): enough for its slope, cheap for millions.
HULL_POINTS = 4096

# Smaller scatter affects no estimate and exceeds no limit: its cause does not matter.
MIN_SCATTER_S = 5e-4
# Fewer intervals give no usable spectrum.
MIN_INTERVALS = 24
# Intervals in the running median that gives the local usual interval: up to seven may be odd.
LOCAL = 15
# Slow modes of the intervals' spectrum: one in sixteen, within these bounds.
MODE_SHARE, MIN_MODES, MAX_MODES = 16, 6, 16
# Power of the slow modes relative to all. 1: intervals are independent, the phase is a random walk;
# errors of single stamps around a clock give a few hundredths. A random walk falls this many normal
# deviations below 1 with a chance of 1 %.
FREE_Z = 2.326
# Far above 1: the rate changes from place to place (6 independent modes: 0.05 %).
PERSISTENT = 4.0
# Minimum relative change of the rate.
RATE_SHARE = 0.03
# Software loops do not keep an interval more precisely than this (Linux timers may be 50 us
# late by default); crystals and disciplined clocks do.
SOFTWARE_S = 1e-5
# Samples over which a wandering phase is treated as constant: one second at 30 Hz.
LEVEL = 31
# A phase wanders if its slow movement exceeds the scatter of single stamps by this factor.
WANDERS = 2.0
MIN_SAMPLES = 20
# Stamps farther than this many sigma from the clock keep their own time.
HELD_UP = 5.0


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rhythm:
    """How the intervals between stamps follow each other."""

    is_regular: bool = True  # whether a regular clock stands behind the samples
    # shape (n - 1,), optional: usual interval around each one, if the clock is not regular
    usual_s: Floats | None = None
    # Error of single stamps (one sigma) if a straight-line clock does not show it, because the
    # phase wanders or there is no regular clock.
    jitter_s: float | None = None
    waiting_s: float | None = None  # mean of such errors above their floor, if they are one-sided
    # shape (n,), optional: stamps minus their local level, if a straight-line clock is not a
    # suitable reference
    single_s: Floats | None = None


def rhythm_of(
    steps_s: Floats, residual_s: Floats, *, tick_s: float, jumps: Sequence[int] = ()
) -> Rhythm:
    """Return the rhythm of stamps.

    Consider the spectrum of intervals minus their mean. That of independent intervals is flat;
    errors of stamps around a clock enter as differences and have a spectrum of f^2 that vanishes at
    low frequencies; a changing rate has nearly all its power there. So the mean power of the
    slowest modes (cosine transform) relative to that of all modes is 1, or near 0, or far above 1;
    in the first case it follows a chi-squared distribution, whatever that of the intervals (Lo and
    MacKinlay, "Stock market prices do not follow random walks", 1988, doi:10.1093/rfs/1.1.41, for
    the same idea with variances of sums).

    Parameters
    ----------
    steps_s : ndarray, shape (n - 1,)
        Intervals in file order.
    residual_s : ndarray, shape (n,)
        Stamps minus the straight-line clock fitted to them, with missing samples counted and
        steps removed.
    tick_s : float
        Rounding of the stamps.
    jumps : sequence of int
        Intervals in which steps were removed: the remainder is not an interval.
    """
    if steps_s.size < MIN_INTERVALS:
        return Rhythm()
    usual_s = _running_median(steps_s, LOCAL)
    low, high = quantiles(usual_s, [0.05, 0.95])
    if high - low > RATE_SHARE * median(usual_s) and _slow_power(_clipped(steps_s)) > PERSISTENT:
        return _irregular(steps_s, usual_s, residual_s)
    off_s = residual_s - median(residual_s)
    most_s = 6.0 * spread(off_s, 0.0)
    moves_s = np.diff(np.clip(off_s, -most_s, most_s))
    moves_s[list(jumps)] = 0.0
    is_seen = spread(moves_s) > max(SOFTWARE_S, tick_s)
    if is_seen and _slow_power(moves_s) > _least_of_a_walk(moves_s.size):
        return _irregular(steps_s, usual_s, residual_s)
    level_s = _running_median(residual_s, LEVEL)
    single_s = residual_s - level_s
    jitter_s = scatter(single_s - median(single_s))
    if spread(level_s) <= WANDERS * jitter_s:
        return Rhythm()
    return Rhythm(jitter_s=jitter_s, waiting_s=_waiting(single_s), single_s=single_s)


def _irregular(steps_s: Floats, usual_s: Floats, residual_s: Floats) -> Rhythm:
    """Return the rhythm of stamps without a regular clock.

    Whatever the intervals are, independent stamping errors give neighbouring intervals a
    covariance of minus the error variance.
    """
    moves_s = _clipped(steps_s - usual_s)
    moves_s -= np.mean(moves_s)
    covariance = float(np.mean(moves_s[1:] * moves_s[:-1]))
    # Independent intervals reach this by chance.
    chance = 3.0 * float(np.var(moves_s)) / math.sqrt(moves_s.size)
    if -covariance <= chance:
        return Rhythm(is_regular=False, usual_s=usual_s)
    single_s = residual_s - _running_median(residual_s, LEVEL)
    return Rhythm(
        is_regular=False,
        usual_s=usual_s,
        jitter_s=math.sqrt(-covariance),
        waiting_s=_waiting(single_s),
        single_s=single_s,
    )


def _waiting(single_s: Floats) -> float | None:
    """Return the mean of one-sided errors above their floor; None if they are symmetric."""
    if not has_floor(single_s):
        return None
    return mean_waiting(single_s - quantiles(single_s, [0.02])[0])


def _slow_power(values: Floats) -> float:
    """Return the mean power of the slowest modes over that of all modes."""
    from scipy.fft import dct

    power = dct(values - np.mean(values), type=2, norm="ortho")[1:] ** 2
    mean = float(np.mean(power))
    return float(np.mean(power[: _n_slow(values.size)])) / mean if mean > 0.0 else 0.0


def _n_slow(n: int) -> int:
    return min(max(n // MODE_SHARE, MIN_MODES), MAX_MODES)


def _least_of_a_walk(n: int) -> float:
    """Return the slow power that n independent intervals fall below with a chance of 1 %.

    The mean of m squared normal numbers, by the cube-root approximation (Wilson and Hilferty, "The
    distribution of chi-square", 1931, doi:10.1073/pnas.17.12.684): 0.14 for 6 modes, 0.36 for 16.
    """
    part = 2.0 / (9.0 * _n_slow(n))
    return float((1.0 - part - FREE_Z * math.sqrt(part)) ** 3)


def _running_median(values: Floats, size: int) -> Floats:
    from scipy.ndimage import median_filter

    return np.asarray(median_filter(values, size=size, mode="nearest"), dtype=np.float64)


def _clipped(values: Floats) -> Floats:
    """Return values with outliers clipped: the outermost 2 % on either side are moved in."""
    low, high = quantiles(values, [0.02, 0.98])
    return np.clip(values, low, high)


def regular_times_s(times_s: Floats) -> Floats | None:
    """Return evenly spaced times whose median distance from the stamps is zero.

    Transport jitter and buffering move stamps, not exposures: for a camera that captures evenly, a
    line through its stamps gives better times. Only the content shows whether it does, so both sets
    of times are kept, and the estimator uses the one that fits.

    `times_s`, shape (n,): stamps in seconds, in file order.

    Returns
    -------
    ndarray, shape (n,), or None
        None if the stamps hardly jitter, or if every interval starts where the last one ended.
        Missing samples keep their place. If the clock wanders or the rate changes, the local clock
        is used.
    """
    late_s = lateness_s(times_s)
    return None if spread(late_s, 0.0) < MIN_SCATTER_S else np.asarray(times_s - late_s)


def lateness_s(times_s: Floats) -> Floats:
    """Return how much later than an even clock each stamp is, with a median of zero.

    `times_s`, shape (n,): as for `regular_times_s`. Zero if the stamps have no regular clock.
    """
    nothing = np.zeros(times_s.size)
    if times_s.size < MIN_SAMPLES:
        return nothing
    steps_s = np.diff(times_s)
    grid = number_samples(steps_s)
    if grid is None or np.any(np.diff(grid.index) <= 0):
        return nothing
    fit = fit_clock(grid.index, times_s)
    rhythm = rhythm_of(steps_s, fit.residual_s, tick_s=0.0)
    late_s = fit.residual_s
    if rhythm.single_s is not None:
        late_s = rhythm.single_s
    elif not rhythm.is_regular:
        return nothing
    late_s = late_s - float(np.median(late_s))
    # A delayed loop is not jitter: the even clock must not shift it.
    return np.where(np.abs(late_s) > HELD_UP * spread(late_s, 0.0), 0.0, late_s)
