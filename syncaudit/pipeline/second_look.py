"""Say which cameras need all of their frames tracked, after a first look at the telling ones."""

from __future__ import annotations

import numpy as np

from syncaudit.model import ClipVerdict, Quantity, RotationIncrements, Verdict
from syncaudit.pipeline.evidence import ClipEvidence
from syncaudit.pipeline.pairing import MAX_HUBS, by_liveliness

__all__ = ["cameras_to_track"]

# A camera moved where most of its increments are this many times their error, about any axis.
# Noise alone gives a median of 0.7.
MOVING = 3.0


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
        First the cameras that move but agree with no gyroscope, or whose verdict is open. Those
        that still agree with none are held against other cameras, which must be tracked throughout
        for it: the liveliest few.
    """
    if not evidence.sampled:
        return []
    rates = {name for name, motion in evidence.motion.items() if Quantity.ANGULAR_RATE in motion}
    vouched = {pair.source for pair in verdict.pairs if pair.accepted and pair.target in rates}
    alone = evidence.rotations.keys() - vouched
    undecided = [
        name
        for name, rotation in evidence.rotations.items()
        if name in evidence.sampled
        and (name in alone or verdict.sources[name].verdict is Verdict.UNVERIFIED)
        and _moves(rotation)
    ]
    if undecided or alone <= evidence.sampled:
        return undecided
    return [name for name in by_liveliness(evidence)[:MAX_HUBS] if name in evidence.sampled]


def _moves(rotation: RotationIncrements) -> bool:
    size = np.median(np.abs(rotation.angles_rad) / rotation.std_rad, axis=0)
    return bool(size.max() > MOVING)
