"""Find logs that hold both edges of pulses, as of a GPIO line that changes its level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from syncaudit.estimators.events.instants import EventEvidence, Instants, instants_of
from syncaudit.model import EventTrain, Quantity

MIN_PULSES = 5
# Programs hold pulses to this share of their length; the gaps between irregular pulses differ by
# more.
EQUAL_SHARE = 0.02
# Onsets of two flashes in the same camera as far apart as the edges, within this part of their
# distance or a frame's resolution of such flashes: at least as many are no coincidence.
MIN_TWICE = 3
NEAR_S = 0.002


def without_ends(evidence: Sequence[EventEvidence]) -> list[EventEvidence]:
    """Return the evidence with the ends of pulses removed from logs that hold both edges.

    Every second gap of such a log is as long as a pulse, and the others differ. The same holds for
    lights that flash twice, but then cameras show flashes that far apart.

    Parameters
    ----------
    evidence : sequence of FlashEdges, FlashIntervals or EventTrain
        One per source, of one light.
    """
    seen = [instants_of(item) for item in evidence if not isinstance(item, EventTrain)]
    return [
        _onsets(item, seen)
        if isinstance(item, EventTrain) and item.quantity is Quantity.TRIGGER
        else item
        for item in evidence
    ]


def _onsets(log: EventTrain, seen: Sequence[Instants]) -> EventTrain:
    order = np.argsort(log.times_s, kind="stable")
    gaps_s = np.diff(log.times_s[order])
    for first in (0, 1):
        on_s, off_s = gaps_s[first::2], gaps_s[1 - first :: 2]
        if on_s.size < MIN_PULSES:
            continue
        length_s, std_s = float(np.median(on_s)), float(np.median(log.std_s))
        allowed_s = EQUAL_SHARE * length_s + 4.0 * std_s
        is_equal = np.all(np.abs(on_s - length_s) < allowed_s)
        if is_equal and np.ptp(off_s) > 4.0 * allowed_s and not _flash_twice(seen, length_s):
            kept = order[first::2]
            return replace(log, times_s=log.times_s[kept], std_s=log.std_s[kept])
    return log


def _flash_twice(seen: Sequence[Instants], length_s: float) -> bool:
    """Return whether a camera shows flashes this far apart."""
    near_s = max(NEAR_S, EQUAL_SHARE * length_s)
    return length_s > near_s and any(
        np.count_nonzero(np.abs(np.diff(events.main_sense_s) - length_s) < near_s) >= MIN_TWICE
        for events in seen
    )
