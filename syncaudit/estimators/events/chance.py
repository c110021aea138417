"""Estimate how likely chance alone matches as many events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syncaudit.estimators.events.hypotheses import MIN_MATCHED, Hypothesis, matched_by
from syncaudit.estimators.events.instants import Instants
from syncaudit.estimators.events.pair_fit import (
    PairFit,
    gates_s,
    residuals_s,
    timing_unknowns,
)
from syncaudit.estimators.events.voting import chance_of, evenly_chosen
from syncaudit.model.arrays import Bools, Floats, Ints

# The shortest train for which a rate is computed, and how far beyond its ends events may match.
SHORTEST_S = 0.25
# Where the density of events alone matches this share of them, they must also cluster around the
# offset: the number within half of their gates must exceed half by this many standard deviations of
# a fair coin.
CROWDED_SHARE = 0.2
MIN_GATHERED = 4.0
# Longest duration of one flash; in trains that last much longer than a few flashes, also at most
# this share of the mean time between events.
FLASH_S = 0.25
FLASH_SHARE = 0.25
LASTING_S = 20.0 * FLASH_S
# Coincidences right beside an offset are counted between these multiples of the gate.
BESIDE = (2.0, 6.0)
# Largest number of distances kept; long trains contribute those from a part of their events.
MAX_LAGS = 200_000
# Distances that scatter (a lamp's varying pulse width, an even train with jitter) are counted in
# wider windows, each twice as wide as the one before, and distributed evenly over them.
WIDENINGS = 2.0 ** np.arange(10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """How likely chance alone matches as many events.

    Parameters
    ----------
    probability : float
        Of this many matches somewhere in the search.
    expected : float
        How many single, unrepeated events chance matches at one offset.
    n_trials : float
        Distinct windows of the search.
    """

    probability: float
    expected: float = 0.0
    n_trials: float = 1.0

    def needed(self, max_chance: float) -> int:
        """Return how many events without repeated distances would have to match."""
        n = MIN_MATCHED
        while chance_of(n, self.expected, self.n_trials) > max_chance:
            n += 1
        return n


def chance_of_match(
    source: Instants, target: Instants, found: Hypothesis, range_s: float, max_drift_ppm: float
) -> Chance:
    """Return the probability that chance matches as many events as `found` somewhere.

    Event by event, in order of time: the probability that an unrelated train has an event within
    the gate is given by its mean rate or, once the previous event has matched, by how often this
    train's own events follow one another at that distance (`_companion_shares`), whichever is
    larger. So where all flashes last equally long, the second edge of a flash adds no evidence to
    the first; neither does the next pulse of an even train or the next frame of a camera. Three
    sharp events that repeat no distance are sufficient evidence. The number of matches in these
    trials has a Poisson binomial distribution (`_tail_of`); every distinct window of the search is
    another attempt (Bonferroni).

    Either train may be the structured one: the larger of the two probabilities counts.

    Parameters
    ----------
    source, target : Instants
        Of the pair.
    found : Hypothesis
        What was matched.
    range_s, max_drift_ppm : float
        Width of the offset search, and the largest drift, either sign.
    """
    source, i = _once(source, found.i)
    target, j = _once(target, found.j)
    _, first = np.unique(i, return_index=True)
    i, j = i[first], j[first]
    n = i.size
    if n < MIN_MATCHED:
        return Chance(probability=1.0)
    gates = 2.0 * gates_s(source, target, i, j)
    gate_s, sharpest_s = float(np.mean(gates)), float(np.min(gates))
    kinds = source.senses, target.senses
    predicted = found.fit.predict(source.at(found.fit.source))
    returned = found.fit.source_of(target.at(found.fit.target))
    shares = _shares(predicted, target.times_s, kinds, i, gates)
    n_trials = max(1.0, range_s / sharpest_s)
    n_trials *= max(1.0, 2e-6 * max_drift_ppm * float(np.ptp(source.times_s)) / sharpest_s)
    everything = np.arange(source.n), np.arange(target.n)
    for unknown in timing_unknowns(source, target, *everything):
        n_trials *= max(1.0, 4.0 * unknown.std_s * float(np.ptp(unknown.lever)) / sharpest_s)
    by_time = np.argsort(j, kind="stable")
    tail = max(
        _tail_of_pairs(predicted, source, target, (i, j), gates),
        _tail_of_pairs(returned, target, source, (j[by_time], i[by_time]), gates[by_time]),
    )
    expected = float(shares.sum())
    n_beside = max(expected, _coincidences_beside(predicted, target.times_s, gate_s))
    if n_beside > CROWDED_SHARE * n and _is_flat(source, target, found.fit, i, j):
        tail = 1.0
    return Chance(probability=min(1.0, n_trials * tail), expected=expected, n_trials=n_trials)


def _once(events: Instants, at: Ints) -> tuple[Instants, Ints]:
    """Return the events with coincident ones merged, and the new positions of those at `at`.

    Both ends of a light of known length determine when it went on: the second adds no information.
    """
    k = np.arange(events.n - 1)
    is_same = np.diff(events.times_s) <= gates_s(events, events, k, k + 1)
    is_same &= (np.diff(events.senses) == 0) & (events.half_s[:-1] + events.half_s[1:] == 0.0)
    is_first = np.append(True, ~is_same)
    return events.take(np.flatnonzero(is_first)), np.cumsum(is_first)[at] - 1


def chance_of_intervals(source: Instants, target: Instants, fit: PairFit) -> float:
    """Return how likely chance matches as many intervals with events of the other train.

    The clock map comes from the sharp events alone, so there is no search. Where both trains have
    intervals, these may belong to the same lights: the larger probability counts.

    Parameters
    ----------
    source, target : Instants
        Of the pair, with their intervals.
    fit : PairFit
        Fit to their sharp events.
    """
    tails = []
    own, other = _vague(source), _vague(target)
    if own.n:
        i, j = matched_by(fit, own, target)
        gates = 2.0 * gates_s(own, target, i, j)
        predicted = fit.predict(own.at(fit.source))
        tails.append(_tail_of_pairs(predicted, own, target, (i, j), gates))
    if other.n:
        i, j = matched_by(fit, source, other)
        order = np.argsort(j, kind="stable")
        gates = 2.0 * gates_s(source, other, i, j)[order]
        returned = fit.source_of(other.at(fit.target))
        tails.append(_tail_of_pairs(returned, other, source, (j[order], i[order]), gates))
    return max(tails, default=1.0)


def _vague(events: Instants) -> Instants:
    return events.take(np.flatnonzero(events.half_s > 0.0).astype(np.int64))


def _tail_of_pairs(
    predicted: Floats, own: Instants, other: Instants, pairs: tuple[Ints, Ints], gates: Floats
) -> float:
    if not pairs[0].size:
        return 1.0
    kinds = own.senses, other.senses
    shares = _shares(predicted, other.times_s, kinds, pairs[0], gates)
    return _tail(predicted, other.times_s, kinds, pairs, gates, shares)


def _tail_of(shares: Floats, n_matched: int) -> float:
    """Return the probability that at least `n_matched` independent trials succeed.

    Computes the exact Poisson binomial distribution by convolution, trial by trial.
    """
    density = np.zeros(shares.size + 1)
    density[0] = 1.0
    for k, share in enumerate(shares, start=1):
        density[1 : k + 1] = density[1 : k + 1] * (1.0 - share) + density[:k] * share
        density[0] *= 1.0 - share
    return float(density[n_matched:].sum())


def _shares(
    predicted: Floats, seen: Floats, kinds: tuple[Ints, Ints], own: Ints, gates: Floats
) -> Floats:
    """Return the probability that an event of another train lies within each gate, shape (n,).

    From the mean rate of the events that could match: a light that goes on never matches one that
    goes off.
    """
    span_s = max(float(seen[-1] - seen[0]), SHORTEST_S)
    n_same_sense = np.array([np.count_nonzero(kinds[1] * kind >= 0) for kind in kinds[0]])
    inside = (predicted >= seen[0] - SHORTEST_S) & (predicted <= seen[-1] + SHORTEST_S)
    all_gates = np.full(predicted.size, np.mean(gates))
    all_gates[own] = gates
    shares: Floats = np.where(inside, np.minimum(n_same_sense / span_s * all_gates, 1.0), 0.0)
    return shares


def _tail(
    predicted: Floats,
    seen: Floats,
    kinds: tuple[Ints, Ints],
    pairs: tuple[Ints, Ints],
    gates: Floats,
    shares: Floats,
) -> float:
    """Return how likely chance matches as many, if each match makes the next more likely."""
    i, j = pairs
    before = np.searchsorted(i, np.arange(predicted.size)) - 1
    follows = (before >= 0) & (shares > 0.0)
    at_s, kind = predicted.copy(), kinds[0].copy()
    at_s[i], kind[i] = seen[j], kinds[1][j]
    is_event = np.isin(np.arange(predicted.size), i)
    half_s = np.full(predicted.size, 0.5 * np.mean(gates))
    half_s[i] = 0.5 * gates
    after = _companion_shares(
        seen,
        kinds[1],
        j[before[follows]],
        at_s[follows],
        kind[follows],
        is_event[follows],
        half_s[follows],
        min(_longest_flash_s(predicted), _longest_flash_s(seen)),
    )
    shares = shares.copy()
    shares[follows] = np.maximum(shares[follows], after)
    return _tail_of(shares[shares > 0.0], i.size)


def _longest_flash_s(train: Floats) -> float:
    span_s = float(np.ptp(train))
    return min(FLASH_S, FLASH_SHARE * span_s / train.size) if span_s > LASTING_S else FLASH_S


def _coincidences_beside(predicted: Floats, seen: Floats, gate_s: float) -> float:
    """Return how many events would coincide a few gates beside the offset.

    Those nearer than `BESIDE[0]` gates may be true matches with timestamp jitter.
    """
    near, far = (
        np.sum(
            np.searchsorted(seen, predicted + gates * gate_s)
            - np.searchsorted(seen, predicted - gates * gate_s)
        )
        for gates in BESIDE
    )
    return 0.5 * float(far - near) / (BESIDE[1] - BESIDE[0])


def _is_flat(source: Instants, target: Instants, fit: PairFit, i: Ints, j: Ints) -> bool:
    """Return whether matched instants scatter evenly over their gates, as chance matches do."""
    if source.half_s[i].any() or target.half_s[j].any():
        return False
    off_s = np.abs(residuals_s(fit, source, target, i, j))
    n_inner = np.count_nonzero(off_s < 0.5 * gates_s(source, target, i, j))
    return bool(n_inner - 0.5 * i.size < MIN_GATHERED * 0.5 * np.sqrt(i.size))


def _companion_shares(
    times_s: Floats,
    kinds: Ints,
    head: Ints,
    at_s: Floats,
    kind: Ints,
    is_event: Bools,
    half_s: Floats,
    flash_s: float,
) -> Floats:
    """Return the share of a train's events with a companion at each distance, shape (m,).

    The conditional intensity of a point process, given an event at 0 (Cox & Lewis, "The
    statistical analysis of series of events", 1966, chapter 5), from all other events of the kind
    of `head`: those for which the companion would still lie within the train. A lamp's flashes may
    all be identical: a companion that may belong to the same flash as its head is assumed to recur,
    until enough other heads turn out to have none (rule of succession). It may belong to the same
    flash if it follows within `flash_s`, or ends a light that went on.
    """
    shares = np.zeros(head.size)
    for first in np.unique(kinds[head]):
        for second in np.unique(kind):
            chosen = np.flatnonzero((kinds[head] == first) & (kind == second))
            heads = np.flatnonzero(kinds == first)
            others_s = times_s[kinds == second]
            heads = heads[evenly_chosen(heads.size, MAX_LAGS // max(1, others_s.size))]
            lags_s = (others_s - times_s[heads, None]).ravel()
            train = _Train(
                lags_s=np.sort(lags_s[lags_s > 0.0]), rooms_s=times_s[-1] - times_s[heads[::-1]]
            )
            own, lag_s = head[chosen], at_s[chosen] - times_s[head[chosen]]
            is_head = np.isin(own, heads)
            n_own = is_head & is_event[chosen], is_head * (times_s[-1] - times_s[own])
            best = train.densest(lag_s, half_s[chosen], *n_own)
            of_one_flash = (lag_s <= flash_s) | bool(first > second)
            equal = 1.0 / (1.0 + train.n_with_room(lag_s, n_own[1]))
            shares[chosen] = np.where(of_one_flash, np.maximum(best, equal), best)
    return shares


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Train:
    """Sorted distances from heads to later events, and sorted times from heads to the end."""

    lags_s: Floats
    rooms_s: Floats

    def n_with_room(self, lag_s: Floats, own_room_s: Floats) -> Ints:
        """Return how many other heads could have a companion at each distance."""
        n = self.rooms_s.size - np.searchsorted(self.rooms_s, lag_s, side="left")
        return n - (own_room_s >= np.maximum(lag_s, 1e-12))

    def densest(self, lag_s: Floats, half_s: Floats, is_own: Bools, own_room_s: Floats) -> Floats:
        """Return the share of other heads with a companion, the largest over all widths."""
        best = np.zeros(lag_s.size)
        for widening in WIDENINGS:
            reach_s = half_s * widening
            counts = (
                np.searchsorted(self.lags_s, lag_s + reach_s, side="right")
                - np.searchsorted(self.lags_s, lag_s - reach_s, side="left")
                - is_own
            )
            n_could = np.maximum(self.n_with_room(lag_s - reach_s, own_room_s), 1)
            share = np.minimum(counts / n_could, 1.0) / widening
            best = np.where(reach_s <= lag_s, np.maximum(best, share), best)
        return best
