"""Bound how long lights stay on, which narrows the intervals given by fully lit frames."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import beta

from syncaudit.estimators.events.instants import EventEvidence, instants_of, phase_lock
from syncaudit.estimators.events.matching import MAX_CHANCE, match_events
from syncaudit.estimators.events.pair_fit import EventMatch
from syncaudit.model import FlashEdges, FlashIntervals, Quantity
from syncaudit.model.arrays import Bools

# Lengths tried, in seconds, besides no limit: pulses shorter than most frame periods.
TRIED_S = tuple(0.001 * 2.0**k for k in range(6))
# Dates that cluster more closely than chance allows at this probability are not evenly spread.
MAX_RISK = 0.01
# Drifts tried: choosing the one under which dates cluster most closely leaves three ends free, not
# two.
DRIFTS = np.linspace(-2e-4, 2e-4, 81)
FREE_ENDS = 3
# Mean vector of the phases of frames that move against another camera's: at least half a
# cycle over a recording. Of 18 at random one in a hundred have a longer one.
MAX_LOCKED = 0.5
N_GRID = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class LightLength:
    """How long the lights of a recording stay on.

    Parameters
    ----------
    likely_s : float
        Length with which most events match between most sources.
    length_s, std_s : float
        Estimate and standard error, where some source dates the events that the frames show.
    """

    likely_s: float = np.inf
    length_s: float = np.inf
    std_s: float = 0.0

    def narrowed(self, item: EventEvidence) -> EventEvidence:
        """Return the evidence with intervals no wider than lights of this length require.

        A light that is longer by x went on earlier by x / 2 on average, and the frames do not show
        it.
        """
        if not isinstance(item, FlashIntervals) or not _pulses(item).any():
            return item
        if not np.isfinite(self.length_s):
            return item
        found = item.of_light(self.length_s)
        return replace(
            found, systematic_std_s=math.hypot(found.systematic_std_s, self.std_s / math.sqrt(3.0))
        )


def limit_light(evidence: Sequence[EventEvidence]) -> list[EventEvidence]:
    """Return the evidence, with intervals no wider than the length of the light requires.

    A frame of a global shutter shows that a light was on, which may have begun long before. The
    rows of a rolling shutter show how long after its onset half of a pulse had arrived; the other
    half takes as long. Where an exposure is longer than the readout, frames show one edge of a
    pulse, just as for a light that goes on or off and stays so; unless the exposure is stated, only
    other cameras can distinguish the two: by pulses shorter than the readout, whose both edges a
    short exposure would show.

    Parameters
    ----------
    evidence : sequence of FlashEdges, FlashIntervals or EventTrain
        One per source, of one light.
    """
    longest_s = longest_light_s(evidence)
    if longest_s is None:
        return list(evidence)
    return [
        item.of_pulses()
        if isinstance(item, FlashEdges) and item.exposure_s is None and _fits(longest_s, item)
        else shortened(item, longest_s)
        for item in evidence
    ]


def _fits(light_s: float, item: FlashEdges) -> bool:
    """Return whether a light may go on and off within one readout."""
    return item.line_delay_s is None or light_s < item.readout_px * item.line_delay_s


def longest_light_s(evidence: Sequence[EventEvidence]) -> float | None:
    """Return how long pulses last at most, where the rows of a camera show it."""
    lengths_s = _light_lengths_s(evidence, 2.0)
    return max(lengths_s) if lengths_s else None


def _light_lengths_s(evidence: Sequence[EventEvidence], by: float) -> list[float]:
    """Return the lengths of pulses that rows show, plus `by` standard errors."""
    return [
        2.0 * ((item.half_light_s or 0.0) + by * (item.half_light_std_s or 0.0))
        for item in showing_half_light(evidence)
    ]


def showing_half_light(evidence: Sequence[EventEvidence]) -> list[FlashEdges]:
    """Return the cameras whose ramps show when half of a pulse had arrived."""
    return [
        item
        for item in evidence
        if isinstance(item, FlashEdges) and item.sense is None and item.half_light_s is not None
    ]


def shortened(item: EventEvidence, longest_s: float) -> EventEvidence:
    """Return the evidence for lights that stay on no longer than `longest_s`."""
    return item.of_light(longest_s) if isinstance(item, FlashIntervals) else item


def find_light_length(evidence: Sequence[EventEvidence], *, max_offset_s: float) -> LightLength:
    """Estimate how long lights stay on from the frames that show events dated by other sources.

    A light of length L, shown by a frame that is exposed for E from s on, went on in
    ``[s - L, s + E]``, and nothing else in the frames determines L. So lengths are tried: with one
    that is too short, common events disagree; with one that is too long, chance explains them as
    well. Among the lengths that match the most events, the shortest is `likely_s`.

    Where a source dates the events that a camera shows, its dates are spread evenly over
    ``W = L + E``, or over the frame period where that is shorter, since the frames are synchronised
    neither with the light nor with the dates (see `_dates_evenly`). The range R of n dates has the
    density ``d (1 - d / U)^(n - 2) / U^2`` with ``d = W - R`` and U the shorter of the two; the
    product over all cameras gives L.

    Parameters
    ----------
    evidence : sequence of FlashEdges, FlashIntervals or EventTrain
        One per source, of one light.
    max_offset_s : float
        Largest offset searched for, either sign.
    """
    if all(_is_sharp(item) for item in evidence):
        return LightLength()
    least_s = max((0.0, *_light_lengths_s(evidence, -2.0)))
    found = {
        length_s: list(_matches(evidence, length_s, max_offset_s))
        for length_s in (*TRIED_S, np.inf)
        if length_s >= least_s
    }
    likely_s = _fullest(found)
    if not found[likely_s]:
        return LightLength()
    items = {item.source: item for item in evidence}
    # A length that is too short loses the ends of ranges before it loses a match.
    dated = {
        length_s: [match for match in matches if _dates_evenly(match)]
        for length_s, matches in found.items()
    }
    ranges = [_range(items[match.source.source], match) for match in dated[_fullest(dated)]]
    length_s, std_s = _length([own for own in ranges if own is not None], least_s)
    return LightLength(likely_s=likely_s, length_s=length_s, std_s=std_s)


def _fullest(found: Mapping[float, list[EventMatch]]) -> float:
    """Return the shortest of the lengths with which most events match."""
    return max(found, key=lambda length_s: sum(match.n_agree for match in found[length_s]))


def _matches(
    evidence: Sequence[EventEvidence], length_s: float, max_offset_s: float
) -> Iterator[EventMatch]:
    """Yield the matches of cameras with fully lit frames to other sources, for one light length.

    Such a camera is the source of its match; two such cameras are matched once. Matches refused
    because another offset explains the events as well are included: wider intervals would hide the
    ambiguity.
    """
    events = {item.source: instants_of(shortened(item, length_s)) for item in evidence}
    for one, other in itertools.combinations(sorted(evidence, key=_is_sharp), 2):
        if _is_sharp(one):
            continue
        match = match_events(
            events[one.source], events[other.source], max_offset_s=max_offset_s, check_periods=False
        )
        is_common = match.why is None or match.period_s is not None
        if is_common and match.chance * (len(TRIED_S) + 1) <= MAX_CHANCE:
            yield match


def _pulses(item: EventEvidence) -> Bools:
    """Return which events are lit frames whose interval a limit on the light's length narrows."""
    if not isinstance(item, FlashIntervals) or item.lit_s is None:
        return np.zeros(0, dtype=np.bool_)
    return item.lit_s > item.start_s


