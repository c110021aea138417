"""What was measured on one clip, before any policy: enough to judge it again without its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from syncaudit.model.audits import ImageAudit, StampAudit
from syncaudit.model.finding import Finding, ReasonCode
from syncaudit.model.measurement import PairMeasurement


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
        of all its timestamps if none is near; empty if no window is stated.
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

        Raises
        ------
        KeyError, TypeError, ValueError
            If it is not a record.
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
