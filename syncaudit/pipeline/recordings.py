"""Pool the clips of one recording: they share their clocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from syncaudit.errors import UsageError
from syncaudit.graph.course import common_errors, follow_clock
from syncaudit.model import (
    Clip,
    ClipRecord,
    ClipVerdict,
    ClockCourse,
    ClockEstimate,
    ClockSolution,
    CommonOffsets,
)
from syncaudit.pipeline.conclude import conclude, lasting_clocks, mark_baseline_only, solve_record
from syncaudit.policy import Policy
from syncaudit.policy.recordings import judge_with_recording


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The clocks of a recording and the verdicts on its clips with them."""

    recording_id: str  # as in the manifest
    # clock that reference time is read from; None if no clip measured anything
    reference: str | None
    clocks: Mapping[str, ClockCourse]  # every other clock that a clip measured
    verdicts: tuple[ClipVerdict, ...]  # in the order of the clips given


def pool_clips(
    clips: Sequence[Clip],
    records: Sequence[ClipRecord],
    policy: Policy,
    common: CommonOffsets | None = None,
) -> Recording:
    """Pool the clips of one recording and judge each by the pooled clocks as well.

    `records` are what was measured on each, `common` the offsets that all clips of their data set
    share. There is at least one clip.
    """
    own = [
        conclude(clip, record, policy, common) for clip, record in zip(clips, records, strict=True)
    ]
    reference = _reference(clips, [solution for solution, _ in own], policy)
    verdicts = tuple(verdict for _, verdict in own)
    recording_id = clips[0].recording_id
    if reference is None or len(clips) < 2:
        return Recording(
            recording_id=recording_id, reference=reference, clocks={}, verdicts=verdicts
        )
    order = sorted(range(len(clips)), key=lambda k: (records[k].at_ns, k))
    solutions = [_read_from(reference, clips[k], records[k], policy, own[k][0]) for k in order]
    at_ns = np.array([records[k].at_ns for k in order], dtype=np.int64)
    systematic = [
        common_errors(
            mark_baseline_only(records[k], policy),
            clips[k].clocks,
            reference,
        )
        for k in order
    ]
    clocks = {}
    for clock in sorted(set[str]().union(*map(lasting_clocks, clips)) - {reference}):
        estimates = [None if s is None else s.clocks.get(clock) for s in solutions]
        course = follow_clock(
            clock,
            at_ns,
            [None if e is None else e.offset_s for e in estimates],
            [None if e is None else e.middle_std_s for e in estimates],
            common_std_s=[errors.get(clock, 0.0) for errors in systematic],
        )
        if course is not None:
            clocks[clock] = course
    place = {k: position for position, k in enumerate(order)}
    return Recording(
        recording_id=recording_id,
        reference=reference,
        clocks=clocks,
        verdicts=tuple(
            judge_with_recording(
                clip,
                verdict,
                policy,
                _at_clip(reference, clocks, place[k], records[k].at_ns, verdict),
                span_s=records[k].span_s,
                n_clips=len(clips),
            )
            for k, (clip, verdict) in enumerate(zip(clips, verdicts, strict=True))
        ),
    )


def _reference(
    clips: Sequence[Clip], solutions: Sequence[ClockSolution], policy: Policy
) -> str | None:
    """Return the clock to which most clips can be referred and that fewest clips would correct."""
    seen: Counter[str] = Counter()
    for clip, solution in zip(clips, solutions, strict=True):
        if solution.reference is None:
            continue
        if solution.is_reference_stated:
            seen[solution.reference] += 1000
        home = next(c for c in solution.components if solution.reference in c)
        seen.update(clock for clock in home if clock not in solution.suspects)
        seen.update(dict.fromkeys(home, 0))
        preference = policy.clock_preference(clip)
    if not seen:
        return None
    rank = {clock: k for k, clock in enumerate(preference)}
    return min(seen, key=lambda clock: (-seen[clock], rank.get(clock, len(rank)), clock))


def _read_from(
    reference: str, clip: Clip, record: ClipRecord, policy: Policy, own: ClockSolution
) -> ClockSolution | None:
    """Return a clip's clocks relative to the recording's reference; None if it lacks it."""
    if own.reference == reference:
        return own
    try:
        return solve_record(clip, record, policy, reference=reference)
    except UsageError:
        return None


def _at_clip(
    reference: str,
    clocks: Mapping[str, ClockCourse],
    k: int,
    at_ns: int,
    verdict: ClipVerdict,
) -> ClockSolution:
    """Return the pooled clocks at clip `k`, unknown where that would be extrapolation."""
    estimates = {
        clock: ClockEstimate(
            clock=clock,
            is_observable=True,
            offset_s=float(course.offset_s[k]),
            offset_std_s=float(course.offset_std_s[k]),
            drift_ppm=course.drift_ppm,
            drift_std_ppm=course.drift_std_ppm,
            n_measurements=int(course.is_measured.sum()),
        )
        for clock, course in clocks.items()
        if course.is_bracketed(k)
    }
    if estimates:
        estimates[reference] = ClockEstimate.of_reference(reference, len(estimates))
    return ClockSolution(
        reference=reference,
        is_reference_stated=verdict.reference == reference,
        at_ns=at_ns,
        clocks=estimates,
    )
