"""What was measured on one clip, before any policy: enough to judge it again without its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from syncaudit.model.finding import Finding, ReasonCode, Severity
from syncaudit.model.measurement import PairMeasurement
from syncaudit.model.pictures import PictureAudit
from syncaudit.model.timing import ArrivalAudit, StampAudit, StampRemark

__all__ = ["ClipRecord"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipRecord:
    """Everything a verdict depends on beside the manifest row and the policy.

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
    pictures : mapping of str to PictureAudit
        By camera.
    findings : tuple of Finding
        Of readers and detectors.
    measurements : tuple of PairMeasurement
        Accepted and refused, as measured.
    stages : mapping of str to float
        CPU seconds per stage.
    fallbacks : mapping of str to str
        Of cameras that the CPU decoded in place of the back end that was asked for: why.
    extents : mapping of str to (int, int)
        First and last stamp of every source in or near the window that the manifest states, or
        of all its stamps where none is near; empty where it states none.
    """

    at_ns: int
    span_s: float
    max_offset_s: float
    stamps: Mapping[str, StampAudit] = field(default_factory=dict)
    pictures: Mapping[str, PictureAudit] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    measurements: tuple[PairMeasurement, ...] = ()
    stages: Mapping[str, float] = field(default_factory=dict)
    fallbacks: Mapping[str, str] = field(default_factory=dict)
    extents: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def is_screened(self) -> bool:
        """Whether only the stamps were looked at, so that the clip can never pass."""
        return any(f.code is ReasonCode.UNOBSERVABLE and f.source is None for f in self.findings)

    def to_json(self) -> dict[str, object]:
        """Return what a verdict row does not hold anyway in its pairs, timings and stages."""
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
                name: [
                    {
                        "code": str(remark.code),
                        "text": remark.text,
                        "is_figure": remark.is_figure,
                        "is_defect": remark.is_defect,
                    }
                    for remark in audit.remarks
                ]
                for name, audit in self.stamps.items()
                if audit.remarks
            },
            **({"fallbacks": dict(self.fallbacks)} if self.fallbacks else {}),
            **({"extents": {k: list(v) for k, v in self.extents.items()}} if self.extents else {}),
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> ClipRecord | None:
        """Return the record that a row of ``verdicts.jsonl`` holds.

        Parameters
        ----------
        row : mapping
            Parsed row.

        Returns
        -------
        ClipRecord or None
            None where the clip was never measured to the end (crash, timeout).

        Raises
        ------
        KeyError, TypeError, ValueError
            If the row is no verdict row of this version.
        """
        own = row.get("record")
        if own is None:
            return None
        of_estimators = set(own["baseline_pairs"])
        return cls(
            at_ns=own["at_ns"],
            span_s=own["span_s"],
            max_offset_s=own["max_offset_s"],
            stamps={
                name: _audit(source["timing"], own["remarks"].get(name, ()))
                for name, source in row["sources"].items()
                if source["timing"] is not None
            },
            pictures={
                name: PictureAudit.from_json(item) for name, item in own.get("pictures", {}).items()
            },
            findings=tuple(_finding(item) for item in own["findings"]),
            measurements=tuple(
                replace(PairMeasurement.from_json(pair), is_baseline_only=k in of_estimators)
                for k, pair in enumerate(row["pairs"])
            ),
            stages=row["stages"],
            fallbacks=own.get("fallbacks", {}),
            extents={name: (at[0], at[1]) for name, at in own.get("extents", {}).items()},
        )


def _audit(timing: Mapping[str, Any], remarks: Any) -> StampAudit:
    arrival = timing["arrival"]
    return StampAudit(
        **{key: value for key, value in timing.items() if key not in ("steps", "arrival")},
        steps=_steps(timing),
        arrival=None if arrival is None else ArrivalAudit(**{**arrival, "steps": _steps(arrival)}),
        remarks=tuple(
            StampRemark(
                code=ReasonCode(item["code"]),
                text=item["text"],
                is_figure=item["is_figure"],
                is_defect=item["is_defect"],
            )
            for item in remarks
        ),
    )


def _steps(figures: Mapping[str, Any]) -> tuple[tuple[int, float], ...]:
    return tuple((step["at_ns"], step["step_s"]) for step in figures["steps"])


def _finding(item: Mapping[str, Any]) -> Finding:
    return Finding(
        code=ReasonCode(item["code"]),
        message=item["message"],
        source=item["source"],
        value=item["value"],
        limit=item["limit"],
        severity=Severity(item["severity"]),
    )
