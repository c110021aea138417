"""Say which cameras need all of their frames tracked, after a first look at the telling ones.

The measurements alone decide it, never a policy: what is measured on a clip must not depend on
who judges it, or judging again would not give what auditing again gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from syncaudit.estimators import MAX_HUBS, rank_by_motion
from syncaudit.model import ClipEvidence, PairMeasurement, Quantity, RotationIncrements

__all__ = ["cameras_to_track"]

# A camera moved where most of its increments are this many times their error, about any axis.
# Noise alone gives a median of 0.7.
MOVING = 3.0
# No quartz runs this wrong: a delay that changes so fast is hardly that of a clock.
ODD_DRIFT_PPM = 200.0
# Twice what the choice of frames aims at (`syncaudit.detectors.choose_increments`: 0.6 ms): these
# pictures are so poor that the frames chosen did not tell enough, and all would halve the error.
POOR_S = 0.0012
# What exposure and read-out explain: stamps at their beginning are early by half of each, and
# neither lasts longer than 20 ms in moving pictures that can be tracked. More is a fault of some
# clock or recorder, whose kind (a step, a wander, frames lost) shows in all frames only.
APART_S = 0.010
# Standard errors by which a camera must be further off than that.
SURE = 3.0


def cameras_to_track(
    evidence: ClipEvidence,
    measured: Sequence[PairMeasurement],
    expected_offset_s: Mapping[str, float],
) -> list[str]:
    """Return cameras for which the frames tracked so far do not decide; empty once they do.

    Parameters
    ----------
    evidence : ClipEvidence
        With the cameras that were tracked in part.
    measured : sequence of PairMeasurement
        What was measured with it.
    expected_offset_s : mapping of str to float
        Intended offset of every source.

    Returns
    -------
    list of str
        First the cameras that move but agree with no gyroscope, whose delay changes oddly or is
        poorly known, or that are apart from the other clocks: what kind of error it is, and how a
        delay wanders, shows in all frames only. Those that still agree with none are held
        against other cameras, which must be tracked throughout for it: the liveliest few.
    """
    if not evidence.sampled:
        return []
    rates = {name for name, motion in evidence.motion.items() if Quantity.ANGULAR_RATE in motion}
    told = {
        pair.source: pair
        for pair in measured
        if pair.accepted and pair.target in rates and pair.source in evidence.rotations
    }
    alone = evidence.rotations.keys() - told.keys()
    weak = alone | _poor(told) | _apart(told, expected_offset_s)
    undecided = [
        name
        for name in sorted(evidence.sampled & evidence.rotations.keys())
        if (name in told and _is_odd(told[name]))
        or (name in weak and _moves(evidence.rotations[name]))
    ]
    if undecided or alone <= evidence.sampled:
        return undecided
    return [name for name in rank_by_motion(evidence)[:MAX_HUBS] if name in evidence.sampled]


def _poor(told: Mapping[str, PairMeasurement]) -> set[str]:
    return {name for name, pair in told.items() if (pair.offset_std_s or 0.0) > POOR_S}


def _apart(told: Mapping[str, PairMeasurement], expected_offset_s: Mapping[str, float]) -> set[str]:
    """Return the cameras whose clock is not that of most clocks, a gyroscope's among them.

    A gyroscope that all of its cameras are away from alike is itself the one that is wrong.
    """
    apart = set()
    for target in {pair.target for pair in told.values()}:
        off_s = {
            name: (pair.offset_s or 0.0)
            - expected_offset_s.get(name, 0.0)
            + expected_offset_s.get(target, 0.0)
            for name, pair in told.items()
            if pair.target == target
        }
        usual_s = float(np.median([0.0, *off_s.values()]))
        apart |= {
            name
            for name, own_s in off_s.items()
            if abs(own_s - usual_s) > APART_S + SURE * (told[name].offset_std_s or 0.0)
        }
    return apart


def _is_odd(pair: PairMeasurement) -> bool:
    if pair.step_s is not None or pair.diagnostics.get("is_uneven"):
        return True
    return abs(pair.drift_ppm or 0.0) > ODD_DRIFT_PPM


def _moves(rotation: RotationIncrements) -> bool:
    size = np.median(np.abs(rotation.angles_rad) / rotation.std_rad, axis=0)
    return bool(size.max() > MOVING)
