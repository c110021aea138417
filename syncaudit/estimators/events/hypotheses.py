"""Fit the candidates proposed by the votes: matched events and their clock map."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from syncaudit.dsp.robust import mad_std
from syncaudit.estimators.events.instants import Instants, opposite_polarity_mask
from syncaudit.estimators.events.pair_fit import (
    GATE_SIGMAS,
    PairFit,
    fit_pair,
    gates_s,
    residuals_s,
    timing_unknowns,
)
from syncaudit.estimators.events.voting import Candidate
from syncaudit.model.arrays import Bools, Floats, Ints

# A runner-up needs fewer events to cast doubt than a result needs to be accepted.
MIN_MATCHED = 3
# Largest number of pairs times combinations of drifts, line delays and exposures that are tried.
MAX_BALLOTS = 300_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hypothesis:
    """Pairs of events that one clock map explains."""

    i: Ints
    j: Ints
    fit: PairFit


def fit_candidates(
    source: Instants,
    target: Instants,
    candidates: list[Candidate],
    *,
    anchor_s: float,
    window_s: float,
    max_drift: float,
) -> list[Hypothesis]:
    """Return the distinct fits of the candidates, in decreasing order of matched events."""
    apart = opposite_polarity_mask(source, target)
    hypotheses: list[Hypothesis] = []
    for candidate in candidates:
        predicted = (
            source.times_s + candidate.offset_s + candidate.drift * (source.times_s - anchor_s)
        )
        i, j = _nearest(predicted, target.times_s, apart)
        off_s = np.abs(target.times_s[j] - predicted[i])
        keep = off_s <= gates_s(source, target, i, j, loose_s=1.5 * window_s)
        starts = [(i[keep], j[keep])]
        if not (source.knows_timing and target.knows_timing):
            starts.append(_aligned(source, target, predicted, window_s, apart))
        fits = [_closed_in(source, target, pairs, window_s, max_drift) for pairs in starts]
        closed = [fit for fit in fits if fit is not None]
        if closed:
            hypotheses.append(max(closed, key=lambda fit: fit.i.size))
    hypotheses.sort(key=lambda found: (-found.i.size, found.fit.chi2_reduced))
    distinct: list[Hypothesis] = []
    for found in hypotheses:
        if all(_n_same(found, other) <= 0.5 * found.i.size for other in distinct):
            distinct.append(found)
    return distinct


def _closed_in(
    source: Instants, target: Instants, pairs: tuple[Ints, Ints], window_s: float, max_drift: float
) -> Hypothesis | None:
    """Return the fit that starts from these pairs, with gates that close to a few sigmas."""
    i, j = pairs
    for loose in (0.6 * window_s, 0.15 * window_s, 0.0):
        if i.size < MIN_MATCHED:
            return None
        fit = fit_pair(source, target, i, j, n_iterations=2)
        i, j = matched_by(fit, source, target, loose)
    if i.size < MIN_MATCHED:
        return None
    fit = fit_pair(source, target, i, j)
    is_slow = abs(fit.drift) <= max_drift + 3.0 * fit.drift_std
    if not is_slow or not _is_plausible(fit, source, target):
        return None
    return Hypothesis(i=i, j=j, fit=fit)


def _aligned(
    source: Instants, target: Instants, predicted: Floats, window_s: float, apart: Bools | None
) -> tuple[Ints, Ints]:
    """Return the pairs near a candidate that agree most closely, whatever is not stated.

    The window of a candidate includes the uncertainty of unstated line delays and exposures: beside
    the right pairs it holds chance pairs and other edges of the same lights, and a fit to all of
    them may end in a compromise. On a grid of drifts, line delays and exposures, the fullest window
    of the size of the events' own errors wins (Hough transform; Duda & Hart, "Use of the Hough
    transformation to detect lines and curves in pictures", Commun. ACM 15, 1972,
    doi:10.1145/361237.361242).
    """
    begin = np.searchsorted(target.times_s, predicted - 1.5 * window_s)
    n_near = np.searchsorted(target.times_s, predicted + 1.5 * window_s, side="right") - begin
    i = np.repeat(np.arange(source.n), n_near)
    j = np.arange(i.size) - np.repeat(np.cumsum(n_near) - n_near - begin, n_near)
    if apart is not None:
        i, j = i[~apart[i, j]], j[~apart[i, j]]
    if i.size < MIN_MATCHED:
        return i, j
    lever_s = source.times_s[i] - np.mean(source.times_s[i])
    drift = 2.0 * window_s / max(float(np.ptp(lever_s)), 1e-9)
    axes = [(lever_s, -drift, drift)]
    axes += [
        (own.lever, own.lowest_s - own.assumed_s, own.highest_s - own.assumed_s)
        for own in timing_unknowns(source, target, i, j)
    ]
    gate_s = float(np.median(gates_s(source, target, i, j)))
    steps = np.array([(high - low) * float(np.ptp(lever)) for lever, low, high in axes]) / gate_s
    n_grid = np.prod(np.maximum(steps, 1.0))
    coarser = min(1.0, (MAX_BALLOTS / i.size / n_grid) ** (1.0 / len(axes)))
    points = [
        np.linspace(low, high, int(np.ceil(coarser * n)) + 1)
        for (_, low, high), n in zip(axes, steps, strict=True)
    ]
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*points)], axis=1)
    left_s = target.times_s[j] - predicted[i] - grid @ np.stack([lever for lever, *_ in axes])
    ordered_s = np.sort(left_s, axis=1)

    def spread_s(n: int) -> Floats:
        """Return the widths of all windows that hold n pairs."""
        widths_s: Floats = ordered_s[:, n - 1 :] - ordered_s[:, : i.size - n + 1]
        return widths_s

    sizes = range(MIN_MATCHED, i.size + 1)
    n_fit = bisect_left(sizes, True, key=lambda n: bool(spread_s(n).min() > 2.0 * gate_s))
    n = MIN_MATCHED + n_fit - 1
    row, first = np.unravel_index(np.argmin(spread_s(n)), spread_s(n).shape)
    chosen = np.argsort(left_s[row])[first : first + n]
    return i[chosen], j[chosen]


def widen(source: Instants, target: Instants, found: Hypothesis, window_s: float) -> Hypothesis:
    """Return the hypothesis with gates as wide as the actual scatter of the events.

    If timestamps jitter by more than the detection errors, the narrow gates hold only the middle of
    the scatter, and the resulting error is too small.
    """
    if found.fit.steps:
        return found
    fit = found.fit
    for _ in range(2):
        i, j = matched_by(fit, source, target, window_s)
        off_s = residuals_s(fit, source, target, i, j)
        reach_s = GATE_SIGMAS * mad_std(off_s)
        keep = np.abs(off_s) <= np.maximum(gates_s(source, target, i, j), reach_s)
        if int(keep.sum()) < found.i.size:
            return found
        i, j = i[keep], j[keep]
        fit = fit_pair(source, target, i, j)
    return Hypothesis(i=i, j=j, fit=fit) if _is_plausible(fit, source, target) else found


def _is_plausible(fit: PairFit, source: Instants, target: Instants) -> bool:
    """Return whether the fitted line delays and exposures are those of cameras.

    Without a line delay only frame times are left, and those of two cameras with nearly equal rates
    match wherever frames do: "T = 0" fits anything, without residuals.
    """
    everything = np.arange(source.n), np.arange(target.n)
    return all(
        unknown.lowest_s
        <= unknown.assumed_s + fit.timing_s[unknown.column - 2]
        <= unknown.highest_s
        for unknown in timing_unknowns(source, target, *everything)
    )


def matched_by(
    fit: PairFit, source: Instants, target: Instants, loose_s: float = 0.0
) -> tuple[Ints, Ints]:
    """Return the pairs that match under a clock map, within their gates plus `loose_s`."""
    predicted, seen = fit.predict(source.at(fit.source)), target.at(fit.target)
    order = np.argsort(seen, kind="stable")
    apart = opposite_polarity_mask(source, target)
    i, nearest = _nearest(predicted, seen[order], None if apart is None else apart[:, order])
    j = order[nearest]
    off_s = np.abs(seen[j] - predicted[i])
    keep = off_s <= gates_s(source, target, i, j, loose_s=loose_s)
    return i[keep], j[keep]


def _nearest(predicted: Floats, seen: Floats, apart: Bools | None) -> tuple[Ints, Ints]:
    """Return the pairs of mutually nearest events, among those that may be pairs."""
    if apart is None:
        right = np.clip(np.searchsorted(seen, predicted), 1, seen.size - 1)
        is_left = predicted - seen[right - 1] < seen[right] - predicted
        j = np.where(is_left, right - 1, right)
    else:
        distance = np.where(apart, np.inf, np.abs(seen[None, :] - predicted[:, None]))
        j = np.argmin(distance, axis=1)
    off = np.abs(seen[j] - predicted)
    order = np.argsort(off, kind="stable")
    _, first = np.unique(j[order], return_index=True)
    i = np.sort(order[first])
    return i.astype(np.int64), j[i].astype(np.int64)


def _n_same(one: Hypothesis, other: Hypothesis) -> int:
    """Return how many pairs two hypotheses share."""
    pairs = np.intersect1d(one.i * 1_000_003 + one.j, other.i * 1_000_003 + other.j)
    return int(pairs.size)


def n_conflicts_of(one: Hypothesis, other: Hypothesis) -> int:
    """Return how many events both explain, but with different partners."""
    common = max(np.intersect1d(one.i, other.i).size, np.intersect1d(one.j, other.j).size)
    return int(common) - _n_same(one, other)
