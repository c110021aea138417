"""How long lights stay on at most: it sharpens what frames that are lit as a whole say."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from syncaudit.estimators.events.event_match import EventMatch
from syncaudit.estimators.events.instants import EventEvidence, instants_of
from syncaudit.estimators.events.matching import MAX_CHANCE, match_events
from syncaudit.model import FlashEdges, FlashIntervals, Quantity

__all__ = ["LightLength", "find_light_length", "limit_light", "shortened"]

# Lengths that are tried, in seconds, beside none: pulses shorter than most frame periods.
TRIED_S = tuple(0.001 * 2.0**k for k in range(6))
# How likely a bound is too small, over all cameras, and what a fit of offset and drift takes.
MAX_RISK = 0.01
N_FITTED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class LightLength:
    """How long the lights of a recording stay on.

    Parameters
    ----------
    likely_s : float
        With which most events of most sources are common ones.
    longest_s : float
        Bound that holds with 99 %.
    """

    likely_s: float = np.inf
    longest_s: float = np.inf


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
    return [
        item.of_pulses()
        if isinstance(item, FlashEdges) and item.exposure_s is None
        else shortened(item, longest_s)
        for item in evidence
    ]


def shortened(item: EventEvidence, longest_s: float) -> EventEvidence:
    """Return the evidence if lights stay on no longer than this, in seconds."""
    return item.of_light(longest_s) if isinstance(item, FlashIntervals) else item


def find_light_length(evidence: Sequence[EventEvidence], *, max_offset_s: float) -> LightLength:
    """Return how long lights stay on, by the frames in which others' events show.

    A light of length L that a frame of exposure E shows, from s on, went on in ``[s - L, s + E]``,
    and nothing else in the frames tells L. So lengths are tried: with one that is too short, events
    that are common do not agree, with one that is too long, chance explains them as well. Of those
    that leave most events in common the shortest is `likely_s`.

    Where a source dates what a camera shows, its dates are spread evenly over ``L + E``, whose
    frames do not know of the light: of n, the range is a share r of that or less with probability
    ``n r^(n - 1) - (n - 1) r^n``, which bounds L from above.

    Parameters
    ----------
    evidence : sequence of FlashEdges, FlashIntervals or EventTrain
        One per source, of one light.
    max_offset_s : float
        Largest offset searched for, either sign.
    """
    if all(_is_sharp(item) for item in evidence):
        return LightLength()
    found = {
        length_s: list(_matches(evidence, length_s, max_offset_s))
        for length_s in (*TRIED_S, np.inf)
    }
    matched = {
        length_s: sum(match.i.size for match in matches) for length_s, matches in found.items()
    }
    if not any(matched.values()):
        return LightLength()
    likely_s = max(matched, key=lambda length_s: matched[length_s])  # the first is the shortest
    items = {item.source: item for item in evidence}
    dated = [match for match in found[likely_s] if not match.target.half_s.any()]
    bounds = [_longest_s(items[match.source.source], match, len(dated)) for match in dated]
    return LightLength(likely_s=likely_s, longest_s=min(bounds, default=np.inf))


def _matches(
    evidence: Sequence[EventEvidence], length_s: float, max_offset_s: float
) -> Iterator[EventMatch]:
    """Yield what cameras that show whole frames have in common with others, if lights are so long.

    Those come first, and of two such cameras each once.
    """
    events = {item.source: instants_of(shortened(item, length_s)) for item in evidence}
    for one, other in itertools.combinations(sorted(evidence, key=_is_sharp), 2):
        if _is_sharp(one):
            continue
        match = match_events(
            events[one.source], events[other.source], max_offset_s=max_offset_s, check_periods=False
        )
        if match.why is None and match.chance * (len(TRIED_S) + 1) <= MAX_CHANCE:
            yield match


def _is_sharp(item: EventEvidence) -> bool:
    return not (
        isinstance(item, FlashIntervals)
        and item.quantity is Quantity.FLASH
        and item.lit_s is not None
    )


def _longest_s(item: EventEvidence, match: EventMatch, n_bounds: int) -> float:
    """Return what a light is no longer than, by when it went on in the frames that show it."""
    n = match.i.size - N_FITTED
    if not isinstance(item, FlashIntervals) or item.lit_s is None or match.fit is None or n < 2:
        return np.inf
    at = match.source.item[match.i]
    phase_s = item.stop_s[at] - match.fit.source_of(match.target.times_s[match.j])
    # The range of n even numbers has a beta distribution.
    share = float(beta.ppf(MAX_RISK / n_bounds, n - 1, 2))
    exposure_s = float(np.median(item.stop_s - item.lit_s)) if item.dead_s.size else 0.0
    longest_s = float(np.ptp(phase_s)) / share - exposure_s
    # Dates that gather within an exposure are no accident: the frames know of the light.
    return longest_s if longest_s > 0.0 else np.inf
