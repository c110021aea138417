"""Find the offsets and drifts that explain many events, by voting on time differences.

A source's own events may lie on an even time grid, or repeat themselves: then several offsets
explain as many.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, pdtrc

from syncaudit.model.arrays import Bools, Floats, Ints

# Drifts that differ by this share of a window at the ends of the train share a ballot.
DRIFT_SHARE = 1.0
# Ballots with fewer votes, or less than this share of the fullest, are ignored.
MIN_VOTES = 3
MIN_VOTE_SHARE = 0.35
MAX_DRIFTS = 201
GOLDEN = 0.5 * (5.0**0.5 - 1.0)
# Largest number of pairs that vote, and smallest number of events that vote.
MAX_PAIRS = 200_000
MIN_VOTERS = 60

MIN_EVENTS = 3
# Share of the events that must lie on the grid; the others are false or belong to another light.
MIN_REPEATED_SHARE = 0.6
# Share of irregular trains that may be taken for periodic. It is large because a periodic train
# taken for irregular gives a wrong offset, and because three events on a grid are hardly more than
# chance gives.
MAX_CHANCE = 0.05
MAX_REPEAT_CHANCE = 1e-3
MAX_LAGS = 6
# The period may be the commonest distance divided by these (every second pulse may be missed).
DIVISORS = (1, 2, 3)
MAX_STEPS = 4000
# Events used to detect a period; distances used to detect a repetition.
MAX_EVENTS = 300
MAX_LAGS_COUNTED = 200_000
# A repeated distance occurs at least this often, and for this share of the events that could have
# a repetition.
MIN_REPEATED = 3
MIN_REPEAT_SHARE = 0.15
# Share of the events that must be able to have a repetition: a shift that moves most of the train
# beyond its end is not one.
MIN_COULD = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An offset and a drift, and the number of event pairs that voted for them.

    Parameters
    ----------
    offset_s : float
        Target minus source time at the anchor.
    drift : float
        Change of the offset per second of source time.
    votes : int
        Number of pairs within the window.
    """

    offset_s: float
    drift: float
    votes: int