def _is_sharp(item: EventEvidence) -> bool:
    return not (
        isinstance(item, FlashIntervals)
        and item.quantity is Quantity.FLASH
        and item.lit_s is not None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Range:
    """Range of the onsets of lights within the exposures of the n frames that show them."""

    range_s: float
    n: int
    exposure_s: float
    period_s: float


def _dates_evenly(match: EventMatch) -> bool:
    """Return whether a match dates lights wherever they lie in the frames of a camera.

    A rolling shutter dates those within its own readouts, which always are the same part of the
    other's frames where these keep their phase.
    """
    if not match.n or match.target.half_s.any():
        return False
    return phase_lock(match.source.take(match.i), match.target.evidence) < MAX_LOCKED


def _range(item: EventEvidence, match: EventMatch) -> _Range | None:
    is_pulse = _pulses(item)[match.source.item[match.i]]
    n = (2 * int(np.count_nonzero(is_pulse)) - 1) // FREE_ENDS
    if not isinstance(item, FlashIntervals) or item.lit_s is None or match.fit is None or n < 2:
        return None
    at = match.source.item[match.i][is_pulse]
    onset_s = match.target.times_s[match.j][is_pulse]
    drift_s = DRIFTS[:, None] * (onset_s - np.mean(onset_s))
    # For a light in several frames, the last determines its length and the first its onset.
    exposure_s = float(np.median(item.stop_s[at] - item.lit_s[at]))
    last_s = np.max(item.lit_s[at] - onset_s - drift_s, axis=1) + exposure_s
    found = _Range(
        range_s=float(np.min(last_s - np.min(item.stop_s[at] - onset_s - drift_s, axis=1))),
        n=n,
        exposure_s=exposure_s if item.dead_s.size else 0.0,
        period_s=float(np.median(item.stop_s[at] - item.start_s[at])),
    )
    # The range of n uniformly distributed numbers has a beta distribution.
    is_even = found.range_s > float(beta.ppf(MAX_RISK, n - 1, 2)) * found.exposure_s
    return found if is_even else None


def _length(ranges: Sequence[_Range], least_s: float) -> tuple[float, float]:
    """Return mean and standard deviation of the light length under a flat prior; inf for none."""
    if not ranges:
        return np.inf, 0.0
    shortest_s = max(least_s, *(own.range_s - own.exposure_s for own in ranges))
    longest_s = shortest_s + max(own.period_s for own in ranges)
    length_s = np.linspace(shortest_s, longest_s, N_GRID + 1)[1:]
    logs = np.zeros(N_GRID)
    for own in ranges:
        width_s = length_s + own.exposure_s
        spread_s, left_s = np.minimum(width_s, own.period_s), width_s - own.range_s
        inside = np.maximum(1.0 - left_s / spread_s, 1e-9)
        logs += np.log(left_s) + (own.n - 2) * np.log(inside) - 2.0 * np.log(spread_s)
    weights = np.exp(logs - logs.max())
    mean_s = float(np.average(length_s, weights=weights))
    return mean_s, float(np.sqrt(np.average((length_s - mean_s) ** 2, weights=weights)))
