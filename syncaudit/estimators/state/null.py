"""Estimate how often chance predicts as much as the best delay: the null test of a state.

Ten seconds of slow motion resemble other slow motion at some delay. How closely depends on how slow
it is, how many joints move and the kind of noise, which no formula covers. The clip itself shows
it: the observations are shifted cyclically and reversed in time, so that nothing can match, and
judged by the same cross-validation. Peaks of such a search have exponential tails (log-likelihoods
of Gaussian noise do; for other noise the tail is that of its own peaks: Pickands, "Statistical
inference using extreme order statistics", Ann. Statist. 3, 1975, doi:10.1214/aos/1176343003), which
give the rate at which a search of unrelated evidence finds as much.

Repeating motion fits as well at other shifts, so its peaks are not rare either: its delay is known
only modulo the period.

All motion and fast motion are tested separately: fast motion (the remainder after subtracting what
a memory of 0.3 s predicts) must confirm the delay found from all motion, which chance rarely does
once the delay is fixed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.state.search import (
    RIDGES,
    Moments,
    blocks_of,
    change_at,
    log_likelihood,
    searched_rows,
)
from syncaudit.model.arrays import Bools, Floats

# Distance of the shifts tried; shifts nearer than this to the delay belong to its own lobe.
SHIFT_STEP_S = 0.04
OWN_LOBE_S = 1.0
# Peaks nearer to a higher one are part of it.
PEAK_STEPS = 4
# Exponential tails begin at the median peak; noise of independent values has a tail of one unit.
MIN_PEAKS = 4
MIN_TAIL = 1.0
# Fast motion is the part that a memory of this many seconds does not predict.
MEMORY_S = 0.3
# The delay of fast motion may differ by this much.
NEAR_S = 0.1
NEAR_STEP_S = 0.02
# Both tests together; each alone must be rarer than one in ten. A dozen moves have few peaks to
# estimate a tail from, and the tests are not quite independent: 8 of 543 pairs of unrelated
# episodes fall below 1e-7 where none should, and `leave_out_std` refuses those.
MAX_LOG10 = -7.0
# Joints against joints have no image noise: true pairs of six axes lie at -18 or below, and 6 of
# 800 pairs of other episodes of the same task fall below 1e-7, down to 2e-11.
MAX_LOG10_DIRECT = -12.0
MAX_LOG10_EACH = -1.0

STEP_S = 0.04
# Directions of motion that are compared, and the part of the clip that must overlap: a repeating
# motion is then seen three times.
MAX_DIRECTIONS = 3
MIN_OVERLAP = 2.0 / 3.0
# Motion repeats where it predicts this share of itself, with less than the second in between.
MIN_SHARE = 0.8
VALLEY_SHARE = 0.5
# The first peak that is nearly as high as the highest is the period, the others its multiples.
NEAR_HIGHEST = 0.9
# Motion that looks the same at every delay counts as repeating every second, the duration of the
# slowest moves.
STEADY_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """Decimal logarithms of the rate at which chance does as well."""

    whole: float  # a peak as high as that of all motion anywhere in the search range
    fast: float  # a peak as high as that of fast motion near the same delay


def chance_of(
    increments: Increments, driver: RunningIntegral, *, delay_s: float, range_s: float
) -> Chance:
    """Return how often chance predicts as much.

    Parameters
    ----------
    increments : Increments
        n rows of observations, m columns.
    driver : RunningIntegral
        Of the state, p channels.
    delay_s : float
        Best of the search.
    range_s : float
        Length of the range that was searched.
    """
    rows = searched_rows(increments)
    near_s = delay_s + np.arange(-NEAR_S, NEAR_S + 0.5 * NEAR_STEP_S, NEAR_STEP_S)
    keep = np.exp(-np.diff(rows.mid_s) / MEMORY_S)
    return Chance(
        whole=_chance(rows, driver, np.array([delay_s]), None, range_s),
        fast=_chance(rows, driver, near_s, keep, 2.0 * NEAR_S),
    )


def why_by_chance(chance: Chance, *, is_direct: bool = False) -> str | None:
    """Return why the best delay may be chance, or None.

    Parameters
    ----------
    chance : Chance
        Of both tests.
    is_direct : bool
        Whether both sides are joint readings, without images in between.
    """
    most = MAX_LOG10_DIRECT if is_direct else MAX_LOG10
    if chance.whole + chance.fast <= most and (max(chance.whole, chance.fast) <= MAX_LOG10_EACH):
        return None
    return (
        "unrelated motion fits as well: shifted or reversed in time, all of it does so once in "
        f"{_worded(chance.whole)} and its fast part once in {_worded(chance.fast)}; at most once "
        f"in {_worded(most)} together is allowed"
    )


def chance_of_peak(value: float, curves: list[Floats], *, range_s: float, step_s: float) -> float:
    """Return the decimal logarithm of how often a chance search finds at least `value`.

    Parameters
    ----------
    value : float
        Log-likelihood of the best delay.
    curves : list of ndarray
        Log-likelihoods where nothing matches, `step_s` apart.
    range_s : float
        Length of the range in which `value` is the highest.
    step_s : float
        Distance of the values of a curve.
    """
    peaks = np.sort(np.concatenate([_peaks(curve) for curve in curves]))[::-1]
    n_values = sum(curve.size for curve in curves)
    n_tail = max(MIN_PEAKS, math.ceil(0.5 * peaks.size))
    start = float(peaks[n_tail]) if peaks.size > n_tail else 0.0
    tail = max(MIN_TAIL, float(np.sum(peaks[:n_tail] - start)) / n_tail)
    expected = n_tail * range_s / max(step_s * n_values, step_s)
    return min(0.0, math.log10(expected) - max(0.0, value - start) / (tail * math.log(10.0)))


def _chance(
    rows: Increments, driver: RunningIntegral, delays_s: Floats, keep: Floats | None, range_s: float
) -> float:
    """Return `chance_of_peak` of the best of a few delays, with the ridge that is best there."""
    n = rows.values.shape[0]
    values = _faded(rows.values, keep)
    changes, covered = change_at(rows, driver, delays_s)
    found = [
        (float(log_likelihood(_shifted(change, own, values, [0], keep), n, ridge)[0]), ridge, k)
        for k, (change, own) in enumerate(zip(changes, covered, strict=True))
        for ridge in RIDGES
    ]
    value, ridge, k = max(found)
    step_s = float(np.ptp(rows.mid_s)) / max(1, n - 1)
    stride, own = max(1, round(SHIFT_STEP_S / step_s)), math.ceil(OWN_LOBE_S / step_s)
    turned = _faded(rows.values[::-1], None if keep is None else keep[::-1])
    curves = [
        log_likelihood(_shifted(changes[k], covered[k], seen, shifts, keep), n, ridge)
        for seen, shifts in (
            (values, range(own, n - own, stride)),
            (turned, range(0, n, stride)),
        )
        if len(shifts)
    ]
    return chance_of_peak(value, curves, range_s=range_s, step_s=stride * step_s)


def _shifted(
    change: Floats, covered: Bools, values: Floats, shifts: range | list[int], keep: Floats | None
) -> Moments:
    """Return the moments of values that are shifted cyclically by each number of rows.

    Parameters
    ----------
    change : ndarray, shape (n, p)
    covered : ndarray of bool, shape (n,)
    values : ndarray, shape (n, m)
        Already faded (see `_faded`).
    shifts : range or list of int
        l numbers of rows.
    keep : ndarray, shape (n - 1,), optional
        See `_faded`.
    """
    if keep is not None:
        # The previous row cannot be subtracted from a row that lacks it.
        covered = covered & np.concatenate([[False], covered[:-1]])
        change = _faded(change, keep) * covered[:, None]
    n = values.shape[0]
    blocks = blocks_of(n)
    places = (np.arange(n)[None, :] - np.asarray(shifts)[:, None]) % n
    return Moments(
        np.stack([change[b].T @ change[b] for b in blocks])[:, None],
        np.stack([change[b].T @ values[places[:, b]] for b in blocks]),
        np.stack([covered[b] @ values[places[:, b]] ** 2 for b in blocks]),
    )


def _faded(values: Floats, keep: Floats | None) -> Floats:
    """Subtract from each row, shape (n, c), the part kept of the one before it."""
    if keep is None:
        return values
    return np.concatenate([np.zeros_like(values[:1]), values[1:] - keep[:, None] * values[:-1]])


def _peaks(curve: Floats) -> Floats:
    """Return the heights of the distinct peaks above zero."""
    left, heights = curve.copy(), []
    while left.size and left.max() > 0.0:
        top = int(np.argmax(left))
        heights.append(float(left[top]))
        left[max(0, top - PEAK_STEPS) : top + PEAK_STEPS + 1] = 0.0
    return np.array(heights)


def _worded(log10: float) -> str:
    return f"{10.0 ** min(-log10, 15.0):.2g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """Repetition of a motion."""

    period_s: float | None  # None where it looks the same at every delay, as steady turning does
    share: float  # part of the motion that it predicts a period later

    def n_times(self, span_s: float) -> float:
        """Return how often a clip of `span_s` seconds shows the same motion."""
        return max(1.0, span_s / (STEADY_S if self.period_s is None else self.period_s))

    def __str__(self) -> str:
        """Describe the consequence for a delay."""
        much = f"{100.0 * self.share:.0f} % of it"
        cure = "Record motion that does not repeat"
        if self.period_s is None:
            return (
                f"the motion looks the same at every delay ({much} is predicted at any): it "
                f"shows no offset. {cure}"
            )
        return (
            f"the motion repeats every {self.period_s:.2g} s ({much} does): the offset is known "
            f"only modulo that. {cure}, or limit the search to less than half of it (max_offset_s)"
        )


def find_repetition(joints: RunningIntegral) -> Repetition | None:
    """Return how the joints' motion repeats, or None where it does not.

    Anything is compared with the motion through a free linear mixing, so motion that recurs
    reversed or with other joints fits as well. So the measure is the share of the rates that a
    linear mixing of the rates at another time predicts.
    """
    span_s = joints.stop_s - joints.start_s
    n = int(span_s / STEP_S)
    if n < MAX_DIRECTIONS + 2:
        return None
    _, rates = joints.with_rate_at(joints.start_s + STEP_S * np.arange(n, dtype=np.float64))
    left, size, _ = np.linalg.svd(rates - rates.mean(axis=0), full_matrices=False)
    moves = (left * size)[:, :MAX_DIRECTIONS]
    shares = np.array([_share(moves, lag) for lag in range(int((1.0 - MIN_OVERLAP) * n))])
    low = np.flatnonzero(shares < VALLEY_SHARE)
    if not low.size:
        return Repetition(period_s=None, share=float(shares.min(initial=1.0)))
    beyond = shares[low[0] :]
    if beyond.max() < MIN_SHARE:
        return None
    near = np.flatnonzero(beyond >= max(MIN_SHARE, NEAR_HIGHEST * beyond.max()))
    # The best of the first run of such lags.
    stop = near[0] + int(np.argmax(np.append(np.diff(near) > 1, True))) + 1
    lag = near[0] + int(np.argmax(beyond[near[0] : stop]))
    return Repetition(period_s=float(STEP_S * (low[0] + lag)), share=float(beyond[lag]))


def _share(moves: Floats, lag: int) -> float:
    n = moves.shape[0] - lag
    earlier, later = moves[:n], moves[lag:]
    mixing, *_ = np.linalg.lstsq(earlier, later, rcond=None)
    return float(1.0 - np.sum((later - earlier @ mixing) ** 2) / (np.sum(later**2) + 1e-30))
