"""Whether another offset explains the events nearly as well."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from syncaudit.estimators.events.hypotheses import Hypothesis
from syncaudit.estimators.events.instants import Instants
from syncaudit.estimators.events.pair_fit import gates_s
from syncaudit.estimators.events.periodic import find_repeat

__all__ = ["is_doubtful", "repeat_of"]

Floats = NDArray[np.float64]

# Rivals that explain this share of the same events, or fail by fewer, are not excluded.
MAX_RIVAL_SHARE = 0.6
MIN_REPEAT_Z = 4.0
MIN_LEAD = 3


def is_doubtful(
    best: Hypothesis, rival: Hypothesis | None, n_shared: int, *, repeats: bool
) -> bool:
    """Return whether the runner-up is too close.

    Chance gives a rival a few events only. A train that repeats itself gives rivals that are wrong
    and as good but for luck (which pulses each source happened to see): there the lead must be
    more than four sigmas of the events of either train that only one of both explains (McNemar,
    "Note on the sampling error of the difference between correlated proportions or percentages",
    Psychometrika 12, 1947, doi:10.1007/BF02295996).
    """
    n_best, n_rival = best.i.size, 0 if rival is None else rival.i.size
    if repeats:
        n_by_one = 2 * max(n_best + n_rival - 2 * n_shared, 1)
        return bool(2 * (n_best - n_rival) < MIN_REPEAT_Z * math.sqrt(n_by_one))
    return bool(n_shared > MAX_RIVAL_SHARE * n_best or n_best - n_shared < MIN_LEAD)


def repeat_of(source: Instants, target: Instants, range_s: float) -> float | None:
    """Return after how long one of the trains repeats itself, or None."""
    for events in (source, target):
        everything = np.arange(events.n)
        tolerance_s = float(np.median(gates_s(events, events, everything, everything)))
        found = find_repeat(events.alike_s, tolerance_s=tolerance_s, max_lag_s=range_s)
        if found is not None:
            return found
    return None
