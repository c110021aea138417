"""Measure every pair of sources that can vouch for one another."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from syncaudit.estimators import all_estimators
from syncaudit.model import Activity, ClipEvidence, PairMeasurement, RotationIncrements

__all__ = ["measure_pairs"]

# Figures that a search leaves: without any, a measurement was refused before.
_OF_A_SEARCH = ("searched_s", "runner_up", "margin")
# A delay that explains more than half of the motion was found, whatever it was refused for.
_FOUND_SHARE = 0.5
_MIN_GAP = 8.0
# Means over so long scatter as noise does, or several times more where something moves: at least
# so many times, which a slowly wandering zero does not reach.
_BLOCK_S = 0.25
_MIN_EXCESS = 4.0


def measure_pairs(evidence: ClipEvidence, *, max_offset_s: float) -> list[PairMeasurement]:
    """Measure what every estimator can compare of a clip.

    Parameters
    ----------
    evidence : ClipEvidence
        Of one clip.
    max_offset_s : float
        Search range.

    Returns
    -------
    list of PairMeasurement
        Accepted and refused.
    """
    measured: list[PairMeasurement] = []
    for estimator in all_estimators():
        measured += estimator.measure(evidence, measured, max_offset_s)
    still = still_sources(evidence)
    return [with_range(pair, max_offset_s, still) for pair in measured]


def with_range(
    pair: PairMeasurement, max_offset_s: float, still: Collection[str] = ()
) -> PairMeasurement:
    """Return a measurement whose refusal tells the range of its search, and how to widen it.

    Parameters
    ----------
    pair : PairMeasurement
        Accepted or refused. An estimator that could not search all of the range states half of
        what it did search as ``searched_s`` of its diagnostics.
    max_offset_s : float
        Range of the policy, either sign.
    still : collection of str
        Sources of which nothing moves: no other range makes more of them.
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
        words = "searched wherever the two may overlap"
    elif reach_s < 0.99 * max_offset_s:
        words = f"searched ± {reach_s:.2g} s, as far as so short a clip allows"
    else:
        words = f"searched ± {max_offset_s:g} s, raise max_offset_s in the policy to look farther"
    return replace(pair, why=f"{pair.why}; {words}")


def still_sources(evidence: ClipEvidence) -> set[str]:
    """Return the cameras, IMUs and buses of which nothing moves, as in a parked car."""
    cameras = {name for name, seen in evidence.rotations.items() if not _turns(seen)}
    others = {
        name
        for name, motion in evidence.motion.items()
        if motion and not any(_moves(activity) for activity in motion.values())
    }
    return cameras | others


def _has_runner_up(pair: PairMeasurement) -> bool:
    """Tell whether a second lobe explains as much but for a likelihood ratio of e^8."""
    figures = pair.diagnostics
    gap = figures.get("log_likelihood", 0.0) - figures.get("runner_up", 0.0)
    return gap < _MIN_GAP * figures.get("correlation_factor", 1.0)


def _turns(seen: RotationIncrements) -> bool:
    """Tell whether a camera turns by more than the errors of its angles."""
    squares = (seen.angles_rad / np.maximum(seen.std_rad, 1e-9)) ** 2
    return bool(squares.size) and float(squares.mean(axis=0).max()) >= _MIN_EXCESS


def _moves(activity: Activity) -> bool:
    """Tell whether a signal is more than a constant and noise: means over blocks tell it.

    Of white noise they have the variance of single samples over the samples of a block, both by
    differences of neighbours, so that a zero that wanders counts for little.
    """
    values = activity.values.reshape(activity.times_s.size, -1)
    if activity.times_s.size < 2:
        return True
    n_block = round(_BLOCK_S / float(np.median(np.diff(activity.times_s))))
    n_blocks = values.shape[0] // max(n_block, 1)
    if n_block < 2 or n_blocks < 3:
        return True  # too coarse to tell
    means = values[: n_block * n_blocks].reshape(n_blocks, n_block, -1).mean(axis=1)
    of_blocks = np.mean(np.diff(means, axis=0) ** 2, axis=0)
    of_samples = np.mean(np.diff(values, axis=0) ** 2, axis=0) / n_block
    return bool(np.any(of_blocks > _MIN_EXCESS * of_samples))
