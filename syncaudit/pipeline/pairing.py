"""Measure every pair of sources that can be compared, and select the cameras to track in full.

At first only the informative frames of a camera are tracked. Whether all are needed depends on the
measurements alone, never on a policy: what is measured on a clip must not depend on who judges it,
or judging again would differ from auditing again.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from syncaudit.estimators import MAX_HUBS, all_estimators, rank_by_motion
from syncaudit.model import (
    Activity,
    Clip,
    ClipEvidence,
    PairMeasurement,
    Quantity,
    RotationIncrements,
)

# Diagnostics that a search leaves: without any, a measurement was refused before the search.
_OF_A_SEARCH = ("searched_s", "runner_up", "margin")
# A delay that explains more than half of the motion was found, whatever the reason for refusal.
_FOUND_SHARE = 0.5
_MIN_GAP = 8.0
# If something moves, means over this long scatter several times more than noise alone explains: at
# least this factor, which a slowly wandering zero does not reach.
_BLOCK_S = 0.25
_MIN_EXCESS = 4.0
# A camera moved where most of its increments are this many times their error, about any axis.
# Noise alone gives a median of 0.7.
MOVING_Z = 3.0
# No quartz runs this wrong: a delay that changes this fast is unlikely to be that of a clock.
ODD_DRIFT_PPM = 200.0
# Twice what the choice of frames aims at (`syncaudit.detectors.choose_increments`: 0.6 ms): these
# frames are so poor that those chosen were not enough, and tracking all would halve the error.
POOR_S = 0.0012
# What exposure and readout explain: timestamps of their beginning are early by half of each, and
# neither lasts longer than 20 ms in moving video that can be tracked. More is a fault of some
# clock or recorder, whose kind (a step, wander, lost frames) shows in all frames only.
APART_S = 0.010
# Standard errors by which a camera must exceed that.
SURE = 3.0


def measure_pairs(evidence: ClipEvidence, *, max_offset_s: float) -> list[PairMeasurement]:
    """Measure everything that the estimators can compare in a clip."""
    measured: list[PairMeasurement] = []
    for estimator in all_estimators():
        measured += estimator.measure(evidence, measured, max_offset_s)
    still = _still_sources(evidence)
    return [_with_range(pair, max_offset_s, still) for pair in _without_deviant(measured)]


def as_uncertain_as_stamps(
    measured: Sequence[PairMeasurement], clip: Clip, evidence: ClipEvidence
) -> Iterator[PairMeasurement]:
    """Yield measurements with the errors that the manifest states of whole streams.

    Sources that share a clock share that error.
    """
    for pair in measured:
        ends = pair.source, pair.target
        stated_s = math.hypot(*(clip.sources[name].stamp_std_s for name in ends))
        if stated_s and pair.offset_std_s is not None and not evidence.share_a_clock(*ends):
            pair = replace(
                pair,
                offset_std_s=math.hypot(pair.offset_std_s, stated_s),
                systematic_std_s=math.hypot(pair.systematic_std_s, stated_s),
            )
        yield pair


def _without_deviant(measured: Sequence[PairMeasurement]) -> list[PairMeasurement]:
    """Withdraw what other signals measured between two clocks, one of which departs at an end.

    It departs for all of their signals, even for those too weak to show it. Those that show a step
    or a drift have explained it. The delay of a signal that only a baseline judges is partly that
    of the vehicle, and may change without its clock.
    """
    why = {
        (pair.source, pair.target): pair.why
        for pair in measured
        if "departs_by_s" in pair.diagnostics and not pair.is_baseline_only
    }
    return [
        pair.withdrawn(reason)
        if pair.accepted
        and pair.step_s is None
        and pair.drift_ppm is None
        and (reason := why.get((pair.source, pair.target))) is not None
        else pair
        for pair in measured
    ]


def _with_range(
    pair: PairMeasurement, max_offset_s: float, still: Collection[str] = ()
) -> PairMeasurement:
    """Return a measurement whose refusal states the search range and how to widen it.

    An estimator that could not search the whole range of the policy, `max_offset_s` to either side,
    gives half of what it did search as ``searched_s`` in its diagnostics. Nothing moves in the
    sources `still`: a different range would not help them.
    """
    figures = pair.diagnostics
    if pair.accepted or pair.why is None or not any(name in figures for name in _OF_A_SEARCH):
        return pair
    resting = [name for name in (pair.source, pair.target) if name in still]
    reach_s = figures.get("searched_s", max_offset_s)
    if resting:
        words = f"{' and '.join(resting)} hardly move{'s' if len(resting) == 1 else ''}"
    elif figures.get("explained", 0.0) > _FOUND_SHARE and not _has_runner_up(pair):
        return pair
    elif reach_s > 1.01 * max_offset_s:  # clocks of unrelated epochs
        words = "searched wherever the two can overlap"
    elif reach_s < 0.99 * max_offset_s:
        words = f"searched ± {reach_s:.2g} s, as far as a clip this short allows"
    else:
        words = f"searched ± {max_offset_s:g} s, raise max_offset_s in the policy to search farther"
    return replace(pair, why=f"{pair.why}; {words}")


def _still_sources(evidence: ClipEvidence) -> set[str]:
    """Return the cameras, IMUs and buses in which nothing moves, as in a parked car."""
    cameras = {name for name, seen in evidence.rotations.items() if not _turns(seen)}
    others = {
        name
        for name, motion in evidence.motion.items()
        if motion and not any(_moves(activity) for activity in motion.values())
    }
    return cameras | others


def _has_runner_up(pair: PairMeasurement) -> bool:
    """Return whether a second lobe explains as much, up to a likelihood ratio of e^8."""
    figures = pair.diagnostics
    gap = figures.get("log_likelihood", 0.0) - figures.get("runner_up", 0.0)
    return gap < _MIN_GAP * figures.get("correlation_factor", 1.0)


def _turns(seen: RotationIncrements) -> bool:
    """Return whether a camera turns by more than the errors of its angles."""
    squares = (seen.angles_rad / np.maximum(seen.std_rad, 1e-9)) ** 2
    return bool(squares.size) and float(squares.mean(axis=0).max()) >= _MIN_EXCESS


def _moves(activity: Activity) -> bool:
    """Return whether a signal is more than a constant plus noise, judging by block means.

    For white noise, their variance is that of single samples divided by the samples per block.
    Both are taken from differences of neighbours, so that a wandering zero counts for little.
    """
    values = activity.values.reshape(activity.times_s.size, -1)
    if activity.times_s.size < 2:
        return True
    n_block = round(_BLOCK_S / float(np.median(np.diff(activity.times_s))))
    n_blocks = values.shape[0] // max(n_block, 1)
    if n_block < 2 or n_blocks < 3:
        return True  # too coarse to decide
    means = values[: n_block * n_blocks].reshape(n_blocks, n_block, -1).mean(axis=1)
    of_blocks = np.mean(np.diff(means, axis=0) ** 2, axis=0)
    of_samples = np.mean(np.diff(values, axis=0) ** 2, axis=0) / n_block
    return bool(np.any(of_blocks > _MIN_EXCESS * of_samples))


def cameras_to_track(
    evidence: ClipEvidence,
    measured: Sequence[PairMeasurement],
    expected_offset_s: Mapping[str, float],
) -> list[str]:
    """Return cameras for which the frames tracked so far are not enough; empty once they are.

    First the cameras that move but agree with no gyroscope, whose delay changes oddly or is
    poorly known, or that are apart from the other clocks: the kind of error, and how a delay
    wanders, shows in all frames only. Those that still agree with none are compared with
    other cameras, which must then be tracked throughout: the few that move most.
    `expected_offset_s` is the intended offset of every source.
    """
    if not evidence.sampled:
        return []
    rates = {name for name, motion in evidence.motion.items() if Quantity.ANGULAR_RATE in motion}
    by_source = {
        pair.source: pair
        for pair in measured
        if pair.accepted and pair.target in rates and pair.source in evidence.rotations
    }
    alone = evidence.rotations.keys() - by_source.keys()
    weak = alone | _poor(by_source) | _apart(by_source, expected_offset_s)
    undecided = [
        name
        for name in sorted(evidence.sampled & evidence.rotations.keys())
        if (name in by_source and _is_odd(by_source[name]))
        or (name in weak and _camera_moves(evidence.rotations[name]))
    ]
    if undecided or alone <= evidence.sampled:
        return undecided
    return [name for name in rank_by_motion(evidence)[:MAX_HUBS] if name in evidence.sampled]


def _poor(by_source: Mapping[str, PairMeasurement]) -> set[str]:
    return {name for name, pair in by_source.items() if (pair.offset_std_s or 0.0) > POOR_S}


def _apart(
    by_source: Mapping[str, PairMeasurement], expected_offset_s: Mapping[str, float]
) -> set[str]:
    """Return the cameras whose clock differs from most clocks, including the gyroscope's.

    If all of its cameras differ equally from a gyroscope, the gyroscope is the one that is wrong.
    """
    apart = set()
    for target in {pair.target for pair in by_source.values()}:
        off_s = {
            name: (pair.offset_s or 0.0)
            - expected_offset_s.get(name, 0.0)
            + expected_offset_s.get(target, 0.0)
            for name, pair in by_source.items()
            if pair.target == target
        }
        usual_s = float(np.median([0.0, *off_s.values()]))
        apart |= {
            name
            for name, own_s in off_s.items()
            if abs(own_s - usual_s) > APART_S + SURE * (by_source[name].offset_std_s or 0.0)
        }
    return apart


def _is_odd(pair: PairMeasurement) -> bool:
    if pair.step_s is not None or pair.diagnostics.get("is_uneven"):
        return True
    return abs(pair.drift_ppm or 0.0) > ODD_DRIFT_PPM


def _camera_moves(rotation: RotationIncrements) -> bool:
    size = np.median(np.abs(rotation.angles_rad) / rotation.std_rad, axis=0)
    return bool(size.max() > MOVING_Z)
