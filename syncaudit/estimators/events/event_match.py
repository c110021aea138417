"""The result of matching two sources."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.estimators.events.instants import Instants
from syncaudit.estimators.events.pair_fit import PairFit

__all__ = ["EventMatch"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EventMatch:
    """Which events of two sources are the same, and the clock map that follows.

    Parameters
    ----------
    source, target : Instants
        The events matched.
    i, j : ndarray of int, shape (n,)
        Pairs of positions; empty where refused.
    fit : PairFit, optional
        The joint fit; given also with some refusals, for the figures.
    why : str, optional
        Reason of the refusal, in words.
    period_s : float, optional
        Where the offset is known only modulo this.
    chance : float
        Probability that chance matched as many.
    n_runner_up : int
        Events that the next best offset explains as well.
    """

    source: Instants
    target: Instants
    i: Ints
    j: Ints
    fit: PairFit | None = None
    why: str | None = None
    period_s: float | None = None
    chance: float = 1.0
    n_runner_up: int = 0

    @property
    def n(self) -> int:
        """Return how many events matched."""
        return int(self.i.size)
