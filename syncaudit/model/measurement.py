"""The offset of one pair of sources by one method, and the map between clocks that follows.

`ClockMap` is the only place that holds the formula from a clock's timestamps to reference time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from syncaudit.model.arrays import Floats, Ints
from syncaudit.model.field_names import fields_of, known_fields
from syncaudit.model.pair_evidence import PairEvidence, SignalExcerpt, evidence_from_json
from syncaudit.model.units import difference_ns, nanoseconds

# Figures that change sign with the direction.
_SIGNED = ("offset_s", "drift_ppm")

_LIMITS = np.iinfo(np.int64)
# An oscillator's drift is not constant over longer times.
_REACH_NS = 86_400 * 10**9
# A recording that begins within reach is over after 30 days: conventions, section 1.
_LONGEST_NS = 31 * _REACH_NS
_ROUNDED_NS = 1000


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
        KeyError, TypeError, ValueError if it is not a measurement.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockMap:
    """Map of one clock: what to add to its timestamps `t` to get reference time.

    ``offset_s + drift_ppm * 1e-6 * (t - at) + step_s * ((t >= step_at) - is_step_past)``

    So the offset holds at the timestamp `at_ns`, and a step moves only what lies on the other side
    of it. Only `is_step_past` determines on which side `at_ns` lies: the timestamps of a clock that
    steps repeat or leave a gap, and those of one that is far off reach the step earlier or later,
    so that near it own timestamps and reference time do not agree.

    Parameters
    ----------
    offset_s : float
        Added to every timestamp; positive if the timestamps are too early.
    drift_ppm : float, optional
        None if unknown: then only the offset counts.
    at_ns : int, optional
        The clock's own timestamp at which the offset holds; required with a drift.
    step_s : float
        Change of the correction at the step.
    step_at_ns : int, optional
        Timestamp of the step; None without one.
    is_step_past : bool
        Whether the offset holds after the step.
    """

    offset_s: float = 0.0
    drift_ppm: float | None = None
    at_ns: int | None = None
    step_s: float = 0.0
    step_at_ns: int | None = None
    is_step_past: bool = False

    def __post_init__(self) -> None:
        for name in ("offset_s", "drift_ppm", "step_s"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise ValueError(f"{name} is {value}, expected a finite number")
        if self.drift_ppm and self.at_ns is None:
            raise ValueError("a drift needs at_ns, the timestamp at which the offset holds")

    @property
    def is_nothing(self) -> bool:
        """Whether it changes no timestamp."""
        return self.offset_s == 0.0 and not self.drift_ppm and not self.step_s

    def since(self, epoch_ns: int) -> ClockMap:
        """Return the same map for timestamps that are counted from `epoch_ns`."""
        return replace(
            self,
            at_ns=None if self.at_ns is None else self.at_ns - epoch_ns,
            step_at_ns=None if self.step_at_ns is None else self.step_at_ns - epoch_ns,
        )

    def inverse(self) -> ClockMap:
        """Return the map from reference time back to the clock's timestamps.

        Near a step it is exact except for the effect of the drift up to there.
        """
        after_ns = nanoseconds(self.offset_s)
        drift_ppm = self.drift_ppm
        return ClockMap(
            offset_s=-self.offset_s,
            drift_ppm=None if drift_ppm is None else -drift_ppm / (1.0 + 1e-6 * drift_ppm),
            at_ns=None if self.at_ns is None else self.at_ns + after_ns,
            step_s=-self.step_s,
            step_at_ns=None if self.step_at_ns is None else self.step_at_ns + after_ns,
            is_step_past=self.is_step_past,
        )

    def change_s(self, times_s: ArrayLike) -> Floats:
        """Return what to add to timestamps, in seconds.

        Parameters
        ----------
        times_s : array_like of float, any shape
            Timestamps in seconds from where `at_ns` counts from (`since`).
        """
        times = np.asarray(times_s, dtype=np.float64)
        after_s = times - 1e-9 * (self.at_ns or 0)
        change_s = self.offset_s + 1e-6 * (self.drift_ppm or 0.0) * after_s
        if self.step_at_ns is not None:
            is_past = times >= 1e-9 * self.step_at_ns
            change_s = change_s + self.step_s * (is_past.astype(float) - float(self.is_step_past))
        return np.asarray(change_s, dtype=np.float64)

    def change_at(self, time_ns: int) -> float:
        """Return what to add to one timestamp, in seconds."""
        return float(self.since(time_ns).change_s(0.0))

    def near(self, time_ns: int) -> ClockMap:
        """Return the part of it that applies to timestamps around `time_ns`.

        Drift counts only within a day of `at_ns`: an oscillator's drift is not constant over
        longer times.
        """
        if not self.drift_ppm or self.at_ns is None or abs(time_ns - self.at_ns) <= _REACH_NS:
            return self
        return replace(self, drift_ppm=None, at_ns=None)

    def apply(self, time_ns: ArrayLike) -> Ints:
        """Return corrected timestamps.

        Timestamps never pass through float: only the change does, whose error stays below 1 ns as
        long as it is shorter than 100 days. What would overflow int64 is clipped to its range.

        Parameters
        ----------
        time_ns : array_like of int64, any shape
            Timestamps of the clock in nanoseconds.

        Returns
        -------
        ndarray of int64, same shape
            Reference time.

        Raises
        ------
        TypeError
            If the timestamps are not integers.
        """
        given = np.asarray(time_ns)
        if given.dtype.kind not in "iu":
            raise TypeError(f"timestamps must be integer nanoseconds, got {given.dtype}")
        stamps = given.astype(np.int64)
        offset_ns = Fraction(self.offset_s) * 10**9
        whole = min(max(round(offset_ns), -(2**62)), 2**62)
        change = np.full(stamps.shape, whole, dtype=np.int64)
        if self.drift_ppm and self.at_ns is not None:
            drifted_ns = 1e-6 * self.drift_ppm * difference_ns(stamps, self.at_ns)
            rest = drifted_ns + float(offset_ns - whole)
            change += np.rint(np.clip(rest, -(2.0**61), 2.0**61)).astype(np.int64)
        if self.step_at_ns is not None:
            is_past = (stamps >= self.step_at_ns).astype(np.int64)
            change += nanoseconds(self.step_s) * (is_past - int(self.is_step_past))
        with np.errstate(over="ignore"):
            moved = np.asarray(stamps + change, dtype=np.int64)
        has_left = ((stamps ^ moved) & (change ^ moved)) < 0
        ends = np.where(change > 0, _LIMITS.max, _LIMITS.min)
        return np.asarray(np.where(has_left, ends, moved), dtype=np.int64)

    def before(self, corrected_ns: int) -> tuple[int, int]:
        """Return the lowest and the highest timestamp that may become `corrected_ns`.

        They differ if it is not known yet whether the drift counts (`near`), by the step, and by
        the rounding of `apply`.
        """
        plain_ns = corrected_ns - round(Fraction(self.offset_s) * 10**9)
        found = [plain_ns]
        if self.drift_ppm and self.at_ns is not None and abs(plain_ns - self.at_ns) <= _LONGEST_NS:
            rate = 1 + Fraction(self.drift_ppm) / 10**6
            found.append(self.at_ns + round((plain_ns - self.at_ns) / rate))
        slack_ns = _ROUNDED_NS + nanoseconds(abs(self.step_s))
        low, high = min(found) - slack_ns, max(found) + slack_ns
        return max(low, int(_LIMITS.min)), min(high, int(_LIMITS.max))