def vote(
    source_s: Floats,
    target_s: Floats,
    *,
    window_s: float,
    lowest_s: float,
    highest_s: float,
    max_drift: float,
    anchor_s: float,
    n_best: int,
    excluded: Bools | None = None,
) -> list[Candidate]:
    """Return the offsets and drifts that most pairs of events agree on.

    The cross-correlogram of two point processes (Perkel, Gerstein & Moore, "Neuronal spike trains
    and stochastic point processes II", Biophys. J. 7, 1967, doi:10.1016/S0006-3495(67)86597-4),
    once for every drift of a grid. Every event of one train votes with every event of the other,
    so that missing and false events cost nothing but votes. In long trains, only a part of the
    source's events votes: the true offset still gets its share of the votes.

    Parameters
    ----------
    source_s, target_s : ndarray, shape (n,) and (m,)
        Sorted instants.
    window_s : float
        Width of half a ballot: pairs within one to two windows count together.
    lowest_s, highest_s : float
        Offsets searched.
    max_drift : float
        Largest relative rate, either sign.
    anchor_s : float
        Source time at which the offsets hold.
    n_best : int
        How many candidates to return at most, the fullest first.
    excluded : ndarray of bool, shape (n, m), optional
        Pairs that have no vote.
    """
    lever_s = source_s - anchor_s
    reach_s = float(np.max(np.abs(lever_s), initial=0.0))
    slack_s = max_drift * reach_s + window_s
    voters = evenly_chosen(source_s.size, MAX_PAIRS // max(1, target_s.size))
    source_s, lever_s = source_s[voters], lever_s[voters]
    inside = _within(source_s, target_s, lowest_s - slack_s, highest_s + slack_s)
    rows, columns = np.nonzero(inside if excluded is None else inside & ~excluded[voters])
    if rows.size < MIN_VOTES:
        return []
    differences = (target_s[columns] - source_s[rows] - lowest_s) / window_s + 1.0
    lever = lever_s[rows] / window_s
    n_bins = int(np.ceil((highest_s - lowest_s) / window_s)) + 2
    offsets: list[Floats] = []
    found_drifts: list[Floats] = []
    counts: list[Ints] = []
    fullest = MIN_VOTES
    for drift in _drifts(max_drift, reach_s, window_s):
        # One spare bin at either end takes what lies outside.
        bins = np.minimum(np.maximum(differences - drift * lever, 0.0), n_bins).astype(np.intp)
        single = np.bincount(bins, minlength=n_bins + 1)
        double = single[1:-1] + single[2:]
        fullest = max(fullest, int(double.max()))
        chosen = np.flatnonzero(double >= max(MIN_VOTES, MIN_VOTE_SHARE * fullest))
        offsets.append(np.asarray(lowest_s + (chosen + 1.0) * window_s, dtype=np.float64))
        found_drifts.append(np.full(chosen.size, drift))
        counts.append(double[chosen])
    return _distinct(
        np.concatenate(offsets),
        np.concatenate(found_drifts),
        np.concatenate(counts),
        window_s=window_s,
        reach_s=reach_s,
        n_best=n_best,
    )


def evenly_chosen(n: int, n_most: int) -> Ints:
    """Return up to `n_most` of n positions in order, spread evenly but not periodically.

    Uses an additive recurrence by the golden ratio, because every n-th event of a camera may lie on
    the same row.
    """
    n_most = max(n_most, MIN_VOTERS)
    if n <= n_most:
        return np.arange(n, dtype=np.int64)
    place = np.arange(n) * GOLDEN % 1.0
    return np.sort(np.argpartition(place, n_most)[:n_most]).astype(np.int64)


def _within(source_s: Floats, target_s: Floats, lowest_s: float, highest_s: float) -> Bools:
    differences = target_s[None, :] - source_s[:, None]
    inside: Bools = (differences >= lowest_s) & (differences <= highest_s)
    return inside


def _drifts(max_drift: float, reach_s: float, window_s: float) -> Floats:
    step = 2.0 * DRIFT_SHARE * window_s / max(reach_s, 1e-9)
    n = min((MAX_DRIFTS - 1) // 2, int(np.ceil(max_drift / step - 0.5)))
    if n <= 0:
        return np.zeros(1)
    return np.linspace(-max_drift, max_drift, 2 * n + 1)


def _distinct(
    offsets: Floats, drifts: Floats, counts: Ints, *, window_s: float, reach_s: float, n_best: int
) -> list[Candidate]:
    """Return the fullest ballots, one per ridge: neighbours on a ridge hold the same events."""
    order = np.argsort(-counts, kind="stable")[:4000]
    offsets, drifts, counts = offsets[order], drifts[order], counts[order]
    is_left = np.ones(offsets.size, dtype=np.bool_)
    chosen: list[Candidate] = []
    while len(chosen) < n_best and is_left.any():
        best = int(np.argmax(is_left))
        chosen.append(
            Candidate(
                offset_s=float(offsets[best]), drift=float(drifts[best]), votes=int(counts[best])
            )
        )
        ridge_s = 2.5 * window_s + np.abs(drifts - drifts[best]) * reach_s
        is_left &= np.abs(offsets - offsets[best]) > np.minimum(ridge_s, 8.0 * window_s)
    return chosen


def chance_of(n_matched: int, expected: float, n_trials: float) -> float:
    """Return the probability that chance alone matches this many events in the search.

    Pairs fall into a window as a Poisson process where the trains have nothing in common; every
    distinct window of the search is one trial (Bonferroni).

    Parameters
    ----------
    n_matched : int
        Events matched.
    expected : float
        Mean number that chance would match.
    n_trials : float
        Distinct windows.
    """
    if n_matched <= 0:
        return 1.0
    return float(min(1.0, n_trials * pdtrc(n_matched - 1, max(expected, 1e-12))))


def find_period(times_s: Floats, *, tolerance_s: float, max_period_s: float) -> float | None:
    """Return the period of a train, or None if it has none.

    The commonest distances between the events give candidate periods. For each, a frequency scan
    (Rayleigh's test of a common phase; Mardia & Jupp, "Directional statistics", 2000; in steps
    small enough to miss no period) looks for a grid on which most events lie within the tolerance.
    Chance must not explain it: k of n events fall into windows of a share q of the period with
    probability about ``C(n, k) q^(k - 2)``, times the number of frequencies tried.

    Parameters
    ----------
    times_s : ndarray, shape (n,)
        Sorted instants; only the first 300 are used.
    tolerance_s : float
        Distance from the grid that still counts as on it.
    max_period_s : float
        Longest period of interest.
    """
    times_s = times_s[:MAX_EVENTS]
    n = times_s.size
    if n < MIN_EVENTS:
        return None
    first, second = np.triu_indices(n, k=1)
    lags = times_s[second] - times_s[first]
    width_s = max(2.0 * tolerance_s, 1e-4)
    lags = lags[(lags > 2.0 * width_s) & (lags <= max_period_s)]
    if lags.size == 0:
        return None
    bins, votes = np.unique(np.rint(lags / width_s).astype(np.int64), return_counts=True)
    commonest = bins[np.argsort(-votes, kind="stable")[:MAX_LAGS]] * width_s
    best: tuple[float, float] | None = None
    for lag_s in commonest:
        for divisor in DIVISORS:
            period_s = float(lag_s) / divisor
            if period_s <= 4.0 * tolerance_s:
                continue
            found = _on_grid(times_s, period_s, width_s / divisor, tolerance_s, commonest.size)
            # Prefer the longest period that fits: a grid of half the period fits as well.
            if found is not None and (best is None or found[1] > best[1] + 0.5):
                best = found
    return None if best is None else best[0]


def find_repeat(times_s: Floats, *, tolerance_s: float, max_lag_s: float) -> float | None:
    """Return after how long a train repeats itself, or None if it does not.

    A pattern that is played repeatedly need not be periodic itself. It shows in the commonest
    distance between two of its events: chance (Poisson, all distances tried) must not explain that,
    and a good share of the events that could have a repetition must have one.

    Parameters
    ----------
    times_s : ndarray, shape (n,)
        Sorted instants.
    tolerance_s : float
        By how much repetitions may differ.
    max_lag_s : float
        Longest repetition of interest.
    """
    n = times_s.size
    if n < MIN_EVENTS:
        return None
    heads = evenly_chosen(n, MAX_LAGS_COUNTED // n)
    apart = times_s - times_s[heads, None]
    lags = np.sort(apart[apart > 0.0])
    lags = lags[(lags > 4.0 * tolerance_s) & (lags <= max_lag_s)]
    if lags.size < MIN_REPEATED:
        return None
    stop = np.searchsorted(lags, lags + 2.0 * tolerance_s, side="right")
    counts = stop - np.arange(lags.size)
    lag_s = lags + tolerance_s
    n_could = np.searchsorted(times_s[heads], times_s[-1] - lag_s, side="right")
    span_s = float(times_s[-1] - times_s[0])
    expected = 2.0 * tolerance_s * heads.size * (span_s - lag_s).clip(0.0) * n / span_s**2
    chance = pdtrc(counts - 1, np.maximum(expected, 1e-12)) * lags.size
    repeats = (
        (counts >= MIN_REPEATED)
        & (chance < MAX_REPEAT_CHANCE)
        & (counts >= MIN_REPEAT_SHARE * n_could)
        & (n_could >= MIN_COULD * heads.size)
    )
    if not repeats.any():
        return None
    return float(lag_s[np.argmax(np.where(repeats, counts, 0))])


def _on_grid(
    times_s: Floats, period_s: float, uncertain_s: float, tolerance_s: float, n_lags: int
) -> tuple[float, float] | None:
    n, span_s = times_s.size, float(times_s[-1] - times_s[0])
    reach_hz = uncertain_s / period_s**2
    n_steps = min(MAX_STEPS, 1 + 2 * math.ceil(4.0 * span_s * reach_hz))
    rates_hz = 1.0 / period_s + np.linspace(-reach_hz, reach_hz, n_steps)
    turns = np.exp(2j * np.pi * rates_hz[:, None] * (times_s - times_s[0])[None, :])
    sums = turns.sum(axis=1)
    best = int(np.argmax(np.abs(sums)))
    rate_hz = float(rates_hz[best])
    phase = float(np.angle(sums[best])) / (2.0 * np.pi)
    for gate in (0.1, 0.02, 3.0 * tolerance_s * rate_hz, tolerance_s * rate_hz):
        cycles = (times_s - times_s[0]) * rate_hz - phase
        number = np.rint(cycles)
        is_on = np.abs(cycles - number) <= max(gate, tolerance_s * rate_hz)
        if int(is_on.sum()) < MIN_EVENTS or np.ptp(number[is_on]) < 2.0:
            return None
        middle, seen = float(number[is_on].mean()), times_s[is_on] - times_s[0]
        lever = number[is_on] - middle
        slope = float(lever @ seen) / float(lever @ lever)
        if slope <= 0.0:
            return None
        rate_hz, phase = 1.0 / slope, float(seen.mean()) / slope - middle
    cycles = (times_s - times_s[0]) * rate_hz - phase
    off_s = np.abs(cycles - np.rint(cycles)) / rate_hz
    k = int(np.count_nonzero(off_s <= tolerance_s))
    if k < max(MIN_EVENTS, MIN_REPEATED_SHARE * n):
        return None
    share = min(1.0, 2.0 * tolerance_s * rate_hz)
    log_ways = float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
    log_trials = math.log(n_steps * n_lags * len(DIVISORS))
    log_chance = log_ways + (k - 2) * math.log(share) + log_trials
    if log_chance > math.log(MAX_CHANCE):
        return None
    return 1.0 / rate_hz, -log_chance
