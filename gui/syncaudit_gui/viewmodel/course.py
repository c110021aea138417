"""The offset of a source over a clip: drift, steps, and its tolerance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from syncaudit.model.arrays import Floats
from syncaudit_gui.viewmodel.clip_model import ClipModel

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
    times_s = np.linspace(max(0.0, model.limits.start_s), model.limits.stop_s, N_POINTS)
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
