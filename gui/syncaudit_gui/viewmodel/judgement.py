"""What is known of the clocks of a clip, from an audit of now or from a verdict row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from syncaudit.errors import SyncAuditError
from syncaudit.model import (
    Clip,
    ClipVerdict,
    ClockJump,
    Finding,
    PairMeasurement,
    PictureAudit,
    SourceVerdict,
    Verdict,
)
from syncaudit.pipeline.conclude import solve_record
from syncaudit.policy import load_policy
from syncaudit_gui.viewmodel.clock_map import ClockMap

__all__ = ["Judgement", "SourceEstimate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEstimate:
    """Estimate of one source as the panel shows it; fields as in `SourceVerdict`.

    The step is that of the source's own clock (`ClockJump`), also of the reference: everything is
    drawn over the time that the reference would have shown without it.
    """

    verdict: Verdict
    is_observable: bool
    offset_s: float | None = None
    offset_std_s: float | None = None
    drift_ppm: float | None = None
    drift_std_ppm: float | None = None
    step_s: float | None = None
    step_at_ns: int | None = None
    is_step_past: bool = False
    why_unmeasured: str | None = None

    def clock_map(self, at_ns: int, epoch_ns: int) -> ClockMap:
        """Return the correction in seconds since the clip's epoch."""
        if not self.is_observable or self.offset_s is None:
            return ClockMap()
        step_at_ns = self.step_at_ns
        return ClockMap(
            offset_s=self.offset_s,
            drift_ppm=self.drift_ppm or 0.0,
            at_s=(at_ns - epoch_ns) * 1e-9,
            step_s=self.step_s or 0.0,
            step_at_s=None if step_at_ns is None else (step_at_ns - epoch_ns) * 1e-9,
            is_step_past=self.is_step_past,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What an audit concluded of a clip.

    Parameters
    ----------
    verdict : Verdict
        Of the clip.
    reference : str, optional
        Clock that reference time was read from.
    at_ns : int
        Where offsets hold.
    sources : mapping of str to SourceEstimate
        By source.
    pairs : tuple of PairMeasurement
        Accepted and refused.
    reasons, warnings : tuple of Finding
        What decided, and what did not.
    frame_audits : mapping of str to PictureAudit
        Faults of the frames of each camera.
    """

    verdict: Verdict
    reference: str | None
    at_ns: int
    sources: Mapping[str, SourceEstimate]
    pairs: tuple[PairMeasurement, ...] = ()
    reasons: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = field(default=())
    frame_audits: Mapping[str, PictureAudit] = field(default_factory=dict)

    @classmethod
    def of_verdict(cls, verdict: ClipVerdict, jumps: Mapping[str, ClockJump]) -> Judgement:
        """Return what a verdict says, with the jumps of its clocks."""
        return cls(
            verdict=verdict.verdict,
            reference=verdict.reference,
            at_ns=verdict.at_ns or 0,
            sources={
                name: _estimate(source, jumps.get(source.clock))
                for name, source in verdict.sources.items()
            },
            pairs=verdict.pairs,
            reasons=verdict.reasons,
            warnings=verdict.warnings,
            frame_audits={} if verdict.record is None else verdict.record.pictures,
        )

    @classmethod
    def of_row(cls, row: Mapping[str, Any], clip: Clip | None = None) -> Judgement | None:
        """Return what a row of ``verdicts.jsonl`` holds; None where it is no verdict row.

        Parameters
        ----------
        row : mapping
            The row.
        clip : Clip, optional
            Its row of the manifest: states which sources share a clock.
        """
        try:
            verdict = ClipVerdict.from_row(row)
        except (KeyError, TypeError, ValueError, AttributeError):
            return None
        jumps = _jumps_of(verdict, clip)
        if jumps is None:
            jumps = _jumps_of_pairs(verdict.pairs)
        return cls.of_verdict(verdict, jumps)

    def reasons_of(self, source: str) -> list[Finding]:
        """Return the reasons and warnings that name a source, those that decide first."""
        return [x for x in (*self.reasons, *self.warnings) if x.source == source]

    def pairs_of(self, source: str) -> list[PairMeasurement]:
        """Return the measurements of a source: accepted first, the sharpest of them first."""
        own = [pair for pair in self.pairs if source in (pair.source, pair.target)]
        return sorted(
            own,
            key=lambda p: (not p.accepted, p.is_baseline_only, p.offset_std_s or float("inf")),
        )


def _estimate(source: SourceVerdict, jump: ClockJump | None) -> SourceEstimate:
    estimate = SourceEstimate(
        verdict=source.verdict,
        is_observable=source.is_observable,
        offset_s=source.offset_s,
        offset_std_s=source.offset_std_s,
        drift_ppm=source.drift_ppm,
        drift_std_ppm=source.drift_std_ppm,
        why_unmeasured=source.why_unmeasured,
    )
    if jump is None:
        return estimate
    return replace(estimate, step_s=jump.step_s, step_at_ns=jump.at_ns, is_step_past=jump.is_past)


def _jumps_of(verdict: ClipVerdict, clip: Clip | None) -> Mapping[str, ClockJump] | None:
    """Return the jumps of the clocks of a clip; None where its row does not hold them.

    A row names offsets relative to the reference; which of them jumped is solved again from the
    measurements that it holds.
    """
    if verdict.record is None or clip is None:
        return None
    try:
        # The policy only chooses the reference, which is known, and which to trust in a tie.
        policy = load_policy()
        return solve_record(clip, verdict.record, policy, reference=verdict.reference).jumps
    except (SyncAuditError, KeyError, TypeError, ValueError, AttributeError):
        return None


def _jumps_of_pairs(pairs: Iterable[PairMeasurement]) -> dict[str, ClockJump]:
    """Return the jumps of rows without a record: the source of a pair is taken to have stepped."""
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
