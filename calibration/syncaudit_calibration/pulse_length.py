"""Estimate the common length of all pulses of a light, which converts ends to onsets.

With an exposure much shorter than the pulses, a camera shows the onset of a pulse, its end or
neither. Cameras rarely show the same ones, and a trigger gives onsets only. Pulses played by a
program all have the same length: with that length, one number for all sources, ends count as
onsets.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from syncaudit.dsp.robust import mad_std
from syncaudit.estimators.events import Instants, match_events
from syncaudit.estimators.events.matching import MAX_CHANCE, MAX_DRIFT_PPM, MIN_WINDOW_S
from syncaudit.estimators.events.voting import Candidate, chance_of, vote
from syncaudit.model.arrays import Bools, Floats

# Longer pulses are switched by hand and differ in length.
MAX_LENGTH_S = 2.0
# Number of offsets per pair of trains that are combined, and number of lengths tested.
N_CANDIDATES = 20
N_TESTED = 5
# Minimum number of pulse ends for a length, and the smallest gate, which counts as one trial.
MIN_ENDS = 3
LEAST_GATE_S = 1e-4
# Maximum number of events of the same kind that agree on another length, relative to those that
# agree on the chosen one.
MAX_RIVAL = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Proposal:
    """A length proposed by two trains: ends of one, onsets of the other."""

    length_s: float
    votes: int
    ends: str
    onsets: str
    plain: Candidate


def as_onsets(events: Instants, length_s: float) -> Instants:
    """Return the events with the ends of pulses moved to their onsets."""
    if events.sense is None:
        return events
    times_s = events.times_s - length_s * (events.sense < 0)
    moved = replace(events, times_s=times_s, sense=np.ones(events.n, dtype=np.int64))
    return moved.in_order()


def find_pulse_length(events: Mapping[str, Instants], *, max_offset_s: float) -> float | None:
    """Return the length of the pulses, in seconds, or None if they have no common one.

    The ends seen by one source vote against the onsets seen by another, and so do events of the
    same kind in both: the difference of the two offsets is the length. The votes of all pairs are
    added. Both the resulting match and the ends in it must be significant, given all lengths tried.

    A `sense` in `events` distinguishes onsets from ends; timestamps are off by at most
    `max_offset_s`, either sign.
    """
    sharp = {
        name: train
        for name, train in events.items()
        if train.line_delay_std_s == 0.0
        and not train.half_s.any()
        and (train.sense is not None or train.is_onset)
    }
    found = [
        proposal
        for ends, onsets in itertools.permutations(sorted(sharp), 2)
        for proposal in _proposals(sharp[ends], sharp[onsets], max_offset_s)
    ]
    for proposal in itertools.islice(_best_first(found), N_TESTED):
        pair = sharp[proposal.ends], sharp[proposal.onsets]
        length_s = _refined(*pair, proposal)
        if length_s is not None and _is_proven(*pair, length_s, max_offset_s):
            return length_s
    return None


def _proposals(ends: Instants, onsets: Instants, max_offset_s: float) -> Iterator[_Proposal]:
    is_end, is_onset = _is_end(ends), ~_is_end(onsets)
    if np.count_nonzero(is_end) < MIN_ENDS or np.count_nonzero(is_onset) < MIN_ENDS:
        return
    crossed = _voted(ends, onsets, is_end, is_onset, max_offset_s)
    plain = _voted(ends, onsets, ~is_end, is_onset, max_offset_s)
    plain += _voted(ends, onsets, is_end, ~is_onset, max_offset_s)
    for one, other in itertools.product(plain, crossed):
        length_s = one.offset_s - other.offset_s
        if 0.0 < length_s <= MAX_LENGTH_S:
            yield _Proposal(
                length_s=length_s,
                votes=one.votes + other.votes,
                ends=ends.source,
                onsets=onsets.source,
                plain=one,
            )


def _voted(
    source: Instants,
    target: Instants,
    of_source: Bools,
    of_target: Bools,
    max_offset_s: float,
) -> list[Candidate]:
    if not of_source.any() or not of_target.any():
        return []
    epochs_s = (target.epoch_ns - source.epoch_ns) * 1e-9
    return vote(
        source.times_s[of_source],
        target.times_s[of_target],
        window_s=MIN_WINDOW_S,
        lowest_s=-epochs_s - max_offset_s,
        highest_s=-epochs_s + max_offset_s,
        max_drift=1e-6 * MAX_DRIFT_PPM,
        anchor_s=_middle(source),
        n_best=N_CANDIDATES,
    )


def _best_first(found: list[_Proposal]) -> Iterator[_Proposal]:
    """Yield the proposals by decreasing support over all pairs of sources, each length once."""
    if not found:
        return
    lengths = np.array([proposal.length_s for proposal in found])
    votes = np.array([proposal.votes for proposal in found], dtype=np.float64)
    pairs = np.array([f"{proposal.ends}\0{proposal.onsets}" for proposal in found])
    names, pair = np.unique(pairs, return_inverse=True)
    total = np.zeros(len(found))
    for k in range(len(found)):
        near = np.abs(lengths - lengths[k]) < 2.0 * MIN_WINDOW_S
        best = np.zeros(names.size)
        np.maximum.at(best, pair[near], votes[near])
        total[k] = best.sum()
    # For each length, the pair with the most votes comes first.
    is_left = np.ones(len(found), dtype=np.bool_)
    for k in np.lexsort((-votes, -total)).tolist():
        if is_left[k]:
            is_left &= np.abs(lengths - lengths[k]) >= 2.0 * MIN_WINDOW_S
            yield found[k]


def _refined(ends: Instants, onsets: Instants, proposal: _Proposal) -> float | None:
    """Refine the length by least squares, jointly with offset and drift of the pair."""
    lever, off, crossed = [], [], []
    predicted_s = (
        ends.times_s
        + proposal.plain.offset_s
        + proposal.plain.drift * (ends.times_s - _middle(ends))
    )
    for is_crossed in (False, True):
        shift_s = proposal.length_s * is_crossed
        for sense in (-1, 1):
            one = np.flatnonzero(_is_end(ends) == (sense < 0))
            other = np.flatnonzero(_is_end(onsets) == ((sense < 0) != is_crossed))
            if not other.size or (is_crossed and sense > 0):
                continue
            apart = onsets.times_s[other] - (predicted_s[one, None] - shift_s)
            nearest = np.argmin(np.abs(apart), axis=1)
            apart_s = apart[np.arange(one.size), nearest]
            near = np.abs(apart_s) < 2.0 * MIN_WINDOW_S
            lever.append(ends.times_s[one][near] - _middle(ends))
            off.append(apart_s[near])
            crossed.append(np.full(int(near.sum()), -float(is_crossed)))
    y = np.concatenate(off)
    design = np.stack((np.ones(y.size), np.concatenate(lever), np.concatenate(crossed)), axis=1)
    kept = np.ones(y.size, dtype=np.bool_)
    for _ in range(3):
        if np.count_nonzero(design[kept, 2]) < MIN_ENDS or kept.sum() < 2 * MIN_ENDS:
            return None
        x, *_ = np.linalg.lstsq(design[kept], y[kept], rcond=None)
        left = y - design @ x
        kept = np.abs(left) < max(LEAST_GATE_S, 4.0 * mad_std(left[kept]))
    return proposal.length_s + float(x[2])


def _is_proven(ends: Instants, onsets: Instants, length_s: float, max_offset_s: float) -> bool:
    moved, target = as_onsets(ends, length_s), as_onsets(onsets, length_s)
    match = match_events(moved, target, max_offset_s=max_offset_s, check_periods=False)
    if match.why is not None or match.fit is None:
        return False
    gate_s = max(LEAST_GATE_S, 2.0 * (moved.tolerance_s + target.tolerance_s))
    n_trials = MAX_LENGTH_S / gate_s
    if match.chance * n_trials > MAX_CHANCE:
        return False
    was_end = _was_end(ends, length_s)
    is_start = ~_was_end(onsets, length_s)
    n_ends = int(np.count_nonzero(was_end[match.i] & is_start[match.j]))
    span_s = max(float(np.ptp(target.times_s)), gate_s)
    expected = np.count_nonzero(was_end) * np.count_nonzero(is_start) * gate_s / span_s
    if chance_of(n_ends, expected, n_trials) > MAX_CHANCE:
        return False
    # Ends can be matched to onsets with any length, by another offset: events of the same kind
    # decide.
    is_same_kind = was_end[:, None] != is_start
    apart_s = (target.times_s - match.fit.predict(moved.at(match.fit.source))[:, None])[
        is_same_kind
    ]
    n_same_kind = np.count_nonzero(is_same_kind[match.i, match.j])
    return bool(_most_elsewhere(apart_s, gate_s) <= MAX_RIVAL * n_same_kind)


def _most_elsewhere(apart_s: Floats, gate_s: float) -> int:
    """Return the largest number of distances that agree on another length.

    By chance hardly any do, unless the lights are on a grid: a screen's frames, a program's ticks.
    """
    near = np.sort(apart_s[(np.abs(apart_s) > 2.0 * gate_s) & (np.abs(apart_s) <= MAX_LENGTH_S)])
    stops = np.searchsorted(near, near + 2.0 * gate_s, side="right")
    return int((stops - np.arange(near.size)).max(initial=0))


def _was_end(events: Instants, length_s: float) -> Bools:
    """Return which events were ends, in the order of `as_onsets`."""
    is_end = _is_end(events)
    return is_end[np.argsort(events.times_s - length_s * is_end, kind="stable")]


def _is_end(events: Instants) -> Bools:
    if events.sense is None:
        return np.zeros(events.n, dtype=np.bool_)
    return np.asarray(events.sense < 0)


def _middle(events: Instants) -> float:
    return 0.5 * float(events.times_s[0] + events.times_s[-1])
