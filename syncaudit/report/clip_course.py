"""The offset of a source over the time of one clip, where it drifts or steps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from markupsafe import Markup

from syncaudit.formatting import word_drift
from syncaudit.model import ClipVerdict, PairMeasurement, ReasonCode, pair_to_show
from syncaudit.report.course_plot import CoursePoint, course_plot

__all__ = ["clip_course"]

# Marks with their standard error; a clock that steps is drawn on either side of it, too.
N_MARKS = 21
_MOVES = (ReasonCode.DRIFT, ReasonCode.STEP)


def clip_course(clip: ClipVerdict, tolerances_s: Mapping[str, float]) -> Markup | None:
    """Return the offsets of rejected clocks that drift or step; None without any.

    Parameters
    ----------
    clip : ClipVerdict
        The verdict on it.
    tolerances_s : mapping of str to float
        Tolerated offset by source.
    """
    moved = dict.fromkeys(r.source for r in clip.reasons if r.code in _MOVES and r.source)
    pairs = {source: pair_to_show(clip.pairs, source, clip.reference, moved) for source in moved}
    shown = {source: pair for source, pair in pairs.items() if pair is not None}
    if clip.record is None or clip.at_ns is None:
        return None
    half_ns = round(5e8 * clip.record.span_s)
    return course_plot(
        {x: _points(pair, clip.at_ns - half_ns, clip.at_ns + half_ns) for x, pair in shown.items()},
        words={
            source: "" if pair.drift_ppm is None else word_drift(pair.drift_ppm, pair.drift_std_ppm)
            for source, pair in shown.items()
        },
        steps=dict.fromkeys(shown, ()),
        tolerances_s={source: tolerances_s.get(source) for source in shown},
        label=f"offsets over the time of clip {clip.clip_id}",
    )


def _points(pair: PairMeasurement, start_ns: int, stop_ns: int) -> list[CoursePoint]:
    times_ns = np.linspace(start_ns, stop_ns, N_MARKS).astype(np.int64).tolist()
    if pair.step_at_ns is not None:
        times_ns = sorted((*times_ns, pair.step_at_ns - 1, pair.step_at_ns))
    points = []
    for time_ns in times_ns:
        offset_s = pair.offset_at(time_ns) or 0.0
        points.append(
            CoursePoint(
                at_ns=time_ns,
                offset_s=offset_s,
                std_s=pair.offset_std_at(time_ns),
                verdict="reject",
                is_measured=True,
                pooled_s=offset_s,
            )
        )
    return points
