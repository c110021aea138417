"""How long lights stay on at most, by the cameras that can tell: it sharpens what others saw."""

from __future__ import annotations

from collections.abc import Sequence

from syncaudit.estimators.events.instants import EventEvidence
from syncaudit.model import FlashEdges, FlashIntervals

__all__ = ["limit_light"]


def limit_light(evidence: Sequence[EventEvidence]) -> list[EventEvidence]:
    """Return the evidence, with intervals no wider than the length of the light asks for.

    A frame of a global shutter says that a light was on, which may have begun long before. The rows
    of a rolling shutter show how long after its onset half of a pulse had come: the other half
    takes as long. Where an exposure is longer than the read-out, frames show one edge of a pulse,
    as of a light that goes on or off and stays; unless the exposure is stated, only other cameras
    tell.

    Parameters
    ----------
    evidence : sequence of FlashEdges, FlashIntervals or EventTrain
        One per source, of one light.
    """
    halves_s = [
        item.half_light_s + 2.0 * (item.half_light_std_s or 0.0)
        for item in evidence
        if isinstance(item, FlashEdges) and item.sense is None and item.half_light_s is not None
    ]
    if not halves_s:
        return list(evidence)
    longest_s = 2.0 * max(halves_s)
    return [_limited(item, longest_s) for item in evidence]


def _limited(item: EventEvidence, longest_s: float) -> EventEvidence:
    if isinstance(item, FlashIntervals):
        return item.of_light(longest_s)
    if isinstance(item, FlashEdges) and item.exposure_s is None:
        return item.of_pulses()
    return item
