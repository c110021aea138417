"""Calibrate all clocks of a recording from its flashes, strobes, triggers and clicks at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from syncaudit.errors import UsageError, nearest_name
from syncaudit.estimators.events import EventEvidence
from syncaudit.model import FlashEdges
from syncaudit.model.wording import word_duration, word_measure
from syncaudit_calibration.adjustment import Adjustment, adjust
from syncaudit_calibration.calibration import CalibratedFlash, CalibratedSource, Calibration
from syncaudit_calibration.errors import CalibrationError
from syncaudit_calibration.observability import unobservable_cameras
from syncaudit_calibration.observations import Observations, free_stated, observe
from syncaudit_calibration.seed import Seed, find_seed

__all__ = ["calibrate_events"]

Floats = NDArray[np.float64]

DAY_S = 86_400.0
# A stated line delay or exposure is contradicted beyond this, where flashes tell it this well.
MAX_STATED_Z = 4.5
KNOWN_SHARE = 0.05
# What no camera's model is better than: rows are read evenly to this part.
STATED_TOLERANCE = 0.005
# A step is so many whole frames if it is one to this part of a frame period.
FRAME_SHARE = 0.03
NEXT_TIME = (
    "Record 30 s or more with an irregular train ('syncaudit flash-plan' makes one) that lights "
    "what every camera sees"
)


def calibrate_events(
    evidence: Sequence[EventEvidence],
    *,
    reference: str | None = None,
    max_offset_s: float = 30.0,
) -> Calibration:
    """Calibrate every source against the reference by the events that they share.

    Offsets, drifts, steps, line delays, exposures and the instants of all flashes are the unknowns
    of one robust least-squares problem (`adjust`), seeded by matching all pairs (`find_seed`). That
    a flash is seen by all is never needed: any two sources that see it are tied.

    Parameters
    ----------
    evidence : sequence of FlashEdges, FlashIntervals or EventTrain
        One per source.
    reference : str, optional
        Source whose stamps are reference time; default: the first camera by name.
    max_offset_s : float
        Largest offset searched for, either sign.

    Returns
    -------
    Calibration
        Of all sources that could be calibrated; those that could not are in `refused`.

    Raises
    ------
    CalibrationError
        If no two sources could be related, or not with the reference; it says why for each.
    UsageError
        If the reference is none of the sources, or two evidences are of one source.
    """
    names = [item.source for item in evidence]
    if len(set(names)) < len(names):
        raise UsageError("several evidences are of one source", hint="Give one per source.")
    if reference is not None and reference not in names:
        raise UsageError(
            f"the reference '{reference}' is none of the sources",
            hint=nearest_name(reference, names),
        )
    refused: dict[str, str] = {}
    left = list(evidence)
    while True:
        seed = find_seed(left, reference=reference, max_offset_s=max_offset_s)
        if not isinstance(seed, Seed):
            raise _impossible(seed | refused)
        refused |= seed.refused
        observations = observe(left, seed)
        adjustment = adjust(observations)
        unobservable = unobservable_cameras(observations, adjustment)
        if not unobservable:
            break
        refused |= unobservable
        left = [item for item in left if item.source not in refused]
        if reference in unobservable or len(left) < 2:
            raise _impossible(refused)
    return _result(left, seed, observations, adjustment, refused)


def _impossible(refused: Mapping[str, str]) -> CalibrationError:
    reasons = "; ".join(f"{refused[name].rstrip('.')}" for name in sorted(refused))
    return CalibrationError(
        f"the clocks cannot be calibrated: {reasons or 'no two sources share events'}",
        hint=NEXT_TIME + ".",
        refused=refused,
    )


def _result(
    evidence: Sequence[EventEvidence],
    seed: Seed,
    observations: Observations,
    adjustment: Adjustment,
    refused: Mapping[str, str],
) -> Calibration:
    items = {item.source: item for item in evidence}
    at_ns = observations.anchor_ns[seed.reference]
    sources = {
        name: _source(items[name], seed, observations, adjustment, at_ns)
        for name in observations.sources
    }
    half_light = observations.column("half_light")
    latency_s, latency_std_s = _value(observations, adjustment, half_light)
    return Calibration(
        reference=seed.reference,
        at_ns=at_ns,
        sources=sources,
        flashes=_flashes(observations, adjustment, at_ns, latency_s),
        refused=dict(refused),
        warnings=tuple(_warnings(items, seed, observations, adjustment, sources)),
        closures=seed.closures,
        half_light_s=latency_s,
        half_light_std_s=latency_std_s,
    )


def _value(
    observations: Observations, adjustment: Adjustment, column: int | None
) -> tuple[float, float]:
    if column is None:
        return 0.0, 0.0
    return (
        observations.unknowns[column].assumed + float(adjustment.x[column]),
        float(np.sqrt(adjustment.covariance[column, column])),
    )


def _optional(
    observations: Observations, adjustment: Adjustment, kind: str, name: str
) -> tuple[float, float] | tuple[None, None]:
    column = observations.column(kind, name)
    return (None, None) if column is None else _value(observations, adjustment, column)


def _source(
    item: EventEvidence,
    seed: Seed,
    observations: Observations,
    adjustment: Adjustment,
    at_ns: int,
) -> CalibratedSource:
    name = item.source
    x, covariance = _clock(observations, adjustment, name)
    anchor_ns = observations.anchor_ns[name]
    since_s = (at_ns - anchor_ns) * 1e-9
    own_at_ns = at_ns
    if abs(since_s) > DAY_S:
        own_at_ns, since_s = anchor_ns, 0.0
    step_at_s = seed.maps[name].step_at_s
    step_at_ns = None if math.isinf(step_at_s) else item.epoch_ns + round(step_at_s * 1e9)
    is_late = float(step_at_ns is not None and own_at_ns >= step_at_ns)
    move = np.array([[1.0, since_s, is_late], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    covariance = move @ covariance @ move.T
    systematic_s = 0.0
    if name != seed.reference:
        systematic_s = math.hypot(_stamp_std(item), seed.events[seed.reference].systematic_std_s)
        covariance[0, 0] += systematic_s**2
    own = observations.source == observations.sources.index(name)
    used = own & adjustment.is_used
    residuals = adjustment.residuals_s[used]
    drift = float(x[1])
    # The reference's anchor is zero of reference time: correction = reference time - own stamp.
    offset_s = float(x[0]) + since_s * (1.0 + drift) + is_late * float(x[2])
    offset_s += (at_ns - own_at_ns) * 1e-9
    line_delay_s, line_delay_std_s = _optional(observations, adjustment, "line_delay", name)
    exposure_s, exposure_std_s = _optional(observations, adjustment, "exposure", name)
    return CalibratedSource(
        offset_s=offset_s,
        offset_std_s=float(np.sqrt(covariance[0, 0])),
        drift_ppm=1e6 * drift,
        drift_std_ppm=1e6 * float(np.sqrt(covariance[1, 1])),
        at_ns=own_at_ns,
        covariance=covariance,
        flashes_seen=int(np.unique(observations.flash[used]).size),
        residual_rms_s=float(np.sqrt(np.mean(residuals**2))) if residuals.size else 0.0,
        outliers=int(np.count_nonzero(own & ~adjustment.is_used)),
        residuals_s=residuals,
        residual_flash=observations.flash[used],
        systematic_std_s=systematic_s,
        step_s=None if step_at_ns is None else float(x[2]),
        step_std_s=None if step_at_ns is None else float(np.sqrt(covariance[2, 2])),
        step_at_ns=step_at_ns,
        step_frames=None if step_at_ns is None else _frames(item, float(x[2])),
        line_delay_s=line_delay_s,
        line_delay_std_s=line_delay_std_s,
        exposure_s=exposure_s,
        exposure_std_s=exposure_std_s,
    )


def _clock(observations: Observations, adjustment: Adjustment, name: str) -> tuple[Floats, Floats]:
    """Return offset, drift and step of a source, and their covariance; zero where not unknown."""
    columns = [observations.column(kind, name) for kind in ("offset", "drift", "step")]
    x, covariance = np.zeros(3), np.zeros((3, 3))
    known = [k for k, column in enumerate(columns) if column is not None]
    taken = [column for column in columns if column is not None]
    x[known] = adjustment.x[taken]
    covariance[np.ix_(known, known)] = adjustment.covariance[np.ix_(taken, taken)]
    return x, covariance


def _stamp_std(item: EventEvidence) -> float:
    return item.stamp_std_s if isinstance(item, FlashEdges) else 0.0


def _frames(item: EventEvidence, step_s: float) -> int | None:
    """Return the step in whole frame periods, or None where it is no such number."""
    if not isinstance(item, FlashEdges) or np.unique(item.frame_index).size < 3:
        return None
    steps = np.diff(np.unique(item.frame_index)).astype(np.float64)
    spans = np.diff(np.unique(item.frame_s))
    if steps.size != spans.size:
        return None
    period_s = float(np.median(spans / steps))
    n = round(step_s / period_s)
    return n if n and abs(step_s / period_s - n) <= FRAME_SHARE else None


def _flashes(
    observations: Observations, adjustment: Adjustment, at_ns: int, latency_s: float
) -> tuple[CalibratedFlash, ...]:
    found = []
    for k in np.argsort(adjustment.flash_s, kind="stable"):
        seen = np.unique(observations.source[(observations.flash == k) & adjustment.is_used])
        if seen.size < 2:
            continue
        found.append(
            CalibratedFlash(
                t_ns=at_ns + round(float(adjustment.flash_s[k] - latency_s) * 1e9),
                std_s=float(adjustment.flash_std_s[k]),
                seen_by=tuple(observations.sources[s] for s in seen),
            )
        )
    return tuple(found)


def _warnings(
    items: Mapping[str, EventEvidence],
    seed: Seed,
    observations: Observations,
    adjustment: Adjustment,
    sources: Mapping[str, CalibratedSource],
) -> list[str]:
    warnings = [
        f"{closure.source} and {closure.target} disagree with the way around through the other "
        f"sources by {word_measure(closure.closure_s, closure.closure_std_s)}: left out"
        for closure in seed.closures
        if closure.is_contradicted
    ]
    for name, source in sources.items():
        if source.step_s is not None:
            frames = (
                f" ({abs(source.step_frames)} frame periods: lost or doubled frames)"
                if source.step_frames
                else ""
            )
            warnings.append(
                f"the clock of {name} steps by {word_duration(source.step_s)}{frames} within the "
                "recording"
            )
        scale = float(adjustment.scale[observations.sources.index(name)])
        if scale > 3.0:
            warnings.append(
                f"the residuals of {name} are {scale:.1f} times what its detection promises: its "
                "stamps jitter, or its clock wanders; the errors were widened"
            )
    return warnings + _contradicted(items, observations)


def _contradicted(items: Mapping[str, EventEvidence], observations: Observations) -> list[str]:
    """Return words for stated line delays and exposures that the flashes contradict."""
    stated = [
        (k, unknown)
        for k, unknown in enumerate(observations.unknowns)
        if unknown.is_stated and unknown.kind in ("line_delay", "exposure")
    ]
    if not stated:
        return []
    freed = adjust(free_stated(observations))
    words = []
    for k, unknown in stated:
        found, std = _value(observations, freed, k)
        limit = max(MAX_STATED_Z * std, STATED_TOLERANCE * unknown.assumed)
        if std < KNOWN_SHARE * unknown.assumed and abs(found - unknown.assumed) > limit:
            noun = unknown.kind.replace("_", " ")
            words.append(
                f"the stated {noun} of {items[unknown.source].source} is "
                f"{word_duration(unknown.assumed)}, the flashes say {word_measure(found, std)}"
            )
    return words
