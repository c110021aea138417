"""Findings and corrections of one clip, each at the reported time that it belongs to.

Everything uses the timestamps as reported, so that it lines up with the data, which players show by
these timestamps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from syncaudit.model import ClipVerdict, ClockEstimate, ClockSolution, Severity, Stream, Verdict
from syncaudit.model.arrays import Floats, Ints

_LEVELS = {Verdict.REJECT: "error", Verdict.UNVERIFIED: "warning", Verdict.PASS: "info"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One sentence about a clip."""

    time_ns: int  # time of the step of the clock, or else the first timestamp of the clip
    # ``error`` for what rejects the clip, ``warning`` for doubts and warnings, else ``info``.
    level: str
    source: str  # what it concerns; empty for the clip as a whole
    message: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Correction:
    """Correction to add to the timestamps of one source."""

    time_ns: Ints  # shape (n,): the timestamps as reported
    offset_s: Floats  # shape (n,): value to add to each, and its standard error
    offset_std_s: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Overlay:
    """Results of an audit of one clip, over time."""

    clip_id: str
    notes: tuple[Note, ...]  # verdict, reasons and warnings, in chronological order
    corrections: Mapping[str, Correction]  # by source; only those that could be measured


def overlay_of(
    verdict: ClipVerdict, solution: ClockSolution, streams: Mapping[str, Stream]
) -> Overlay:
    """Return the findings and corrections of a clip, over time."""
    corrections = {}
    for name, stream in streams.items():
        clock = solution.clocks.get(stream.clock)
        if clock is not None and clock.offset_s is not None and stream.time_ns.size:
            corrections[name] = _correction(clock, stream.time_ns, solution.at_ns)
    firsts = [int(stream.time_ns.min()) for stream in streams.values() if stream.time_ns.size]
    start_ns = min(firsts, default=verdict.at_ns or 0)
    steps = {
        name: clock.step_at_ns
        for name, stream in streams.items()
        if (clock := solution.clocks.get(stream.clock)) is not None and clock.step_at_ns is not None
    }
    found = [*verdict.reasons, *verdict.warnings]
    notes = [
        Note(
            time_ns=start_ns,
            level=_LEVELS[verdict.verdict],
            source="",
            message=f"{verdict.clip_id}: {verdict.verdict}",
        ),
        *(
            Note(
                time_ns=steps.get(finding.source or "", start_ns)
                if finding.code == "step"
                else start_ns,
                level="error" if finding.severity is Severity.DEFECT else "warning",
                source=finding.source or "",
                message=finding.message,
            )
            for finding in found
        ),
    ]
    return Overlay(
        clip_id=verdict.clip_id,
        notes=tuple(sorted(notes, key=lambda note: note.time_ns)),
        corrections=corrections,
    )


def _correction(clock: ClockEstimate, time_ns: Ints, at_ns: int) -> Correction:
    """Return the correction at every timestamp, and its standard error."""
    after_s = (time_ns - at_ns).astype(np.float64) * 1e-9
    offset_s = clock.clock_map(at_ns).since(at_ns).change_s(after_s)
    std_s = np.hypot(clock.offset_std_s or 0.0, 1e-6 * (clock.drift_std_ppm or 0.0) * after_s)
    if clock.step_s is not None and clock.step_at_ns is not None:
        is_other_side = (time_ns >= clock.step_at_ns) != clock.is_step_past
        std_s = np.where(is_other_side, np.hypot(std_s, clock.step_std_s or 0.0), std_s)
    return Correction(time_ns=time_ns, offset_s=offset_s, offset_std_s=std_s)
