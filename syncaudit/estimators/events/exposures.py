"""Estimate exposures that are not stated from the light that several cameras share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from syncaudit.dsp.robust import spread
from syncaudit.estimators.events.flash_bands import EDGE_SHIFT_PX, band_height_px
from syncaudit.estimators.events.instants import (
    USUAL_EXPOSURE_S,
    USUAL_EXPOSURE_STD_S,
    EventEvidence,
    instants_of,
    longest_readout_s,
)
from syncaudit.estimators.events.light_length import longest_light_s, showing_half_light
from syncaudit.model import FlashEdges, Quantity
from syncaudit.model.evidence.flashes import UNSTATED_READOUT_S, UNSTATED_READOUT_SHARE

# Ramps and bands as long as the light are apart from it by at most this many errors; tone curves
# add this share of their length.
MAX_APART = 2.0
LENGTH_SHARE = 0.03
# A camera that dates both ends of at least this many pulses shows how long they are.
MIN_PULSES = 3
# Scenes in which a light shows beside what lights them otherwise are exposed for at least this
# long.
LEAST_EXPOSURE_S = 0.0004
# Bands of which hardly any shows both edges are about as high as the image, give or take this part.
UNSEEN_BAND_SHARE = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Light:
    """A light that would draw the bands of a camera.

    Parameters
    ----------
    length_s, std_s : float
        How long it stays on, and its standard error.
    is_band : bool
        Whether that is as long as rows see it; else as long as their ramps.
    """

    length_s: float
    std_s: float
    is_band: bool = False

    def is_like(self, other: _Light) -> bool:
        floor_s = LENGTH_SHARE * max(self.length_s, other.length_s)
        std_s = math.sqrt(self.std_s**2 + other.std_s**2 + floor_s**2)
        return abs(self.length_s - other.length_s) < MAX_APART * std_s


def settle_exposures(
    evidence: Sequence[EventEvidence], line_delays_s: Mapping[str, float] | None = None
) -> list[EventEvidence]:
    """Return the evidence with what the light shows about timing that is not stated.

    A light of length L under an exposure E draws bands of max(L, E) with ramps of min(L, E). Unless
    line delay and exposure are stated, rows do not show which of the two is longer. But the light
    is the same for all cameras: L is the length that most of them allow, first of all those that
    allow only one. If two lengths explain the bands of all cameras equally well, as those of one
    camera alone, either may be right; then the latency of half-light, which is L / 2, is open.

    Parameters
    ----------
    evidence : sequence of FlashEdges, FlashIntervals or EventTrain
        One per source, of one light.
    line_delays_s : mapping of str to float, optional
        Line delays of cameras that state nothing, where they are known nevertheless.
    """
    found = line_delays_s or {}
    evidence = [
        _with_line_delay(item, found[item.source])
        if isinstance(item, FlashEdges) and item.source in found
        else item
        for item in evidence
    ]
    seen = [(item, own) for item in evidence if (own := _lights(item))]
    certain = [own[0] for item, own in seen if len(own) == 1 and not _may_outlast(item)]
    tried = certain or sorted(
        (light for _, own in seen for light in own), key=attrgetter("length_s")
    )
    votes = [sum(any(one.is_like(light) for one in own) for _, own in seen) for light in tried]
    best = [light for light, n in zip(tried, votes, strict=True) if n == max(votes)]
    is_known = bool(certain) or (bool(best) and all(best[0].is_like(light) for light in best))
    light = best[0] if is_known else None
    settled = [
        _settled(item, light) if isinstance(item, FlashEdges) and _shows_ramps(item) else item
        for item in evidence
    ]
    return [
        replace(item, line_delay_s=None)
        if isinstance(item, FlashEdges) and item.source in found
        else item
        for item in settled
    ]


def _with_line_delay(item: FlashEdges, line_delay_s: float) -> FlashEdges:
    length_px, std_px = _ramp_px(item)
    return replace(
        item,
        line_delay_s=line_delay_s,
        half_light_s=0.5 * length_px * line_delay_s,
        half_light_std_s=0.5 * std_px * line_delay_s,
    )


def states_nothing(item: EventEvidence) -> bool:
    """Return whether a camera that shows pulses states neither line delay nor exposure."""
    return _may_outlast(item) and isinstance(item, FlashEdges) and item.line_delay_s is None


def _may_outlast(item: EventEvidence) -> bool:
    """Return whether a light may be longer than the exposure, which is not stated."""
    return isinstance(item, FlashEdges) and _shows_ramps(item) and item.exposure_s is None


def _lights(item: EventEvidence) -> list[_Light]:
    """Return the lights that would draw the bands of a camera; none if their length is unknown."""
    if not isinstance(item, FlashEdges):
        return []
    if not _shows_ramps(item):
        return _between_ends(item)
    ramp, band = _ramp_px(item), _band_px(item)
    if item.line_delay_s is not None:
        found = [_Light(length_s=ramp[0] * item.line_delay_s, std_s=ramp[1] * item.line_delay_s)]
        if item.exposure_s is None and found[0].length_s > LEAST_EXPOSURE_S:
            length_s, std_s = (each * item.line_delay_s for each in _roughly_px(item))
            found.append(_Light(length_s=length_s, std_s=std_s, is_band=True))
        return found
    if item.exposure_s is None or band is None:
        return []
    # The exposure is as long as the bands or as the ramps.
    ratio, share = ramp[0] / band[0], math.hypot(ramp[1] / ramp[0], band[1] / band[0])
    found = [_Light(length_s=item.exposure_s * ratio, std_s=item.exposure_s * ratio * share)]
    if item.readout_px * item.exposure_s < longest_readout_s(item) * ramp[0]:
        length_s = item.exposure_s / ratio
        found.append(_Light(length_s=length_s, std_s=length_s * share, is_band=True))
    return found


def _between_ends(item: FlashEdges) -> list[_Light]:
    """Return how long pulses last of which a camera dates both ends, if they are equally long."""
    events = instants_of(item)
    is_pulse = (events.senses[:-1] > 0) & (events.senses[1:] < 0)
    lengths_s = np.diff(events.times_s)[is_pulse]
    if lengths_s.size < MIN_PULSES:
        return []
    length_s, own_std_s = float(np.median(lengths_s)), float(np.median(events.std_s))
    std_s = max(spread(lengths_s, length_s), own_std_s)
    if std_s > max(LENGTH_SHARE * length_s, 2.0 * MAX_APART * own_std_s):
        return []
    return [_Light(length_s=length_s, std_s=math.hypot(std_s, 2.0 * item.edge_shift_std_s))]


def _settled(item: FlashEdges, light: _Light | None) -> FlashEdges:
    """Return the evidence of a camera for this light, or for any that its bands allow."""
    if item.exposure_s is not None and item.line_delay_s is not None:
        return item
    own = _lights(item)
    alike = [each for each in own if light is not None and each.is_like(light)]
    if len(alike) > 1:  # exposure and light hardly differ
        apart_s = abs(item.stamp_part) * abs(own[1].length_s - own[0].length_s)
        return replace(item, rise_std_s=math.hypot(item.rise_std_s, apart_s))
    if light is not None and not alike and (not own or _band_px(item) is None):
        alike = [replace(light, is_band=item.line_delay_s is not None)]
    found = alike or own or _by_usual_line_delay(item)
    lengths_s = [each.length_s for each in found]
    std_s = math.hypot(max(each.std_s for each in found), float(np.std(lengths_s)))
    if found[-1].is_band and (item.exposure_s is not None or len(found) == 1):
        item = _by_middles(item, found[-1])
    return replace(item, half_light_s=0.5 * float(np.mean(lengths_s)), half_light_std_s=0.5 * std_s)


def _by_middles(item: FlashEdges, light: _Light) -> FlashEdges:
    """Return edges as those of the middles of bands, which are as high as the light is long."""
    band = _band_px(item)
    if band is None:
        assert item.line_delay_s is not None  # noqa: S101  # the light has a height
        band = light.length_s / item.line_delay_s, light.std_s / item.line_delay_s
    seen = replace(
        item,
        row_px=item.row_px + item.exposure_part * band[0],
        row_std_px=np.hypot(item.row_std_px, 0.5 * band[1]),
        exposure_part=np.zeros_like(item.exposure_part),
    )
    if item.line_delay_s is None or item.exposure_s is not None:
        return seen
    exposure_s, std_s = (each * item.line_delay_s for each in _ramp_px(item))
    return replace(
        seen,
        exposure_s=exposure_s,
        rise_std_s=math.hypot(item.rise_std_s, item.stamp_part * std_s),
    )


def _by_usual_line_delay(item: FlashEdges) -> list[_Light]:
    """Return the lights that would draw the bands of a camera that states nothing."""
    line_delay_s = _assumed_line_delay_s(item)
    return [
        _Light(
            length_s=px * line_delay_s,
            std_s=math.hypot(std_px, UNSTATED_READOUT_SHARE * px) * line_delay_s,
        )
        for px, std_px in (_ramp_px(item), _roughly_px(item))
    ]


def _shows_ramps(item: FlashEdges) -> bool:
    return item.sense is None and bool(item.half_light_s)


def _assumed_line_delay_s(item: FlashEdges) -> float:
    return UNSTATED_READOUT_S / item.height_px


def _ramp_px(item: FlashEdges) -> tuple[float, float]:
    """Return the length of the ramps in rows, twice that to half-light, and its error."""
    length_s, std_s = 2.0 * (item.half_light_s or 0.0), 2.0 * (item.half_light_std_s or 0.0)
    if item.line_delay_s is not None:
        return length_s / item.line_delay_s, std_s / item.line_delay_s
    of_readout_s = UNSTATED_READOUT_SHARE * length_s
    rest_s = math.sqrt(max(0.0, std_s**2 - of_readout_s**2))
    return length_s / _assumed_line_delay_s(item), rest_s / _assumed_line_delay_s(item)


def _band_px(item: FlashEdges) -> tuple[float, float] | None:
    """Return how many rows see the light at once, and the error, if bands show both edges."""
    height = band_height_px(item) if item.exposure_part.any() else None
    return None if height is None else (height[0], math.hypot(height[1], EDGE_SHIFT_PX))


def _roughly_px(item: FlashEdges) -> tuple[float, float]:
    """Return the same, also if hardly any band shows both edges: then most do not fit a frame."""
    return _band_px(item) or (float(item.readout_px), UNSEEN_BAND_SHARE * item.readout_px)


def allow_for_light(evidence: Sequence[EventEvidence]) -> list[EventEvidence]:
    """Return the evidence with the error of bands that may show the light, not the exposure.

    Bands are as high as the longer of the two is long. A camera that does not state its exposure is
    dated as if it were the exposure, which matters where an exposure converts its timestamps, and
    where no band shows both edges.

    Parameters
    ----------
    evidence : sequence of FlashEdges, FlashIntervals or EventTrain
        One per source, of one light.
    """
    longest_s = longest_light_s(evidence)
    if longest_s is None or longest_s < USUAL_EXPOSURE_S - USUAL_EXPOSURE_STD_S:
        return list(evidence)
    return [
        _with_open_exposure(item, longest_s)
        if isinstance(item, FlashEdges)
        and item.sense is None
        and item.exposure_s is None
        and not (_shows_ramps(item) and item.line_delay_s is not None)
        else item
        for item in evidence
    ]


def share_half_light(evidence: Sequence[EventEvidence]) -> list[EventEvidence]:
    """Return the evidence of cameras whose ramps do not show half-light with that of the others.

    Parameters
    ----------
    evidence : sequence of FlashEdges, FlashIntervals or EventTrain
        One per source, of one light.
    """
    shown = showing_half_light(evidence)
    if not shown:
        return list(evidence)
    best = min(shown, key=lambda item: item.half_light_std_s or 0.0)
    return [
        replace(item, half_light_s=best.half_light_s, half_light_std_s=best.half_light_std_s)
        if isinstance(item, FlashEdges) and item.sense is None and item.half_light_s is None
        else item
        for item in evidence
    ]


def allow_for_rise(evidence: Sequence[EventEvidence]) -> list[EventEvidence]:
    """Return the evidence with the error of logged onsets of lights that stay on.

    Cameras date the half-light of such a light, logs its onset. What lies between is known from the
    ramps of the camera that shows them shortest.

    Parameters
    ----------
    evidence : sequence of FlashEdges, FlashIntervals or EventTrain
        One per source, of one light.
    """
    rises_s = [
        item.half_light_std_s or 0.0
        for item in evidence
        if isinstance(item, FlashEdges) and item.is_lasting
    ]
    if not rises_s:
        return list(evidence)
    return [
        replace(item, systematic_std_s=math.hypot(item.systematic_std_s, min(rises_s)))
        if not isinstance(item, FlashEdges) and item.quantity is not Quantity.FLASH
        else item
        for item in evidence
    ]


def _with_open_exposure(item: FlashEdges, longest_s: float) -> FlashEdges:
    """Return the evidence with the error of an exposure of any length up to that of the light.

    Edges of both kinds are half of it early and half of it late, so that a fit finds it.
    """
    has_one_kind = np.unique(item.exposure_part[item.exposure_part != 0.0]).size == 1
    is_guessed = has_one_kind and band_height_px(item) is None
    part = abs(item.stamp_part) + 0.5 * is_guessed
    std_s = part * longest_s / math.sqrt(3.0)
    return replace(item, rise_std_s=math.hypot(item.rise_std_s, std_s))
