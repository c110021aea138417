"""Tell how likely chance alone matches as many events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.estimators.events.companions import companion_shares
from syncaudit.estimators.events.hypotheses import MIN_MATCHED, Hypothesis
from syncaudit.estimators.events.instants import Instants
from syncaudit.estimators.events.pair_fit import gates_s, residuals_s
from syncaudit.estimators.events.voting import chance_of

__all__ = ["Chance", "chance_of_match", "tail_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# The shortest train that a rate is told of, and how far beyond its ends events may still match.
SHORTEST_S = 0.25
# Where the density of events alone matches this share of them, they must also gather around the
# offset: more of them than this, in deviations of a fair coin, within half of their gates.
CROWDED_SHARE = 0.2
MIN_GATHERED = 4.0
# One flash may take so long, and in trains that last for longer than a few of them no more than
# this share of the mean time between events.
FLASH_S = 0.25
FLASH_SHARE = 0.25
LASTING_S = 20.0 * FLASH_S
# Coincidences right beside an offset are counted between so many gates.
BESIDE = (2.0, 6.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """How likely chance alone matches as many events.

    Parameters
    ----------
    probability : float
        Of as many somewhere in the search.
    expected : float
        How many single, unrepeated events chance matches at one offset.
    n_trials : float
        Distinct windows of the search.
    """

    probability: float
    expected: float = 0.0
    n_trials: float = 1.0

    def needed(self, max_chance: float) -> int:
        """Return how many events that repeat no distance would have to match."""
        n = MIN_MATCHED
        while chance_of(n, self.expected, self.n_trials) > max_chance:
            n += 1
        return n


def chance_of_match(
    source: Instants,
    target: Instants,
    found: Hypothesis,
    range_s: float,
    max_drift_ppm: float,
) -> Chance:
    """Return the probability that chance matches as many events as `found` somewhere.

    Event by event, in the order of time: the probability that a train with nothing in common has
    an event within the gate is given by its mean rate or, once the event before has matched, by
    how often this train's own events follow one another at that distance (`companion_shares`),
    whichever is larger. So the second edge of a flash proves nothing that its first did not where
    all flashes last as long, nor does the next pulse of an even train or the next frame of a
    camera; three sharp events that repeat no distance prove enough. At least as many matches of so
    many trials have a Poisson binomial distribution (`tail_of`); every distinct window of the
    search is another attempt (Bonferroni).

    Either train may be the one with the structure: the larger of both probabilities counts.

    Parameters
    ----------
    source, target : Instants
        Of the pair.
    found : Hypothesis
        What was matched.
    range_s, max_drift_ppm : float
        All offsets searched, and the largest drift, either way.
    """
    n, i, j = found.i.size, found.i, found.j
    if n < MIN_MATCHED:
        return Chance(probability=1.0)
    gates = 2.0 * gates_s(source, target, i, j)
    gate_s, sharpest_s = float(np.mean(gates)), float(np.min(gates))
    kinds = _kinds(source), _kinds(target)
    predicted = found.fit.predict(source.times_s, source.row_px)
    returned = found.fit.source_of(target.times_s + target.row_px * found.fit.target_line_s)
    shares = _shares(predicted, target.times_s, kinds, i, gates)
    back = _shares(returned, source.times_s, kinds[::-1], j, gates)
    n_trials = max(1.0, range_s / sharpest_s)
    n_trials *= max(1.0, 2e-6 * max_drift_ppm * float(np.ptp(source.times_s)) / sharpest_s)
    for events in (source, target):
        row_s = 4.0 * events.line_delay_std_s * float(np.ptp(events.row_px))
        n_trials *= max(1.0, row_s / sharpest_s)
    by_time = np.argsort(j, kind="stable")
    tail = max(
        _tail(predicted, target.times_s, kinds, (i, j), gates, shares),
        _tail(
            returned,
            source.times_s,
            kinds[::-1],
            (j[by_time], i[by_time]),
            gates[by_time],
            back,
        ),
    )
    expected = float(shares.sum())
    n_alike = max(expected, _coincidences_beside(predicted, target.times_s, gate_s))
    if n_alike > CROWDED_SHARE * n and _is_flat(source, target, found):
        tail = 1.0
    return Chance(probability=min(1.0, n_trials * tail), expected=expected, n_trials=n_trials)


def tail_of(shares: Floats, n_matched: int) -> float:
    """Return the probability that at least so many of independent trials succeed.

    The exact Poisson binomial distribution by convolution, one trial after the other.

    Parameters
    ----------
    shares : ndarray, shape (n,)
        Probability of each trial.
    n_matched : int
        Successes.
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

    By the mean rate of those that could be the same: light that goes on is none that goes off.
    """
    span_s = max(float(seen[-1] - seen[0]), SHORTEST_S)
    n_alike = np.array([np.count_nonzero(kinds[1] * kind >= 0) for kind in kinds[0]])
    inside = (predicted >= seen[0] - SHORTEST_S) & (predicted <= seen[-1] + SHORTEST_S)
    all_gates = np.full(predicted.size, np.mean(gates))
    all_gates[own] = gates
    shares: Floats = np.where(inside, np.minimum(n_alike / span_s * all_gates, 1.0), 0.0)
    return shares


def _kinds(events: Instants) -> Ints:
    return np.zeros(events.n, dtype=np.int64) if events.sense is None else events.sense


def _tail(
    predicted: Floats,
    seen: Floats,
    kinds: tuple[Ints, Ints],
    pairs: tuple[Ints, Ints],
    gates: Floats,
    shares: Floats,
) -> float:
    """Return how likely chance matches as many where each match makes the next more likely."""
    i, j = pairs
    before = np.searchsorted(i, np.arange(predicted.size)) - 1
    follows = (before >= 0) & (shares > 0.0)
    at_s, kind = predicted.copy(), kinds[0].copy()
    at_s[i], kind[i] = seen[j], kinds[1][j]
    is_event = np.isin(np.arange(predicted.size), i)
    half_s = np.full(predicted.size, 0.5 * np.mean(gates))
    half_s[i] = 0.5 * gates
    after = companion_shares(
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
    return tail_of(shares[shares > 0.0], i.size)


def _longest_flash_s(train: Floats) -> float:
    span_s = float(np.ptp(train))
    return min(FLASH_S, FLASH_SHARE * span_s / train.size) if span_s > LASTING_S else FLASH_S


def _coincidences_beside(predicted: Floats, seen: Floats, gate_s: float) -> float:
    """Return how many events would coincide a few gates beside the offset.

    Nearer than `BESIDE[0]` gates lie those whose stamps jitter.
    """
    near, far = (
        np.sum(
            np.searchsorted(seen, predicted + gates * gate_s)
            - np.searchsorted(seen, predicted - gates * gate_s)
        )
        for gates in BESIDE
    )
    return 0.5 * float(far - near) / (BESIDE[1] - BESIDE[0])


def _is_flat(source: Instants, target: Instants, found: Hypothesis) -> bool:
    """Tell whether matched instants scatter evenly over their gates, as those of chance do."""
    i, j = found.i, found.j
    if source.half_s[i].any() or target.half_s[j].any():
        return False
    off_s = np.abs(residuals_s(found.fit, source, target, i, j))
    n_inner = np.count_nonzero(off_s < 0.5 * gates_s(source, target, i, j))
    return bool(n_inner - 0.5 * i.size < MIN_GATHERED * 0.5 * np.sqrt(i.size))
