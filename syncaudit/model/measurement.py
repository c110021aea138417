"""The measurement of the offset of one pair of sources by one method."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from syncaudit.model.clock_map import ClockMap
from syncaudit.model.field_names import fields_of, known_fields
from syncaudit.model.pair_evidence import PairEvidence, SignalExcerpt, evidence_from_json

# Figures that change sign with the direction.
_SIGNED = ("offset_s", "drift_ppm")


@dataclass(frozen=True, slots=True, kw_only=True)
class PairMeasurement:
    """Offset, and drift where observable, of one pair by one method.

    The clock map is ``t_target = t_source + offset_s + drift_ppm * 1e-6 * (t_source - at)``
    with ``at = at_ns`` on the source's clock.

    Parameters
    ----------
    source, target : str
        Names of the two sources (not clocks).
    method : str
        Estimator: ``rotation``, ``yaw_rate``, ``lateral_accel``, ``gcc_phat`` ...
    at_ns : int
        Source timestamp at which `offset_s` holds.
    offset_s, offset_std_s : float, optional
        Estimate and one-sigma error (random and systematic together). None: nothing measured.
    systematic_std_s : float
        Systematic part of `offset_std_s`.
    drift_ppm, drift_std_ppm : float, optional
        None if the clip is too short to estimate it.
    step_s, step_std_s : float, optional
        Size of a clock step inside the clip (change of the offset), if one was found.
    step_at_ns : int, optional
        Source timestamp of that step.
    accepted : bool
        Whether the solution may use it.
    why : str, optional
        Reason of the refusal, for display.
    is_baseline_only : bool
        The offset contains physics of the vehicle (steering, wheel speed): it is judged only
        against a baseline, never against zero, and stays out of the clock graph.
    diagnostics : mapping of str to float
        Figures of the fit (likelihood gap, gain, number of samples, ...).
    evidence : AgreementCurve or EventResiduals, optional
        What the estimator saw; None if it did not get that far.
    excerpt : SignalExcerpt, optional
        Both signals where they constrain the offset most, for an accepted measurement of signals.
    """

    source: str
    target: str
    method: str
    offset_s: float | None = None
    offset_std_s: float | None = None
    systematic_std_s: float = 0.0
    drift_ppm: float | None = None
    drift_std_ppm: float | None = None
    at_ns: int
    accepted: bool = False
    why: str | None = None
    is_baseline_only: bool = False
    step_s: float | None = None
    step_std_s: float | None = None
    step_at_ns: int | None = None
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    evidence: PairEvidence | None = None
    excerpt: SignalExcerpt | None = None

    def __post_init__(self) -> None:
        """Reject contradictory records."""
        if self.offset_std_s is not None and not self.offset_std_s > 0.0:
            raise ValueError(f"offset_std_s must be positive, got {self.offset_std_s}")
        if self.accepted and (self.offset_s is None or self.offset_std_s is None):
            raise ValueError("an accepted measurement needs an offset and its standard error")
        if not self.accepted and not self.why:
            raise ValueError("a refused measurement needs a reason")

    @property
    def nearness(self) -> tuple[bool, float, float]:
        """Return how near a refused pair came to a measurement: show users the largest.

        First an offset that was found but refused, then how unlikely it is that the agreement is
        due to chance (an offset known up to a period is not; one half if it was searched for and
        no figure exists), then how many events both sides saw.
        """
        figures = self.diagnostics
        seen = [figures[name] for name in ("source_events", "target_events") if name in figures]
        chance = figures.get("chance", 1.0 if seen or not figures else 0.5)
        if "period_s" in figures:
            chance = 0.0
        return self.offset_s is not None, 1.0 - chance, min(seen, default=0.0)

    def offset_at(self, time_ns: int) -> float | None:
        """Return the offset in seconds at a source timestamp, including drift and any step."""
        return None if self.offset_s is None else self.clock_map().change_at(time_ns)

    def clock_map(self) -> ClockMap:
        """Return the map from the source's timestamps to the target's.

        For a refused measurement, as far as it is known.
        """
        offset_s, step_at_ns = self.offset_s, self.step_at_ns
        return ClockMap(
            offset_s=self.diagnostics.get("offset_s", 0.0) if offset_s is None else offset_s,
            drift_ppm=self.drift_ppm,
            at_ns=self.at_ns,
            step_s=self.step_s or 0.0,
            step_at_ns=step_at_ns,
            is_step_past=step_at_ns is not None and self.at_ns >= step_at_ns,
        )

    def offset_std_at(self, time_ns: int) -> float:
        """Return the standard error of `offset_at` in seconds, including drift and step."""
        drifted_s = 1e-15 * (self.drift_std_ppm or 0.0) * (time_ns - self.at_ns)
        stepped_s = 0.0
        if self.step_at_ns is not None:
            is_beyond = (time_ns >= self.step_at_ns) is not (self.at_ns >= self.step_at_ns)
            stepped_s = is_beyond * (self.step_std_s or 0.0)
        return math.hypot(self.offset_std_s or 0.0, drifted_s, stepped_s)

    def turned(self) -> PairMeasurement:
        """Return the same measurement from the target to the source."""
        inverse = self.clock_map().inverse()
        return replace(
            self,
            source=self.target,
            target=self.source,
            at_ns=inverse.at_ns or 0,
            offset_s=_negative(self.offset_s),
            drift_ppm=inverse.drift_ppm,
            step_s=_negative(self.step_s),
            step_at_ns=inverse.step_at_ns,
            diagnostics={
                name: -value if name in _SIGNED else value
                for name, value in self.diagnostics.items()
            },
            evidence=None if self.evidence is None else self.evidence.turned(),
            excerpt=None if self.excerpt is None else self.excerpt.turned(),
        )

    @classmethod
    def refused(
        cls,
        source: str,
        target: str,
        method: str,
        at_ns: int,
        why: str,
        figures: Mapping[str, float] | None = None,
        *,
        is_baseline_only: bool = False,
        evidence: PairEvidence | None = None,
    ) -> PairMeasurement:
        """Return a refused measurement with its reason."""
        return cls(
            source=source,
            target=target,
            method=method,
            at_ns=at_ns,
            why=why,
            is_baseline_only=is_baseline_only,
            diagnostics=figures or {},
            evidence=evidence,
        )

    def withdrawn(self, why: str, figures: Mapping[str, float] | None = None) -> PairMeasurement:
        """Return the same pair, refused because of a later finding.

        Parameters
        ----------
        why : str
            The reason.
        figures : mapping of str to float, optional
            Replaces the diagnostics.
        """
        return PairMeasurement.refused(
            self.source,
            self.target,
            self.method,
            self.at_ns,
            why,
            self.diagnostics if figures is None else figures,
            is_baseline_only=self.is_baseline_only,
            evidence=self.evidence,
        )

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> PairMeasurement:
        """Return the measurement that `to_json` gave a verdict row.

        A measurement whose offset is not finite is read as refused: it cannot be used or stored.

        Raises
        ------
        KeyError, TypeError, ValueError
            If it is not a measurement.
        """
        evidence, excerpt = row.get("evidence"), row.get("excerpt")
        seen = {
            "evidence": None if evidence is None else evidence_from_json(evidence),
            "excerpt": None if excerpt is None else SignalExcerpt.from_json(excerpt),
        }
        own = {"at_ns": 0, **known_fields(cls, row), **seen}
        if own["accepted"] and not (
            _is_finite(row["offset_s"]) and _is_finite(row["offset_std_s"])
        ):
            own |= {"accepted": False, "why": own.get("why") or "its offset is not finite"}
        return cls(**own)

    def to_json(self) -> dict[str, object]:
        """Return the fields of formats.md section 3, and anything else that is known."""
        left_out = () if self.step_s is not None else ("step_s", "step_std_s", "step_at_ns")
        row = {name: value for name, value in fields_of(self).items() if name not in left_out}
        row["diagnostics"] = dict(self.diagnostics)
        for name, seen in (("evidence", self.evidence), ("excerpt", self.excerpt)):
            if seen is None:
                del row[name]
            else:
                row[name] = seen.to_json()
        return row


def _is_finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _negative(value: float | None) -> float | None:
    return None if value is None else -value
