"""How often the events of one train follow one another at a distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.estimators.events.voting import evenly_chosen

__all__ = ["companion_shares"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Distances that are kept: of long trains, those from a part of the events.
MAX_LAGS = 200_000
# Distances that spread (a lamp's uneven width, an even train that jitters) are counted in wider
# windows, each twice as wide as the one before, and shared out evenly over them.
WIDENINGS = 2.0 ** np.arange(10)


def companion_shares(
    times_s: Floats,
    kinds: Ints,
    head: Ints,
    at_s: Floats,
    kind: Ints,
    is_event: NDArray[np.bool_],
    half_s: Floats,
    flash_s: float,
) -> Floats:
    """Return which share of a train's events has a companion at a distance, shape (m,).

    The conditional intensity of a point process, given an event at 0 (Cox & Lewis, "The
    statistical analysis of series of events", 1966, chapter 5), from all other events of the kind
    of `head`: those for which the companion would still lie within the train. A lamp's flashes may
    all be alike: what may be of one flash with its head counts as one that others have, until so
    many have none (rule of succession).

    Parameters
    ----------
    times_s, kinds : ndarray, shape (n,)
        Sorted instants of the train, and a number for each: lights that go on, that go off.
    head : ndarray of int, shape (m,)
        The event from which each distance counts. It does not vouch for itself.
    at_s : ndarray, shape (m,)
        Where the companion stands, after its head.
    kind : ndarray of int, shape (m,)
        Kind of the companion.
    is_event : ndarray of bool, shape (m,)
        Whether an event of the train stands there.
    half_s : ndarray, shape (m,)
        By how much each distance may differ.
    flash_s : float
        What follows so soon, or the end of a light that went on, may be of one and the same flash.
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
            alike = 1.0 / (1.0 + train.n_with_room(lag_s, n_own[1]))
            shares[chosen] = np.where(of_one_flash, np.maximum(best, alike), best)
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

    def densest(
        self, lag_s: Floats, half_s: Floats, is_own: NDArray[np.bool_], own_room_s: Floats
    ) -> Floats:
        """Return the share of other heads that have one, the largest over all widths."""
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
