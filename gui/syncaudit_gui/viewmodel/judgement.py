"""What is known of the clocks of a clip, from an audit of now or from a verdict row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from syncaudit.model import (
    ClipVerdict,
    ClockSolution,
    Finding,
    PairMeasurement,
    ReasonCode,
    SourceVerdict,
    Verdict,
)
from syncaudit_gui.viewmodel.clock_map import ClockMap

__all__ = ["Judgement", "SourceEstimate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEstimate:
    """Estimate of one source as the panel shows it; fields as in `SourceVerdict`."""

    verdict: Verdict
    is_observable: bool
    offset_s: float | None = None
    offset_std_s: float | None = None
    drift_ppm: float | None = None
    drift_std_ppm: float | None = None
    step_s: float | None = None
    step_at_ns: int | None = None

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
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What an audit says of a clip.

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
    """

    verdict: Verdict
    reference: str | None
    at_ns: int
    sources: Mapping[str, SourceEstimate]
    pairs: tuple[PairMeasurement, ...] = ()
    reasons: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = field(default=())

    @classmethod
    def of_verdict(cls, verdict: ClipVerdict, solution: ClockSolution) -> Judgement:
        """Return the judgement of an audit that ran to its end."""
        return cls(
            verdict=verdict.verdict,
            reference=verdict.reference,
            at_ns=verdict.at_ns if verdict.at_ns is not None else solution.at_ns,
            sources={name: _estimate(source, solution) for name, source in verdict.sources.items()},
            pairs=verdict.pairs,
            reasons=verdict.reasons,
            warnings=verdict.warnings,
        )

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Judgement | None:
        """Return what a row of ``verdicts.jsonl`` says; None where it is no verdict row."""
        try:
            pairs = tuple(_pair(pair) for pair in row.get("pairs") or ())
            sources = {
                str(name): _estimate_of_row(str(name), source, pairs)
                for name, source in (row.get("sources") or {}).items()
            }
            return cls(
                verdict=Verdict(row["verdict"]),
                reference=row.get("reference"),
                at_ns=int(row.get("at_ns") or 0),
                sources=sources,
                pairs=pairs,
                reasons=tuple(_finding(item) for item in row.get("reasons") or ()),
                warnings=tuple(_finding(item) for item in row.get("warnings") or ()),
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            return None

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


def _estimate(source: SourceVerdict, solution: ClockSolution) -> SourceEstimate:
    clock = solution.clocks.get(source.clock)
    return SourceEstimate(
        verdict=source.verdict,
        is_observable=source.is_observable,
        offset_s=source.offset_s,
        offset_std_s=source.offset_std_s,
        drift_ppm=source.drift_ppm,
        drift_std_ppm=source.drift_std_ppm,
        step_s=None if clock is None else clock.step_s,
        step_at_ns=None if clock is None else clock.step_at_ns,
    )


def _estimate_of_row(
    name: str, source: Mapping[str, Any], pairs: tuple[PairMeasurement, ...]
) -> SourceEstimate:
    # A row names steps only where they were measured: on the pairs.
    step = next((p for p in pairs if p.accepted and p.source == name and p.step_s), None)
    return SourceEstimate(
        verdict=Verdict(source["verdict"]),
        is_observable=bool(source.get("observable")),
        offset_s=_number(source.get("offset_s")),
        offset_std_s=_number(source.get("offset_std_s")),
        drift_ppm=_number(source.get("drift_ppm")),
        drift_std_ppm=_number(source.get("drift_std_ppm")),
        # The pair tells by how much the offset to the target changes: the correction, too.
        step_s=None if step is None else step.step_s,
        step_at_ns=None if step is None else step.step_at_ns,
    )


def _pair(row: Mapping[str, Any]) -> PairMeasurement:
    known = {key: value for key, value in row.items() if key in PairMeasurement.__slots__}
    return PairMeasurement(**{"at_ns": 0, "diagnostics": {}, **known})


def _finding(item: Mapping[str, Any]) -> Finding:
    return Finding(
        code=ReasonCode(item["code"]),
        message=str(item["message"]),
        source=item.get("source"),
        value=item.get("value"),
        limit=item.get("limit"),
    )


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None  # type: ignore[arg-type]  # just checked
