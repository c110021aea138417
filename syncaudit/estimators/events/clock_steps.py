"""Find clock steps: other offsets that explain the events before or after a match."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from syncaudit.estimators.events.chance import chance_of_match
from syncaudit.estimators.events.hypotheses import Hypothesis, fit_candidates
from syncaudit.estimators.events.instants import Instants, opposite_polarity_mask
from syncaudit.estimators.events.pair_fit import OffsetStep, fit_pair, gates_s, residuals_s
from syncaudit.estimators.events.voting import vote
from syncaudit.model.arrays import Floats, Ints

# Largest step: covers lost frames and corrected clocks; anything larger is another recording.
MAX_STEP_S = 5.0
# The rate does not change: parts vote within this many of its sigmas (at least `MIN_DRIFT`), and
# their rates may differ by at most `MAX_STEP_DRIFT`.
DRIFT_SIGMAS = 5.0
MIN_DRIFT = 1e-5
MAX_STEP_DRIFT = 1e-4
MAX_PARTS = 12
# Events of a part: a step is reported only where more events agree than an offset and a drift could
# be fitted to by accident.
MIN_PART = 5
# Parts follow one another in time: at most this share of either may be misplaced.
MAX_MISPLACED = 0.1
N_CANDIDATES = 4


def join_steps(
    source: Instants, target: Instants, best: Hypothesis, *, window_s: float, max_chance: float
) -> Hypothesis:
    """Return one match with a step wherever another offset explains the next events, or `best`.

    Events that the match does not explain vote again, for offsets up to five seconds away. A part
    that they agree on must be as significant as a match has to be, and lie before or after the
    events explained so far; then the remaining events vote, until nothing more is found.
    """
    parts = [best]
    while len(parts) < MAX_PARTS:
        part = _next_part(source, target, parts, window_s, max_chance)
        if part is None:
            break
        parts.append(part)
    if len(parts) == 1:
        return best
    return _joined(source, target, parts) or best


def _next_part(
    source: Instants, target: Instants, parts: list[Hypothesis], window_s: float, max_chance: float
) -> Hypothesis | None:
    free_i = np.setdiff1d(np.arange(source.n), np.concatenate([part.i for part in parts]))
    free_j = np.setdiff1d(np.arange(target.n), np.concatenate([part.j for part in parts]))
    if min(free_i.size, free_j.size) < MIN_PART:
        return None
    fit = parts[0].fit
    left, seen = source.take(free_i), target.take(free_j)
    anchor_s = 0.5 * float(left.times_s[0] + left.times_s[-1])
    offset_s = float(fit.predict(np.array([anchor_s]))[0]) - anchor_s
    candidates = vote(
        fit.predict(left.at(fit.source)),
        seen.at(fit.target),
        window_s=window_s,
        lowest_s=-MAX_STEP_S,
        highest_s=MAX_STEP_S,
        max_drift=min(max(DRIFT_SIGMAS * fit.drift_std, MIN_DRIFT), MAX_STEP_DRIFT),
        anchor_s=anchor_s + offset_s,
        n_best=N_CANDIDATES,
        excluded=opposite_polarity_mask(left, seen),
    )
    candidates = [
        replace(found, offset_s=found.offset_s + offset_s, drift=found.drift + fit.drift)
        for found in candidates
    ]
    for found in fit_candidates(
        left,
        seen,
        candidates,
        anchor_s=anchor_s,
        window_s=window_s,
        max_drift=abs(fit.drift) + MAX_STEP_DRIFT,
    ):
        if found.i.size < MIN_PART:
            break
        part = Hypothesis(i=free_i[found.i], j=free_j[found.j], fit=found.fit)
        is_apart = all(_is_apart(source, part, other) for other in parts)
        range_s, drift_ppm = 2.0 * MAX_STEP_S, 1e6 * MAX_STEP_DRIFT
        if not is_apart:
            continue
        chance = chance_of_match(left, seen, found, range_s, drift_ppm)
        if chance.probability <= max_chance:
            return part
    return None


def _is_apart(source: Instants, one: Hypothesis, other: Hypothesis) -> bool:
    """Return whether hardly any event of either part lies among those of the other."""
    return all(
        _n_among(source.times_s[a.i], source.times_s[b.i])
        <= MAX_MISPLACED * min(a.i.size, b.i.size)
        for a, b in ((one, other), (other, one))
    )


def _n_among(times_s: Floats, others_s: Floats) -> int:
    """Return how many times lie within the others, less a tenth of these at either end."""
    n_outliers = int(MAX_MISPLACED * others_s.size)
    inner = np.sort(others_s)[n_outliers : others_s.size - n_outliers]
    return int(np.count_nonzero((times_s > inner[0]) & (times_s < inner[-1])))


def _joined(source: Instants, target: Instants, parts: list[Hypothesis]) -> Hypothesis | None:
    """Return all parts as one match, or None where it explains no more than the first."""
    ordered = sorted(parts, key=lambda part: float(np.median(source.times_s[part.i])))
    i, j = ordered[0].i, ordered[0].j
    borders: list[float] = []
    for part in ordered[1:]:
        border_s = _border(source.times_s[i], source.times_s[part.i])
        before, after = source.times_s[i] < border_s, source.times_s[part.i] > border_s
        i, j = (
            np.concatenate([i[before], part.i[after]]),
            np.concatenate([j[before], part.j[after]]),
        )
        borders.append(border_s)
    by_time = np.argsort(i, kind="stable")
    i, j = i[by_time], j[by_time]
    steps = _steps(source, i, borders)
    fit = fit_pair(source, target, i, j, steps=steps)
    fits = np.abs(residuals_s(fit, source, target, i, j)) <= gates_s(source, target, i, j)
    if int(fits.sum()) < parts[0].i.size + MIN_PART:
        return None
    i, j = i[fits], j[fits]
    return Hypothesis(
        i=i, j=j, fit=fit_pair(source, target, i, j, steps=_steps(source, i, borders))
    )


def _border(before_s: Floats, after_s: Floats) -> float:
    """Return the time that separates two trains with the fewest events on the wrong side."""
    times = np.concatenate([before_s, after_s])
    is_second = np.concatenate([np.zeros(before_s.size), np.ones(after_s.size)])
    order = np.argsort(times, kind="stable")
    later = np.cumsum(is_second[order])
    position = np.arange(1, times.size + 1)
    wrong = later + (before_s.size - (position - later))
    border = int(np.argmin(wrong[:-1]))
    return 0.5 * float(times[order[border]] + times[order[border + 1]])


def _steps(source: Instants, i: Ints, borders: list[float]) -> list[OffsetStep]:
    """Return a step at every separating time that has events on both sides."""
    times_s = source.times_s[i]
    places = np.unique(np.searchsorted(times_s, np.sort(borders)))
    return [
        OffsetStep(after_s=float(times_s[k - 1]), before_s=float(times_s[k]))
        for k in places
        if 0 < k < times_s.size
    ]
