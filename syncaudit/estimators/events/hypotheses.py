"""Fit the candidates proposed by the votes: matched events and their clock map."""

from __future__ import annotations

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
)
from syncaudit.estimators.events.voting import Candidate
from syncaudit.model.arrays import Bools, Floats, Ints

__all__ = [
    "MAX_LINE_SHARE",
    "MIN_LINE_SHARE",
    "MIN_MATCHED",
    "Hypothesis",
    "fit_candidates",
    "matched_by",
    "n_conflicts_of",
    "widen",
]

# A runner-up needs fewer events to cast doubt than a result needs to be accepted.
MIN_MATCHED = 3
# Ratio of the fitted to the usual line delay (18 ms per frame): readouts take 3 to 40 ms.
MIN_LINE_SHARE = 0.17
MAX_LINE_SHARE = 2.2


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
        i, j = i[keep], j[keep]
        found: Hypothesis | None = None
        for loose in (0.6 * window_s, 0.15 * window_s, 0.0):
            if i.size < MIN_MATCHED:
                found = None
                break
            fit = fit_pair(source, target, i, j, n_iterations=2)
            i, j = matched_by(fit, source, target, loose)
            found = Hypothesis(i=i, j=j, fit=fit)
        if found is None or i.size < MIN_MATCHED:
            continue
        fit = fit_pair(source, target, i, j)
        is_slow = abs(fit.drift) <= max_drift + 3.0 * fit.drift_std
        if is_slow and _is_plausible(fit, source, target):
            hypotheses.append(Hypothesis(i=i, j=j, fit=fit))
    hypotheses.sort(key=lambda found: (-found.i.size, found.fit.chi2_reduced))
    distinct: list[Hypothesis] = []
    for found in hypotheses:
        if all(_n_same(found, other) <= 0.5 * found.i.size for other in distinct):
            distinct.append(found)
    return distinct


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
    """Return whether the fitted line delays are those of rolling shutters.

    Without a line delay only frame times are left, and those of two cameras with nearly equal rates
    match wherever frames do: "T = 0" fits anything, without residuals.
    """
    return all(
        events.line_delay_std_s == 0.0
        or MIN_LINE_SHARE <= 1.0 + change_s / events.line_delay_s <= MAX_LINE_SHARE
        for events, change_s in ((source, fit.source_line_s), (target, fit.target_line_s))
    )


def matched_by(
    fit: PairFit, source: Instants, target: Instants, loose_s: float = 0.0
) -> tuple[Ints, Ints]:
    """Return the pairs that match under a clock map, within their gates plus `loose_s`."""
    predicted = fit.predict(source.times_s, source.row_px)
    seen = target.times_s + target.row_px * fit.target_line_s
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
