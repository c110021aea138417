"""Audit stamps behind which there is no regular clock: a changing rate, or a loop that sleeps."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.stamps.grid import SETTLED
from syncaudit.detectors.stamps.rhythm import Rhythm
from syncaudit.detectors.stamps.words import irregular_remark
from syncaudit.dsp.robust import median
from syncaudit.model import StampAudit, StampRemark

__all__ = ["audit_irregular"]

Floats = NDArray[np.float64]

# An interval is a gap from one and a half usual ones on, as among regular stamps,
GAP = 1.5
# and if it lies beyond what the other long ones make likely, there and anywhere, with this chance
# of a false alarm,
FALSE_ALARM = 1e-3
# by more than rounding makes of intervals of a few lengths.
CLEARLY = 1.05
# A step back shortens an interval by so much of the usual one at least.
SHORT = 0.3
MOST_STEPS = 64


def audit_irregular(
    stamps: NDArray[np.int64], rhythm: Rhythm, steps_s: Floats, base: StampAudit
) -> tuple[StampAudit, StampRemark]:
    """Audit stamps whose intervals have no common period, and word that.

    Intervals are held against those around them. A jump forward is a late sample here, not a step
    of the clock: a loop that was held up goes on from where it is.

    `stamps`, shape (n,): in file order. `rhythm`: of these intervals. `steps_s`, shape (n - 1,):
    intervals; at least one is positive. `base`: counts of duplicates and steps back.
    """
    usual_s = rhythm.usual_s
    if usual_s is None:
        usual_s = np.full(steps_s.size, median(steps_s[steps_s > 0.0]))
    beyond_s = steps_s - usual_s
    is_gap = (usual_s > 0.0) & (steps_s >= GAP * usual_s)
    for lengths_s in (steps_s, beyond_s):
        is_gap &= lengths_s > CLEARLY * _natural(lengths_s)
    spent_s = float(np.sum(np.abs(steps_s[~is_gap])))
    rate_hz = int(np.count_nonzero(~is_gap)) / spent_s if spent_s > 0.0 else None
    audit = replace(
        base,
        rate_hz=rate_hz,
        jitter_s=rhythm.jitter_s,
        buffering_s=rhythm.waiting_s,
        gaps=int(np.count_nonzero(is_gap)),
        missing=int(np.sum(np.rint(steps_s[is_gap] / usual_s[is_gap]) - 1.0)),
        lost_s=float(beyond_s[is_gap].max()) if is_gap.any() else 0.0,
        steps=tuple((int(stamps[i + 1]), size_s) for i, size_s in _steps_back(steps_s, usual_s)),
        is_irregular=True,
    )
    return audit, irregular_remark(steps_s[~is_gap & (steps_s > 0.0)], usual_s)


def _natural(lengths_s: Floats) -> float:
    """Return how long the longest of so many may be by chance.

    The tail beyond the upper tenth is taken as exponential, its scale from the median, so that
    gaps do not count: the longest of m of them exceeds ``scale * log(m / p)`` with chance p.
    Exponential intervals are those of samples that know nothing of each other; other devices have
    shorter tails.
    """
    ordered_s = np.sort(lengths_s)
    n_tail = -(-ordered_s.size // 10)
    edge_s = float(ordered_s[-n_tail])
    scale_s = (median(ordered_s[-n_tail:]) - edge_s) / math.log(2.0)
    return max(0.0, edge_s + scale_s * math.log(n_tail / FALSE_ALARM))


def _steps_back(steps_s: Floats, usual_s: Floats) -> list[tuple[int, float]]:
    """Return (interval, size) of jumps back: a sample can be late, but not come before its time.

    A stamp that is late, or several that were held up, make short intervals as well: right after a
    long one, which they pay back.
    """
    is_short = steps_s < (1.0 - SHORT) * usual_s
    for missing_s in (usual_s - steps_s, median(steps_s) - steps_s):
        is_short &= missing_s > CLEARLY * _natural(missing_s)
    beyond_s = steps_s - usual_s
    is_odd = np.abs(beyond_s) > 0.5 * SHORT * usual_s
    found = []
    for i in np.flatnonzero(is_short)[:MOST_STEPS].tolist():
        first, stop = i, i + 1
        while first > 0 and is_odd[first - 1] and i - first < SETTLED:
            first -= 1
        while stop < is_odd.size and is_odd[stop] and stop - i <= SETTLED:
            stop += 1
        if float(np.sum(beyond_s[first:stop])) < 0.5 * float(beyond_s[i]):
            found.append((i, float(beyond_s[i])))
    return found
