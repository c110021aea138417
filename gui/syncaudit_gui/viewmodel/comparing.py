"""What shows the offset of a source: the best comparison, and its course over the clip."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from syncaudit.model.arrays import Floats
from syncaudit.model.comparison import Comparison, compare_pair, pair_to_show
from syncaudit_gui.viewmodel.clip_model import ClipModel


def compare(model: ClipModel, source: str) -> tuple[Comparison | None, float | None]:
    """Return the comparison that best shows a source's offset, and the offset's error.

    The comparison is None if none was kept, the standard error if it is unknown, or the offset was
    not measured but holds a nudge.
    """
    judged = model.judgement
    if judged is None:
        return None, None
    rejected = {name for name, found in judged.sources.items() if str(found.verdict) == "reject"}
    pair = pair_to_show(judged.pairs, source, judged.reference, rejected)
    if pair is None:
        return None, None
    ours, theirs = model.corrected_map(pair.source), model.corrected_map(pair.target)

    def offset_at(time_s: float) -> float:
        corrected_s = ours.at(time_s)
        # Clock rates agree to parts per million, so where the target is evaluated hardly matters.
        return (corrected_s - time_s) - (theirs.at(corrected_s) - corrected_s)

    found = compare_pair(pair, model.epoch_ns, offset_at)
    estimate = judged.sources.get(source)
    is_nudged = any(model.nudges_s.get(name) for name in (pair.source, pair.target))
    if found is None or estimate is None or is_nudged:
        return found, None
    clock = estimate.map_since(model.epoch_ns, judged.at_ns)
    return found, float(estimate.std_at(clock, np.array([found.peak_s - found.offset_s]))[0])


N_POINTS = 201
# A change of fewer standard errors is not visible.
CHANGE_Z = 3.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OffsetCourse:
    """Offset of a source over the time of a clip."""

    times_s: Floats  # shape (n,): seconds since the clip's epoch
    offset_s: Floats  # shape (n,): offset to add to timestamps, and its standard error
    std_s: Floats
    limit_s: float | None  # tolerance in either direction, if known


def course_of(model: ClipModel, source: str) -> OffsetCourse | None:
    """Return the course of an offset that drifts or steps; None if it is constant."""
    judged = model.judgement
    found = None if judged is None else judged.sources.get(source)
    if judged is None or found is None or found.offset_std_s is None:
        return None
    limits = model.timeline.limits
    times_s = np.linspace(max(0.0, limits.start_s), limits.stop_s, N_POINTS)
    clock = found.map_since(model.epoch_ns, judged.at_ns)
    offset_s = clock.change_s(times_s)
    std_s = found.std_at(clock, times_s)
    drift_s = 1e-6 * (found.drift_std_ppm or 0.0) * float(np.ptp(times_s))
    change_std_s = math.hypot(found.offset_std_s, drift_s)
    if float(np.ptp(offset_s)) <= CHANGE_Z * change_std_s:
        return None
    return OffsetCourse(
        times_s=times_s,
        offset_s=offset_s,
        std_s=std_s,
        limit_s=judged.limits_s.get(source),
    )
