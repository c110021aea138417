"""Measure every pair of sources that can vouch for one another."""

from __future__ import annotations

from syncaudit.estimators import all_estimators
from syncaudit.model import ClipEvidence, PairMeasurement
from syncaudit.pipeline.searched import still_sources, with_range

__all__ = ["measure_pairs"]


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
