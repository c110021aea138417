"""Find the offsets and drifts that explain many events, by voting on time differences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import pdtrc

from syncaudit.model.arrays import Bools, Floats, Ints

# Drifts that differ by this share of a window at the ends of the train share a ballot.
DRIFT_SHARE = 1.0
# Ballots with fewer votes, or less than this share of the fullest, are ignored.
MIN_VOTES = 3
MIN_SHARE = 0.35
MAX_DRIFTS = 201
GOLDEN = 0.5 * (5.0**0.5 - 1.0)
# Largest number of pairs that vote, and smallest number of events that vote.
MAX_PAIRS = 200_000
MIN_VOTERS = 60


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
        chosen = np.flatnonzero(double >= max(MIN_VOTES, MIN_SHARE * fullest))
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
