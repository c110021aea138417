"""Say which cameras need all of their frames tracked, after a first look at the telling ones."""

from __future__ import annotations

import numpy as np

from syncaudit.model import (
    ClipVerdict,
    PairMeasurement,
    Quantity,
    RotationIncrements,
    Verdict,
)
from syncaudit.pipeline.clip_evidence import ClipEvidence
from syncaudit.pipeline.pairing import MAX_HUBS, by_liveliness

__all__ = ["cameras_to_track"]

# A camera moved where most of its increments are this many times their error, about any axis.
# Noise alone gives a median of 0.7.
MOVING = 3.0
# No quartz runs this wrong: a delay that changes so fast is hardly that of a clock.
ODD_DRIFT_PPM = 200.0


def cameras_to_track(evidence: ClipEvidence, verdict: ClipVerdict) -> list[str]:
    """Return cameras for which the frames tracked so far do not decide; empty once they do.

    Parameters
    ----------
    evidence : ClipEvidence
        With the cameras that were tracked in part.
    verdict : ClipVerdict
        What was made of it.

    Returns
    -------
    list of str
        First the cameras that move but agree with no gyroscope, whose delay changes oddly, or that
        do not pass: what kind of error it is, and how a delay wanders, shows in all frames only.
        Those that still agree with none are held against other cameras, which must be tracked
        throughout for it: the liveliest few.
    """
    if not evidence.sampled:
        return []
    rates = {name for name, motion in evidence.motion.items() if Quantity.ANGULAR_RATE in motion}
    told = {pair.source: pair for pair in verdict.pairs if pair.accepted and pair.target in rates}
    alone = evidence.rotations.keys() - told.keys()
    undecided = []
    for name in sorted(evidence.sampled & evidence.rotations.keys()):
        is_open = name in alone or verdict.sources[name].verdict is not Verdict.PASS
        if _is_odd(told.get(name)) or (is_open and _moves(evidence.rotations[name])):
            undecided.append(name)
    if undecided or alone <= evidence.sampled:
        return undecided
    return [name for name in by_liveliness(evidence)[:MAX_HUBS] if name in evidence.sampled]


def _is_odd(pair: PairMeasurement | None) -> bool:
    if pair is None:
        return False
    if pair.step_s is not None or pair.diagnostics.get("is_uneven"):
        return True
    return abs(pair.drift_ppm or 0.0) > ODD_DRIFT_PPM


def _moves(rotation: RotationIncrements) -> bool:
    size = np.median(np.abs(rotation.angles_rad) / rotation.std_rad, axis=0)
    return bool(size.max() > MOVING)
