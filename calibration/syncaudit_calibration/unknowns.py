"""The unknowns of the bundle besides the flash instants, and their priors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import norm

from syncaudit.estimators.events import Corrections, EventEvidence
from syncaudit.estimators.events.flash_bands import EDGE_SHIFT_PX, band_height_px
from syncaudit.estimators.events.instants import (
    USUAL_EXPOSURE_S,
    USUAL_EXPOSURE_STD_S,
    USUAL_HALF_LIGHT_S,
    usual_line_delay,
)
from syncaudit.model import FlashEdges, FlashIntervals
from syncaudit.model.arrays import Floats
from syncaudit_calibration.seed import Seed

# Correlation of readouts that nothing states: cameras of one recording are of one model about as
# often as of several. Where flashes show only the ratios of line delays, independent readouts would
# average out.
ALIKE = 0.5
# The seed is accurate to milliseconds, or to tens of milliseconds if line delays are not stated.
OFFSET_PRIOR_S = 0.1
# Quartz clocks stay within this; with intervals only, offsets depend on it.
DRIFT_PRIOR = 2e-4
STEP_PRIOR_S = 10.0
LENGTH_PRIOR_S = 1e-3
# Lights that stay on rise and fall during this fraction of their length.
LENGTH_SHARE = 0.05
# A light whose two ends show in the rows of one frame is on for at most a readout of up to 32 ms,
# so that half-light comes within 16 ms of its onset, and as long before its end.
BAND_HALF_LIGHT_STD_S = 0.016 / 3.0**0.5
# Between 0 (the timestamps are right) and 1 (an even clock is right and the timestamps jitter).
JITTER_PRIOR = 1.0
# Relative prior error of a stated line delay or exposure.
STATED_SHARE = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """One unknown besides the flash instants."""

    # ``offset``, ``drift``, ``step``, ``line_delay``, ``exposure``, ``band`` (how long a row sees
    # the light, where that is not its exposure), ``edge_shift``, ``jitter``, ``half_light`` or
    # ``length``.
    kind: str
    source: str  # source; empty for ``half_light`` and ``length``, which all share
    assumed: float  # value that the unknown corrects
    prior_std: float  # prior error of the assumed value
    is_stated: bool = False  # whether the assumed value was stated
    # For a step, the own time, on the time axis of the evidence, from which it applies.
    at_s: float = np.inf


def unknowns_of(items: Mapping[str, EventEvidence], seed: Seed) -> list[Unknown]:
    """Return the unknowns besides the flash instants.

    `items` is the evidence of the connected sources.
    """
    half_light = _half_light(list(items.values()), seed.length_s)
    found = [half_light]
    for name, item in sorted(items.items()):
        if name != seed.reference:
            found.append(Unknown(kind="offset", source=name, assumed=0.0, prior_std=OFFSET_PRIOR_S))
            found.append(Unknown(kind="drift", source=name, assumed=0.0, prior_std=DRIFT_PRIOR))
        found.extend(
            Unknown(kind="step", source=name, assumed=0.0, prior_std=STEP_PRIOR_S, at_s=at_s)
            for at_s, _ in seed.maps[name].steps
        )
        if isinstance(item, FlashEdges):
            found.extend(_of_camera(item, half_light, seed.maps[name].corrections))
    if seed.length_s is not None:
        found.append(
            Unknown(kind="length", source="", assumed=seed.length_s, prior_std=LENGTH_PRIOR_S)
        )
    return found


def _of_camera(item: FlashEdges, half_light: Unknown, rough: Corrections) -> list[Unknown]:
    line_delay = _stated("line_delay", item.source, item.line_delay_s, *usual_line_delay(item))
    exposure = _stated(
        "exposure", item.source, item.exposure_s, USUAL_EXPOSURE_S, USUAL_EXPOSURE_STD_S
    )
    # Encoders and tone curves move the upper and the lower edge apart, equally in all bands of a
    # camera: this looks like a different exposure and must not bias the flashes.
    least_std_s = EDGE_SHIFT_PX * line_delay.assumed
    band = _band(item, exposure, line_delay, half_light, rough)
    found = [line_delay]
    if band is not None:
        found.append(replace(band, prior_std=max(band.prior_std, least_std_s)))
    # Lights that stay on date rows without the exposure; converting the timestamp may need it.
    if item.stamp_part or (band is None and (exposure.is_stated or item.exposure_part.any())):
        found.append(replace(exposure, prior_std=max(exposure.prior_std, least_std_s)))
    if item.edge_shift_std_s:
        found.append(
            Unknown(
                kind="edge_shift",
                source=item.source,
                assumed=0.0,
                prior_std=item.edge_shift_std_s,
            )
        )
    if item.late_s is not None and item.late_s.any():
        found.append(
            Unknown(kind="jitter", source=item.source, assumed=0.0, prior_std=JITTER_PRIOR)
        )
    return found


def _band(
    item: FlashEdges,
    exposure: Unknown,
    line_delay: Unknown,
    half_light: Unknown,
    rough: Corrections,
) -> Unknown | None:
    """Return how long a row sees the light as an unknown, or None if that is the exposure.

    A row sees a light for as long as the longer of the light and the row's exposure. If no exposure
    is stated, and the light is not shorter than usual exposures, bands show the exposure only if
    they last longer than the light. Mean and variance of the longer of two normal variables: Clark
    (1961), "The greatest of a finite set of random variables", Operations Research 9(2).
    """
    light_s, light_std_s = 2.0 * half_light.assumed, 2.0 * half_light.prior_std
    is_short = light_s + light_std_s < exposure.assumed - exposure.prior_std
    shows_pulses = item.sense is None and item.exposure_part.any()
    if exposure.is_stated or is_short or not shows_pulses:
        return None
    height = band_height_px(item)
    if height is not None:
        seen_s = height[0] * line_delay.assumed
        seen_std_s = height[0] * line_delay.prior_std
    else:
        seen_s = exposure.assumed + rough.exposure_s
        seen_std_s = rough.exposure_std_s or np.inf
    if seen_s - light_s > 2.0 * np.hypot(seen_std_s, light_std_s):
        return None
    apart_s = float(np.hypot(exposure.prior_std, light_std_s))
    z = (light_s - exposure.assumed) / apart_s
    longer, both_s = norm.cdf(z), apart_s * norm.pdf(z)
    mean_s = light_s * longer + exposure.assumed * (1.0 - longer) + both_s
    square = (light_s**2 + light_std_s**2) * longer
    square += (exposure.assumed**2 + exposure.prior_std**2) * (1.0 - longer)
    square += (light_s + exposure.assumed) * both_s
    return replace(
        exposure,
        kind="band",
        assumed=float(mean_s),
        prior_std=float(np.sqrt(square - mean_s**2)),
    )


def _stated(
    kind: str, source: str, stated: float | None, usual: float, usual_std: float
) -> Unknown:
    if stated is None:
        return Unknown(kind=kind, source=source, assumed=usual, prior_std=usual_std)
    return Unknown(
        kind=kind,
        source=source,
        assumed=stated,
        prior_std=max(STATED_SHARE * stated, 1e-12),
        is_stated=True,
    )


def prior_rows(unknowns: Sequence[Unknown]) -> Floats:
    """Return rows that turn unknowns, in units of their priors, into independent errors of one.

    Line delays that are not stated depend on each other: cameras may be of one model. The rows,
    shape (p, p), are the inverse of a root of the correlation of the priors.
    """
    is_usual = np.array([own.kind == "line_delay" and not own.is_stated for own in unknowns])
    correlation = ALIKE * np.outer(is_usual, is_usual)
    np.fill_diagonal(correlation, 1.0)
    rows: Floats = np.linalg.inv(np.linalg.cholesky(correlation))
    return rows


def light_lasts(items: Iterable[EventEvidence]) -> bool:
    """Return whether some source saw a light go off, in which case flashes are dated by onsets."""
    return any(isinstance(item, FlashEdges | FlashIntervals) and item.is_lasting for item in items)


def _half_light(items: Sequence[EventEvidence], length_s: float | None) -> Unknown:
    """Return the latency of half-light after onset: one for all sources, as the light is the same.

    If some camera sees the light go on and off, and another camera that shows half-light does not
    determine its length (no line delay is stated), the light is not assumed to be a short flash:
    ramps are as long as the exposure where that is shorter.
    """
    flashes = [item for item in items if isinstance(item, FlashEdges)]
    lasts = light_lasts(items)
    seen = [
        item
        for item in flashes
        if item.half_light_s is not None
        and item.sense is None
        and (item.line_delay_s is not None or not lasts)
    ]
    known = [(item.half_light_s or 0.0, item.half_light_std_s or 1e-5) for item in seen]
    if length_s is not None:
        known.append((0.5 * length_s, LENGTH_SHARE * length_s))
    if not known:
        return Unknown(
            kind="half_light",
            source="",
            assumed=USUAL_HALF_LIGHT_S,
            prior_std=BAND_HALF_LIGHT_STD_S if lasts else USUAL_HALF_LIGHT_S,
        )
    values, std = np.array(known).T
    weights = std**-2.0
    mean = float(np.average(values, weights=weights))
    scatter = float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))
    # What one camera leaves open about the light, others mostly do as well.
    own = float(np.hypot(std.min(), scatter / np.sqrt(len(known))))
    return Unknown(
        kind="half_light",
        source="",
        assumed=mean,
        # A rise that no camera notices is common to all of them.
        prior_std=math.hypot(own, min((item.unseen_rise_s for item in seen), default=0.0)),
        is_stated=True,
    )
