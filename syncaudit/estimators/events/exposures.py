"""Estimate exposures that are not stated from the light that several cameras share."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from syncaudit.estimators.events.flash_bands import EDGE_SHIFT_PX, band_height_px
from syncaudit.estimators.events.instants import (
    USUAL_EXPOSURE_S,
    USUAL_EXPOSURE_STD_S,
    EventEvidence,
)
from syncaudit.estimators.events.light_length import longest_light_s
from syncaudit.model import FlashEdges, Quantity

# Ramps and bands as long as the light are apart from it by at most this many errors; tone curves
# add this share of their length.
MAX_APART = 2.0
LENGTH_SHARE = 0.03


def settle_exposures(evidence: Sequence[EventEvidence]) -> list[EventEvidence]:
    """Return the evidence with exposures that are not stated, where the light determines them.

    A light of length L under an exposure E draws bands of max(L, E) with ramps of min(L, E). A
    camera that does not state E is dated as if the ramps were the light. But the light is the same
    for all cameras: L is the length that most of them show, as ramps or as bands, stated exposures
    first. Cameras whose ramps are not that long show their exposure by them. If no two agree but
    their ramps contradict each other (a light that rises slowly), it may be either.

    Parameters
    ----------
    evidence : sequence of FlashEdges, FlashIntervals or EventTrain
        One per source, of one light.
    """
    cameras = [item for item in evidence if isinstance(item, FlashEdges) and _shows_ramps(item)]
    stated = [_ramp(item) for item in cameras if item.exposure_s is not None]
    options = [[own for own in (_ramp(item), _band(item)) if own is not None] for item in cameras]
    tried = stated or sorted(itertools.chain.from_iterable(options))
    if len(cameras) < 2 or all(item.exposure_s is not None for item in cameras):
        return list(evidence)
    votes = [
        sum(any(_z(own, light) < MAX_APART for own in one) for one in options) for light in tried
    ]
    if max(votes) < 2:
        ramps = [_ramp(item) for item in cameras]
        apart = max(_z(*pair) for pair in itertools.combinations(ramps, 2))
        return [_undecided(item) if apart > MAX_APART else item for item in evidence]
    light = tried[int(np.argmax(votes))]
    return [
        _settled(item, light)
        if isinstance(item, FlashEdges) and _shows_ramps(item) and item.exposure_s is None
        else item
        for item in evidence
    ]


def _undecided(item: EventEvidence) -> EventEvidence:
    """Return the evidence with the latency of a light as long as its ramps or as its bands."""
    if not isinstance(item, FlashEdges) or not _shows_ramps(item):
        return item
    ramp, band = _ramp(item), _band(item)
    if band is None:
        return item
    apart_s = 0.25 * abs(band[0] - ramp[0])
    return replace(
        item,
        half_light_s=0.25 * (ramp[0] + band[0]),
        half_light_std_s=math.hypot(item.half_light_std_s or 0.0, apart_s),
    )


def _settled(item: FlashEdges, light: tuple[float, float]) -> FlashEdges:
    """Return the evidence of a camera with the exposure that follows from the light."""
    ramp, band = _ramp(item), _band(item) or light
    is_ramp, is_band = (_z(own, light) < MAX_APART for own in (ramp, band))
    if is_ramp and is_band:  # exposure and light hardly differ
        apart_s = abs(item.stamp_part) * abs(band[0] - ramp[0])
        return replace(item, rise_std_s=math.hypot(item.rise_std_s, apart_s))
    if is_ramp or not is_band:
        return item
    assert item.line_delay_s is not None  # noqa: S101  # the ramps have a length
    height_px, std_px = band_height_px(item) or np.array(light) / item.line_delay_s
    return replace(
        item,
        row_px=item.row_px + item.exposure_part * height_px,
        row_std_px=np.hypot(item.row_std_px, 0.5 * std_px),
        exposure_part=np.zeros_like(item.exposure_part),
        exposure_s=ramp[0],
        half_light_s=0.5 * band[0],
        half_light_std_s=0.5 * band[1],
        rise_std_s=math.hypot(item.rise_std_s, item.stamp_part * ramp[1]),
    )


def _shows_ramps(item: FlashEdges) -> bool:
    return item.sense is None and bool(item.half_light_s) and item.line_delay_s is not None


def _ramp(item: FlashEdges) -> tuple[float, float]:
    """Return twice the latency of half-light, which is the length of the ramps, and its error."""
    return 2.0 * (item.half_light_s or 0.0), 2.0 * (item.half_light_std_s or 0.0)


def _band(item: FlashEdges) -> tuple[float, float] | None:
    """Return how long rows see the light, and its error, if bands show both edges."""
    height = band_height_px(item) if item.exposure_part.any() else None
    if height is None or item.exposure_s is not None:
        return None
    line_delay_s = item.line_delay_s or 0.0
    return height[0] * line_delay_s, math.hypot(height[1], EDGE_SHIFT_PX) * line_delay_s


def _z(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return how many errors two lengths are apart."""
    floor_s = LENGTH_SHARE * max(one[0], other[0])
    return abs(one[0] - other[0]) / math.sqrt(one[1] ** 2 + other[1] ** 2 + floor_s**2)


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
        and not _shows_ramps(item)
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
    """Return the evidence with the error of an exposure of any length up to that of the light."""
    is_guessed = band_height_px(item) is None and item.exposure_part.any()
    part = abs(item.stamp_part) + 0.5 * is_guessed
    std_s = part * longest_s / math.sqrt(3.0)
    return replace(item, rise_std_s=math.hypot(item.rise_std_s, std_s))
