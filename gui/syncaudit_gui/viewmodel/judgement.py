"""Results about the clocks of a clip, from a current audit or from a verdict row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from syncaudit.errors import SyncAuditError
from syncaudit.model import (
    Clip,
    ClipVerdict,
    ClockEstimate,
    ClockJump,
    ClockMap,
    ClockSolution,
    Finding,
    ImageAudit,
    PairMeasurement,
    SourceVerdict,
    Verdict,
)
from syncaudit.model.arrays import Floats
from syncaudit.model.field_names import fields_of, known_fields
from syncaudit.pipeline.conclude import solve_record
from syncaudit.policy import load_policy


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEstimate(ClockEstimate):
    """Estimate of one source as the panel shows it.

    The step is that of the source's own clock (`ClockJump`), also for the reference: everything is
    drawn over the time that the reference would have shown without the step.
    """

    verdict: Verdict
    why_unmeasured: str | None = None

    def std_at(self, clock: ClockMap, times_s: Floats) -> Floats:
        """Return the standard error of the offset in seconds at timestamps, shape as given."""
        drift_s = 1e-6 * (self.drift_std_ppm or 0.0) * (times_s - 1e-9 * (clock.at_ns or 0))
        step_s = np.zeros_like(drift_s)
        if clock.step_at_ns is not None:
            is_beyond = (times_s >= 1e-9 * clock.step_at_ns) != self.is_step_past
            step_s = (self.step_std_s or 0.0) * is_beyond
        std_s: Floats = np.sqrt((self.offset_std_s or 0.0) ** 2 + drift_s**2 + step_s**2)
        return std_s

    def map_since(self, epoch_ns: int, at_ns: int) -> ClockMap:
        """Return the correction for timestamps counted from the clip's epoch."""
        if not self.is_observable or self.offset_s is None:
            return ClockMap()
        return self.clock_map(at_ns).since(epoch_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Conclusions of an audit of a clip."""

    verdict: Verdict
    reference: str | None  # clock used as reference time
    at_ns: int  # time at which the offsets hold
    sources: Mapping[str, SourceEstimate]
    pairs: tuple[PairMeasurement, ...] = ()  # accepted and refused
    reasons: tuple[Finding, ...] = ()  # decisive and other findings
    warnings: tuple[Finding, ...] = field(default=())
    # Faults of the frames of each camera.
    frame_audits: Mapping[str, ImageAudit] = field(default_factory=dict)
    # Offset tolerance of each source, if known.
    limits_s: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of_verdict(
        cls,
        verdict: ClipVerdict,
        solution: ClockSolution,
        limits_s: Mapping[str, float] | None = None,
    ) -> Judgement:
        """Return the judgement of a completed audit, with its tolerances."""
        return cls(
            verdict=verdict.verdict,
            reference=verdict.reference,
            at_ns=verdict.at_ns if verdict.at_ns is not None else solution.at_ns,
            sources={name: _estimate(source, solution) for name, source in verdict.sources.items()},
            pairs=verdict.pairs,
            reasons=verdict.reasons,
            warnings=verdict.warnings,
            frame_audits={} if verdict.record is None else verdict.record.pictures,
            limits_s=limits_s or {},
        )

    @classmethod
    def of_row(
        cls,
        row: Mapping[str, Any],
        clip: Clip | None = None,
        limits_s: Mapping[str, float] | None = None,
    ) -> Judgement | None:
        """Return the judgement in a row of ``verdicts.jsonl``; None if it is not a verdict row.

        The clip's row of the manifest states which sources share a clock.
        """
        try:
            verdict = ClipVerdict.from_row(row)
        except (KeyError, TypeError, ValueError, AttributeError):
            return None
        return cls.of_verdict(verdict, _solution_of(verdict, clip), limits_s)

    def reasons_of(self, source: str) -> list[Finding]:
        """Return the reasons and warnings that name a source, decisive ones first."""
        return [x for x in (*self.reasons, *self.warnings) if x.source == source]

    def tolerated(self, pair: PairMeasurement, source: str) -> tuple[float, float] | None:
        """Return the range of pair offsets in which a source is within its tolerance, in seconds.

        It is centred at the value given by the other source's own offset.
        """
        limit_s = self.limits_s.get(source)
        other = self.sources.get(pair.target if pair.source == source else pair.source)
        if limit_s is None or other is None:
            return None
        sign = -1.0 if pair.source == source else 1.0
        right_s = sign * (other.offset_s or 0.0)
        return right_s - limit_s, right_s + limit_s

    def pairs_of(self, source: str) -> list[PairMeasurement]:
        """Return the measurements of a source: accepted ones first, the most precise first."""
        own = [pair for pair in self.pairs if source in (pair.source, pair.target)]
        return sorted(
            own,
            key=lambda p: (not p.accepted, p.is_baseline_only, p.offset_std_s or float("inf")),
        )


def _estimate(source: SourceVerdict, solution: ClockSolution) -> SourceEstimate:
    step = solution.jumps.get(source.clock)
    return SourceEstimate(
        **known_fields(SourceEstimate, fields_of(source)),
        step_s=None if step is None else step.step_s,
        step_std_s=None if step is None else step.step_std_s,
        step_at_ns=None if step is None else step.at_ns,
        is_step_past=step is not None and step.is_past,
    )


def _solution_of(verdict: ClipVerdict, clip: Clip | None) -> ClockSolution:
    """Return the clocks of a clip, for their steps.

    A row gives offsets relative to the reference; which of the clocks stepped is solved again from
    its measurements, or inferred from the pairs if it has no record.
    """
    if verdict.record is not None and clip is not None:
        try:
            # The policy only matters for the reference, which is known, and for breaking ties.
            policy = load_policy()
            return solve_record(clip, verdict.record, policy, reference=verdict.reference)
        except (SyncAuditError, KeyError, TypeError, ValueError, AttributeError):
            pass
    return ClockSolution(
        reference=verdict.reference,
        is_reference_stated=False,
        at_ns=verdict.at_ns or 0,
        clocks={},
        jumps=_jumps_of_pairs(verdict.pairs),
    )


def _jumps_of_pairs(pairs: Iterable[PairMeasurement]) -> dict[str, ClockJump]:
    """Return the steps of rows without a record, attributed to the source of each pair."""
    steps: dict[str, ClockJump] = {}
    for pair in pairs:
        if pair.accepted and pair.step_s and pair.step_at_ns is not None:
            step = ClockJump(
                step_s=pair.step_s,
                step_std_s=pair.step_std_s or 0.0,
                at_ns=pair.step_at_ns,
                is_past=pair.at_ns >= pair.step_at_ns,
            )
            steps.setdefault(pair.source, step)
    return steps
