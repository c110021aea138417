"""The verdict on a clip and on each of its sources, and the record that it was reached from.

The record is what was measured, before any policy: enough to judge again without the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from syncaudit.model.clocks import ClockEstimate, CommonOffsets
from syncaudit.model.field_names import known_fields
from syncaudit.model.findings import Finding, ImageAudit, ReasonCode, StampAudit
from syncaudit.model.measurement import PairMeasurement

# Figures that a row holds of a source's clock as pooled over the clips of its recording.
_POOLED = ("offset_s", "offset_std_s", "drift_ppm", "drift_std_ppm")


class Verdict(StrEnum):
    """Three-way outcome; silence is never a pass."""

    PASS = "pass"  # noqa: S105  # a verdict, not a password
    REJECT = "reject"
    UNVERIFIED = "unverified"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceVerdict:
    """Verdict on one source with the figures behind it (formats, section 3).

    `recording` is its clock at this clip by all clips of the recording, if those were pooled.
    `why_unmeasured` explains why no measurement constrains its clock, if one was tried and refused.
    """

    verdict: Verdict
    kind: str
    clock: str
    offset_s: float | None = None
    offset_std_s: float | None = None
    drift_ppm: float | None = None
    drift_std_ppm: float | None = None
    is_observable: bool = False
    timing: StampAudit | None = None
    recording: ClockEstimate | None = None
    why_unmeasured: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return the source object of the contract."""
        pooled = self.recording
        return {
            "verdict": str(self.verdict),
            "kind": self.kind,
            "clock": self.clock,
            "offset_s": self.offset_s,
            "offset_std_s": self.offset_std_s,
            "drift_ppm": self.drift_ppm,
            "drift_std_ppm": self.drift_std_ppm,
            "observable": self.is_observable,
            "why_unmeasured": self.why_unmeasured,
            "timing": None if self.timing is None else self.timing.to_json(),
            "recording": None if pooled is None else {key: getattr(pooled, key) for key in _POOLED},
        }

    @classmethod
    def from_json(
        cls, name: str, item: Mapping[str, Any], remarks: Iterable[Mapping[str, Any]] = ()
    ) -> SourceVerdict:
        """Return the verdict on source `name` that `to_json` wrote.

        KeyError, TypeError, ValueError if it is not a verdict.
        """
        clock = item.get("clock") or name
        timing, pooled = item.get("timing"), item.get("recording")
        own = {
            "verdict": Verdict(item["verdict"]),
            "kind": item.get("kind", ""),
            "clock": clock,
            "is_observable": bool(item.get("observable")),
            "timing": None if timing is None else StampAudit.from_json(timing, remarks),
            "recording": None
            if pooled is None
            else ClockEstimate(
                clock=clock,
                is_observable=pooled["offset_s"] is not None,
                **{key: pooled.get(key) for key in _POOLED},
            ),
        }
        return cls(**{**known_fields(cls, item), **own})


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipVerdict:
    """Everything the tool reports on one clip.

    Parameters
    ----------
    clip_id, recording_id : str
        As in the manifest.
    verdict : Verdict
        Of the clip.
    reasons, warnings : tuple of Finding
        What decided, and what did not.
    reference : str, optional
        Clock that reference time was read from.
    at_ns : int, optional
        Epoch at which offsets hold.
    sources : mapping of str to SourceVerdict
        By source name.
    pairs : tuple of PairMeasurement
        Every measurement, accepted or refused with its reason.
    seconds : float
        CPU seconds spent.
    stages : mapping of str to float
        CPU seconds per stage (read, decode, detect, estimate, solve).
    record : ClipRecord, optional
        What was measured, so that another policy can judge it; None if nothing was.
    common : CommonOffsets, optional
        Offsets of its whole data set that the reference was chosen by.
    about : mapping of str to str
        What it was recorded with, as stated in the manifest.
    """

    clip_id: str
    recording_id: str
    verdict: Verdict
    reasons: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    reference: str | None = None
    at_ns: int | None = None
    sources: Mapping[str, SourceVerdict] = field(default_factory=dict)
    pairs: tuple[PairMeasurement, ...] = ()
    seconds: float = 0.0
    stages: Mapping[str, float] = field(default_factory=dict)
    record: ClipRecord | None = None
    common: CommonOffsets | None = None
    about: Mapping[str, str] = field(default_factory=dict)

    @property
    def middle_ns(self) -> int | None:
        """Middle of the clip's window, if it was opened."""
        return self.at_ns if self.record is None else self.record.at_ns

    def to_json(self) -> dict[str, object]:
        """Return the row of ``verdicts.jsonl`` (formats, section 3)."""
        return {
            "clip_id": self.clip_id,
            "recording_id": self.recording_id,
            "verdict": str(self.verdict),
            "reasons": [finding.to_json() for finding in self.reasons],
            "reference": self.reference,
            "at_ns": self.at_ns,
            "sources": {name: source.to_json() for name, source in self.sources.items()},
            "pairs": [pair.to_json() for pair in self.pairs],
            "warnings": [finding.to_json() for finding in self.warnings],
            "seconds": round(self.seconds, 4),
            "stages": {name: round(value, 4) for name, value in self.stages.items()},
            "record": None if self.record is None else self.record.to_json(),
            "common_offsets": None if self.common is None else self.common.to_json(),
            **({"about": dict(self.about)} if self.about else {}),
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> ClipVerdict:
        """Return the verdict that `to_json` gave a row of ``verdicts.jsonl``.

        A finding among `reasons` and `warnings` comes without its severity, which rows do not hold.
        Rows of other versions may lack keys, or have more of them. KeyError, TypeError, ValueError,
        AttributeError if it is not a verdict row.
        """
        record, common = row.get("record"), row.get("common_offsets")
        remarks = {} if record is None else record.get("remarks", {})
        sources = {
            name: SourceVerdict.from_json(name, item, remarks.get(name, ()))
            for name, item in row.get("sources", {}).items()
        }
        pairs = tuple(PairMeasurement.from_json(pair) for pair in row.get("pairs", ()))
        stages = dict(row.get("stages", {}))
        return cls(
            clip_id=row["clip_id"],
            recording_id=row.get("recording_id", row["clip_id"]),
            verdict=Verdict(row["verdict"]),
            reasons=tuple(Finding.from_json(finding) for finding in row.get("reasons", ())),
            warnings=tuple(Finding.from_json(finding) for finding in row.get("warnings", ())),
            reference=row.get("reference"),
            at_ns=row.get("at_ns"),
            sources=sources,
            pairs=pairs,
            seconds=row.get("seconds") or 0.0,
            stages=stages,
            record=None
            if record is None
            else ClipRecord.from_json(
                record,
                stamps={
                    name: source.timing
                    for name, source in sources.items()
                    if source.timing is not None
                },
                measurements=pairs,
                stages=stages,
            ),
            common=None if common is None else CommonOffsets.from_json(common),
            about={str(key): str(value) for key, value in (row.get("about") or {}).items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipRecord:
    """Everything a verdict depends on except the manifest row and the policy.

    Parameters
    ----------
    at_ns : int
        Middle of the clip's window.
    span_s : float
        Length of the window.
    max_offset_s : float
        Search range that the pairs were measured with.
    stamps : mapping of str to StampAudit
        By source.
    pictures : mapping of str to ImageAudit
        By camera.
    findings : tuple of Finding
        From readers and detectors.
    measurements : tuple of PairMeasurement
        Accepted and refused, as measured.
    stages : mapping of str to float
        CPU seconds per stage.
    fallbacks : mapping of str to str
        Why the CPU decoded a camera instead of the requested back end, by camera.
    extents : mapping of str to (int, int)
        First and last timestamp of every source in or near the window stated in the manifest, or
        of all its timestamps if none is near; empty if no window is stated and all sources overlap
        in one.
    conditions : mapping of str to float
        Conditions of the clip, as far as its sources show them: mean ``speed`` (m/s), root mean
        square of the ``turning`` (rad/s), mean ``light`` of the frames (0 to 255). No verdict
        depends on them; the report compares by them.
    """

    at_ns: int
    span_s: float
    max_offset_s: float
    stamps: Mapping[str, StampAudit] = field(default_factory=dict)
    pictures: Mapping[str, ImageAudit] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    measurements: tuple[PairMeasurement, ...] = ()
    stages: Mapping[str, float] = field(default_factory=dict)
    fallbacks: Mapping[str, str] = field(default_factory=dict)
    extents: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    conditions: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_screened(self) -> bool:
        """Whether only the timestamps were examined, so that the clip can never pass."""
        return any(f.code is ReasonCode.UNOBSERVABLE and f.source is None for f in self.findings)

    def to_json(self) -> dict[str, object]:
        """Return what a verdict row does not already hold in its pairs, timings and stages."""
        return {
            "at_ns": self.at_ns,
            "span_s": self.span_s,
            "max_offset_s": self.max_offset_s,
            "baseline_pairs": [
                k for k, pair in enumerate(self.measurements) if pair.is_baseline_only
            ],
            "pictures": {name: audit.to_json() for name, audit in self.pictures.items()},
            "findings": [
                finding.to_json() | {"severity": str(finding.severity)} for finding in self.findings
            ],
            "remarks": {
                name: [remark.to_json() for remark in audit.remarks]
                for name, audit in self.stamps.items()
                if audit.remarks
            },
            **({"fallbacks": dict(self.fallbacks)} if self.fallbacks else {}),
            **({"extents": {k: list(v) for k, v in self.extents.items()}} if self.extents else {}),
            **({"conditions": dict(self.conditions)} if self.conditions else {}),
        }

    @classmethod
    def from_json(
        cls,
        item: Mapping[str, Any],
        *,
        stamps: Mapping[str, StampAudit],
        measurements: Sequence[PairMeasurement],
        stages: Mapping[str, float],
    ) -> ClipRecord:
        """Return the record that `to_json` wrote, with what a row keeps elsewhere.

        KeyError, TypeError, ValueError if it is not a record.
        """
        of_estimators = set(item.get("baseline_pairs", ()))
        return cls(
            at_ns=item["at_ns"],
            span_s=item["span_s"],
            max_offset_s=item["max_offset_s"],
            stamps=stamps,
            pictures={
                name: ImageAudit.from_json(audit)
                for name, audit in item.get("pictures", {}).items()
            },
            findings=tuple(Finding.from_json(finding) for finding in item.get("findings", ())),
            measurements=tuple(
                replace(pair, is_baseline_only=k in of_estimators)
                for k, pair in enumerate(measurements)
            ),
            stages=stages,
            fallbacks=item.get("fallbacks", {}),
            extents={name: (at[0], at[1]) for name, at in item.get("extents", {}).items()},
            conditions=item.get("conditions", {}),
        )
