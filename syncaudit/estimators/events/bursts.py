"""Test whether a match of flashes that come in bursts may be off by a pulse.

Two cameras whose exposures do not cover the whole time may each show other pulses of a burst. A
clock map that is off by a pulse then pairs most of their events, and the right one may pair none,
so that no count of matched events decides between them. The ends of the bursts do: under a map that
is off, the last pulse of a burst that one camera shows has no counterpart in the view of the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from syncaudit.estimators.events.instants import Instants
from syncaudit.estimators.events.missed import BORDER, find_missed, reach_s, views_of
from syncaudit.estimators.events.pair_fit import PairFit
from syncaudit.model import FlashEdges, FlashIntervals, Quantity
from syncaudit.model.arrays import Bools, Floats

# A burst ends where the next event is further away than this many repetitions: one may be missed.
MAX_GAP = 2.5
# With fewer bursts, the train is a pattern that is played repeatedly.
MIN_BURSTS = 4
# Probability that a match which is off by a pulse shows as few events missing, and the share that
# detectors miss.
MAX_RISK = 1e-4
MAX_UNSEEN = 0.15
# Share of the pulses that a source shows: at most, and where its view is not known.
MAX_SHOWN = 0.9
MIN_SHOWN = 0.2


def may_be_off_by_pulse(source: Instants, target: Instants, fit: PairFit, repeat_s: float) -> bool:
    """Return whether the events come in bursts, and their ends do not confirm the match.

    Under a map that is off by a pulse or more, the last pulse of a burst that a source shows is its
    last pulse at least as often as the source shows any pulse; then the other source, if it has a
    full view, shows nothing where the map predicts an event. The number of such contradictions is
    binomial. The ends of the bursts exclude a shift to one side, their beginnings to the other.

    Parameters
    ----------
    source, target : Instants
        Of the pair.
    fit : PairFit
        The match.
    repeat_s : float
        After how long one of them repeats itself.
    """
    sides = _Side.of(source, fit, repeat_s), _Side.of(target, fit, repeat_s, is_target=True)
    if min(side.n_bursts for side in sides) < MIN_BURSTS:
        return False
    for is_early in (False, True):
        n_unseen = n_in_view = 0
        expected = 0.0
        for own, other, is_first in (
            (sides[0], sides[1], is_early),
            (sides[1], sides[0], not is_early),
        ):
            missed = other.missed(own, is_first=is_first)
            n_unseen += missed[0]
            n_in_view += missed[1]
            expected += missed[1] * own.share
        risk = binom.cdf(n_unseen, n_in_view, expected / max(n_in_view, 1))
        if risk > MAX_RISK or n_unseen > MAX_UNSEEN * n_in_view:
            return True
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """Events of one source of a pair, and when it has a full view, in the time of the target.

    Parameters
    ----------
    times_s, half_s : ndarray, shape (n,)
        Events of one sense, and their maximum errors.
    is_first, is_last : ndarray of bool, shape (n,)
        Which begin and end a burst.
    seen : tuple of ndarray, shape (k,)
        Times of all events, also of those known as intervals only, and their maximum errors.
    views_s : ndarray, shape (m, 2)
        When it has a full view.
    share : float
        Share of the time in which it shows pulses.
    """

    times_s: Floats
    half_s: Floats
    is_first: Bools
    is_last: Bools
    seen: tuple[Floats, Floats]
    views_s: Floats
    share: float

    @classmethod
    def of(
        cls, events: Instants, fit: PairFit, repeat_s: float, *, is_target: bool = False
    ) -> _Side:
        corrections = fit.target if is_target else fit.source
        everything = events.everything
        main = events.take(events.main_sense)
        line_delay_s = everything.line_delay_s + corrections.line_delay_s
        own_s, views_s = main.at(corrections), _views_s(everything, line_delay_s)
        seen_s = everything.at(corrections)
        is_end = np.concatenate([[True], np.diff(own_s) > MAX_GAP * repeat_s, [True]])
        if not is_target:
            own_s, seen_s = fit.predict(own_s), fit.predict(seen_s)
            views_s = fit.predict(views_s.ravel()).reshape(-1, 2)
        return cls(
            times_s=own_s,
            half_s=reach_s(main),
            is_first=is_end[:-1],
            is_last=is_end[1:],
            seen=(seen_s, reach_s(everything)),
            views_s=views_s,
            share=_share(_views_s(everything, line_delay_s, border=0.0)),
        )

    @property
    def n_bursts(self) -> int:
        """Return the number of bursts."""
        return int(self.is_first.sum())

    def missed(self, other: _Side, *, is_first: bool) -> tuple[int, int]:
        """Return how many ends of the other's bursts are in view here and not seen, and in view."""
        chosen = other.is_first if is_first else other.is_last
        found = find_missed(self.views_s, (other.times_s[chosen], other.half_s[chosen]), self.seen)
        return found.n_unseen, found.n_unseen + found.n_seen


def _views_s(events: Instants, line_delay_s: float, border: float = BORDER) -> Floats:
    """Return when the source shows every pulse, or every switch of a light that stays on.

    Triggers, clicks and counters are taken to be complete.
    """
    evidence = events.evidence
    if evidence is None:
        return np.empty((0, 2))
    is_camera = isinstance(evidence, FlashEdges) or (
        isinstance(evidence, FlashIntervals) and evidence.quantity is Quantity.FLASH
    )
    if is_camera and not events.is_lasting:
        return views_of(evidence, line_delay_s, border)
    return np.array([[events.times_s[0], events.times_s[-1]]])


def _share(views_s: Floats) -> float:
    """Return the share of the time that views, shape (m, 2), cover."""
    if not views_s.size:
        return MIN_SHOWN
    begin_s, end_s = views_s[np.argsort(views_s[:, 0])].T
    new_s = np.maximum(begin_s, np.concatenate([[-np.inf], np.maximum.accumulate(end_s)[:-1]]))
    covered_s = np.maximum(end_s - new_s, 0.0).sum()
    return min(MAX_SHOWN, float(covered_s / (end_s.max() - begin_s.min())))
