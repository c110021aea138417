"""What is known of the relative rate of two clocks, measured or promised by their crystals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from syncaudit.graph.edges import Edge

__all__ = ["drift_pairs", "widened", "with_assumed_drift"]

# One sigma of a crystal's rate where nobody measured it: data sheets promise 20 to 50 ppm at
# worst. It widens a measurement that holds at another instant than the solution.
_DRIFT_PRIOR_PPM = 20.0

# Offsets at several instants show drift of their own; worse than a data sheet is not a result.
_DRIFT_USEFUL_PPM = 50.0


def with_assumed_drift(edges: Sequence[Edge]) -> list[Edge]:
    """Let crystals run alike where nobody measured their drift but some drift was measured.

    Without that a drifting camera would be known to drift against its gyroscope only, and not
    against the clock that the gyroscope is tied to by a measurement too short to show drift.
    """
    if not any(edge.drift_ppm is not None and not edge.is_loop for edge in edges):
        return list(edges)
    known = {frozenset(pair) for pair in drift_pairs(edges)}
    return [
        edge
        if edge.is_loop or frozenset((edge.source, edge.target)) in known
        else replace(
            edge,
            drift_ppm=0.0,
            drift_std_ppm=math.sqrt(2.0) * _DRIFT_PRIOR_PPM,
            is_drift_assumed=True,
        )
        for edge in edges
    ]


def drift_pairs(edges: Sequence[Edge]) -> list[tuple[int, int]]:
    """Return the pairs of clocks whose relative drift somebody measured.

    Either an edge carries a drift, or offsets of one pair at three instants or more, as from the
    clips of one recording, show it better than a data sheet does.
    """
    pairs: list[tuple[int, int]] = []
    between: dict[tuple[int, int], list[Edge]] = {}
    for edge in edges:
        if edge.is_loop:
            continue
        if edge.drift_ppm is not None:
            pairs.append((edge.source, edge.target))
        key = (min(edge.source, edge.target), max(edge.source, edge.target))
        between.setdefault(key, []).append(edge)
    for key, parallel in between.items():
        if len({round(edge.source_s, 3) for edge in parallel}) < 3:
            continue
        weights = [edge.std_s**-2 for edge in parallel]
        mean = sum(w * e.source_s for w, e in zip(weights, parallel, strict=True)) / sum(weights)
        information = sum(
            w * (e.source_s - mean) ** 2 for w, e in zip(weights, parallel, strict=True)
        )
        if information > 0.0 and 1e6 / math.sqrt(information) < _DRIFT_USEFUL_PPM:
            pairs.append(key)
    return pairs


def widened(edge: Edge, drift_group: Sequence[int]) -> Edge:
    """Add what an unmeasured drift may have done between the edge's instant and the anchor."""
    if edge.is_loop or drift_group[edge.source] == drift_group[edge.target]:
        return edge
    lever_s = min(abs(edge.source_s), abs(edge.target_s))
    return replace(edge, std_s=math.hypot(edge.std_s, 1e-6 * _DRIFT_PRIOR_PPM * lever_s))
