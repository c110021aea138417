"""Solve the clocks of a clip from what was measured, and judge them by a policy."""

from __future__ import annotations

import time
from dataclasses import replace

from syncaudit.graph.solve import solve_clocks
from syncaudit.model import (
    Clip,
    ClipRecord,
    ClipVerdict,
    ClockSolution,
    CommonOffsets,
    PairMeasurement,
    TranscriptSpec,
)
from syncaudit.policy import Case, Policy, judge


def conclude(
    clip: Clip, record: ClipRecord, policy: Policy, common: CommonOffsets | None = None
) -> tuple[ClockSolution, ClipVerdict]:
    """Return clocks and verdict of a clip that was already measured; no file is opened.

    A clock that departs from `common`, the offsets shared by all clips of its data set, is blamed.
    """
    began = time.process_time()
    solution = solve_record(clip, record, policy, common=common)
    spent_s = time.process_time() - began
    stages = {**record.stages, "solve": record.stages.get("solve", spent_s)}
    # Rounded as rows have them, so that judging again gives the same row.
    stages = {stage: round(seconds, 4) for stage, seconds in stages.items()}
    record = replace(record, stages=stages)
    verdict = judge(
        Case(
            clip=clip,
            policy=policy,
            record=record,
            solution=solution,
            measurements=mark_baseline_only(record, policy),
        )
    )
    return solution, replace(verdict, common=common)


def solve_record(
    clip: Clip,
    record: ClipRecord,
    policy: Policy,
    *,
    reference: str | None = None,
    common: CommonOffsets | None = None,
) -> ClockSolution:
    """Return the clocks of a clip, relative to the clip's reference or another one."""
    clocks = clip.clocks
    reference = clip.reference if reference is None else reference
    if not record.measurements:  # no clock needs to be preferred
        return solve_clocks((), clocks, at_ns=record.at_ns, tolerance_s={}, reference=reference)
    return solve_clocks(
        mark_baseline_only(record, policy),
        clocks,
        at_ns=record.at_ns,
        tolerance_s=policy.clock_tolerances(clip),
        reference=reference,
        preference=_preference(clip, policy, common),
        span_s=record.span_s,
        expected_offset_s=clip.intended_s,
        followers=set(clocks.values()) - lasting_clocks(clip),
        usual_offset_s=None if common is None else common.offset_s,
    )


def _preference(clip: Clip, policy: Policy, common: CommonOffsets | None) -> tuple[str, ...]:
    """Return the clocks of a clip, the most trusted first.

    The reference of its data set comes first, then the clocks that agree with it across the set,
    so that a clip without the reference blames the same clocks as the other clips do.
    """
    ranked = policy.clock_preference(clip)
    if common is None:
        return ranked
    tolerance_s = policy.clock_tolerances(clip)

    def trust(clock: str) -> tuple[bool, bool]:
        usual_s = common.offset_s.get(clock, 0.0)
        return clock != common.reference, abs(usual_s) > tolerance_s[clock]

    return tuple(sorted(ranked, key=trust))


def mark_baseline_only(record: ClipRecord, policy: Policy) -> tuple[PairMeasurement, ...]:
    """Return a clip's measurements, marked where the policy requires a baseline for them."""
    return tuple(
        replace(pair, is_baseline_only=True)
        if policy.is_baseline_only(pair) and not pair.is_baseline_only
        else pair
        for pair in record.measurements
    )


def lasting_clocks(clip: Clip) -> set[str]:
    """Return the clocks that stamp more than transcripts, which are made for one clip each."""
    sources = clip.sources
    return {
        clock
        for name, clock in clip.clocks.items()
        if not isinstance(sources[name], TranscriptSpec)
    }
