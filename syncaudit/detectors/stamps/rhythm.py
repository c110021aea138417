"""Detect whether a regular clock stands behind timestamps, and how much scatter is stamping error.

Timestamps are sampling instants plus stamping errors. The error of one stamp makes one interval
longer and the next one shorter by as much: the phase of a clock is kept. A loop that sleeps, or
exposure control, makes an interval longer and leaves the next one unchanged: every interval starts
where the last one ended, and the phase performs a random walk. Such stamps are as good as any, and
jitter around an even clock is not a measure of their quality.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from syncaudit.detectors.stamps.clock import fit_clock, has_floor, mean_waiting, scatter
from syncaudit.detectors.stamps.grid import number_samples
from syncaudit.dsp.robust import median, quantiles, spread
from syncaudit.model.arrays import Floats

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
