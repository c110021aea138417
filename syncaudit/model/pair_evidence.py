"""Evidence behind a measurement, for display: small enough to keep with the verdict.

An excerpt holds both signals where they constrain the offset most.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from syncaudit.model.arrays import Floats
from syncaudit.model.field_names import fields_of

# Points of a curve, and levels of its values: finer than the screen resolution.
MAX_POINTS = 121
N_CURVE_LEVELS = 250
UNKNOWN_LEVEL = 255
_FLOAT_BYTES = 4
# Events that are kept: evenly chosen if there are more.
MAX_EVENTS = 100

N_POINTS = 81
N_SIGNAL_LEVELS = 127  # of either sign: the range of a signed byte


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementCurve:
    """How well two sources agree at every pair offset near the best one.

    Parameters
    ----------
    start_s, step_s : float
        First offset, and the spacing between offsets.
    peak_s : float
        Where the agreement is best, interpolated between the offsets.
    levels : bytes
        Agreement at each offset in units of 1 / 250; 255 if too little overlaps.
    """

    start_s: float
    step_s: float
    peak_s: float
    levels: bytes

    @classmethod
    def around(
        cls, offsets_s: Floats, agreement: Floats, centre_s: float, *, near_s: float
    ) -> AgreementCurve | None:
        """Return the part of a curve worth showing; None if it is not known anywhere.

        Parameters
        ----------
        offsets_s : ndarray, shape (n,)
            Evenly spaced.
        agreement : ndarray, shape (n,)
            Correlation in [0, 1]; NaN if too little overlaps.
        centre_s : float
            Offset in the middle.
        near_s : float
            Half of what is kept, more if zero would only just be out of view. If there are many
            offsets, they are grouped and the best of each group is kept.
        """
        reach_s = near_s
        if abs(centre_s) < 2.0 * near_s:
            reach_s = max(near_s, 1.2 * abs(centre_s))
        is_near = np.abs(offsets_s - centre_s) <= reach_s + 1e-9
        offsets_s, agreement = offsets_s[is_near], agreement[is_near]
        if not np.isfinite(agreement).any():
            return None
        peak = int(np.nanargmax(agreement))
        step_s = float(offsets_s[1] - offsets_s[0]) if offsets_s.size > 1 else 0.0
        # An odd number per group, the peak in the middle of its own.
        half = max(0, -(-offsets_s.size // MAX_POINTS) // 2)
        together = 2 * half + 1
        before, after = (
            -(-max(0, n - half) // together) for n in (peak, offsets_s.size - 1 - peak)
        )
        padded = np.full((before + after + 1) * together, np.nan)
        first = before * together + half - peak
        padded[first : first + agreement.size] = agreement
        best = np.nan_to_num(padded, nan=-1.0).reshape(-1, together).max(axis=1)
        levels = np.rint(N_CURVE_LEVELS * np.minimum(best, 1.0))
        return cls(
            start_s=float(offsets_s[peak]) - before * together * step_s,
            step_s=together * step_s,
            peak_s=float(offsets_s[peak]) + _beside_peak(agreement, peak) * step_s,
            levels=np.where(best < 0.0, UNKNOWN_LEVEL, levels).astype(np.uint8).tobytes(),
        )

    @property
    def offsets_s(self) -> Floats:
        """Pair offsets, shape (n,)."""
        return self.start_s + self.step_s * np.arange(len(self.levels), dtype=np.float64)

    @property
    def agreement(self) -> Floats:
        """Correlation in [0, 1] at each offset, shape (n,); NaN if too little overlaps."""
        levels = np.frombuffer(self.levels, dtype=np.uint8)
        return np.where(levels == UNKNOWN_LEVEL, np.nan, levels / N_CURVE_LEVELS)

    def turned(self) -> AgreementCurve:
        """Return the curve of the same pair from the target to the source."""
        return AgreementCurve(
            start_s=-(self.start_s + self.step_s * (len(self.levels) - 1)),
            step_s=self.step_s,
            peak_s=-self.peak_s,
            levels=self.levels[::-1],
        )

    def to_json(self) -> dict[str, object]:
        """Return what `evidence_from_json` reads."""
        return {
            "start_s": self.start_s,
            "step_s": self.step_s,
            "peak_s": self.peak_s,
            "agreement": b64encode(self.levels).decode(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class EventResiduals:
    """How far apart events seen by both sources are after the source is corrected.

    Parameters
    ----------
    n_events, rms_s
        Of all events, and the root mean square of their residuals.
    times, residuals : bytes
        Seconds of the source's events after the measurement's `at_ns`, and target minus corrected
        source, as little-endian float32.
    """

    n_events: int
    rms_s: float
    times: bytes
    residuals: bytes

    @classmethod
    def of(cls, times_s: Floats, residuals_s: Floats) -> EventResiduals | None:
        """Return the residuals of events at some instants; None without events."""
        if not times_s.size:
            return None
        kept = np.linspace(0, times_s.size - 1, min(times_s.size, MAX_EVENTS)).astype(np.intp)
        return cls(
            n_events=int(times_s.size),
            rms_s=float(np.sqrt(np.mean(residuals_s**2))),
            times=times_s[kept].astype("<f4").tobytes(),
            residuals=residuals_s[kept].astype("<f4").tobytes(),
        )

    @property
    def times_s(self) -> Floats:
        """Seconds after the measurement's `at_ns`, shape (n,)."""
        return np.frombuffer(self.times, dtype="<f4").astype(np.float64)

    @property
    def residuals_s(self) -> Floats:
        """Target minus corrected source, shape (n,)."""
        return np.frombuffer(self.residuals, dtype="<f4").astype(np.float64)

    def turned(self) -> EventResiduals:
        """Return the residuals of the same pair from the target to the source."""
        return replace(self, residuals=(-self.residuals_s).astype("<f4").tobytes())

    def to_json(self) -> dict[str, object]:
        """Return what `evidence_from_json` reads."""
        return {
            "n_events": self.n_events,
            "rms_s": self.rms_s,
            "times": b64encode(self.times).decode(),
            "residuals": b64encode(self.residuals).decode(),
        }


PairEvidence = AgreementCurve | EventResiduals


def evidence_from_json(item: Mapping[str, Any]) -> PairEvidence:
    """Return the evidence of a measurement of a verdict row.

    KeyError, TypeError, ValueError if it is neither a curve nor residuals.
    """
    if "residuals" in item:
        times, residuals = (b64decode(item[key], validate=True) for key in ("times", "residuals"))
        if len(times) != len(residuals) or len(times) % _FLOAT_BYTES:
            raise ValueError("times and residuals differ in length")
        return EventResiduals(
            n_events=int(item["n_events"]),
            rms_s=_finite(item["rms_s"]),
            times=times,
            residuals=residuals,
        )
    return AgreementCurve(
        start_s=_finite(item["start_s"]),
        step_s=_finite(item["step_s"]),
        peak_s=_finite(item["peak_s"]),
        levels=b64decode(item["agreement"], validate=True),
    )


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a number")
    return float(value)


def _beside_peak(agreement: Floats, peak: int) -> float:
    """Return the distance in steps from the highest sample to the peak of a fitted parabola."""
    if not 0 < peak < agreement.size - 1:
        return 0.0
    low, top, high = agreement[peak - 1 : peak + 2]
    bend = float(low - 2.0 * top + high)
    return 0.5 * float(low - high) / bend if bend < 0.0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalExcerpt:
    """A short piece of what a source and its target both measured.

    Parameters
    ----------
    start_ns : int
        First instant on the source's clock.
    apart_s : float
        What was added to it to find the same piece on the target's clock.
    step_s : float
        From one sample to the next, on either clock.
    tells_s : tuple of float
        Seconds after the first instant between which the signals constrain the offset most.
    peak : float
        Size of the largest sample.
    source, target : bytes
        Samples of both as signed bytes, in units of a 127th of the peak; those of the target in
        the axes and the unit of the source.
    """

    start_ns: int
    apart_s: float
    step_s: float
    tells_s: tuple[float, float]
    peak: float
    source: bytes
    target: bytes

    @classmethod
    def of(
        cls,
        times_s: Floats,
        source: Floats,
        target: Floats,
        *,
        epoch_ns: int,
        apart_s: float,
        tells_s: tuple[float, float],
    ) -> SignalExcerpt | None:
        """Return the excerpt of samples at some instants; None if there is nothing to show.

        Parameters
        ----------
        times_s : ndarray, shape (n,)
            Seconds since `epoch_ns` on the source's clock, ascending.
        source, target : ndarray, shape (n,)
            What both measured.
        epoch_ns : int
            On the source's clock.
        apart_s : float
            Target time minus source time at which the target was sampled.
        tells_s : tuple of float
            Instants between which the signals constrain the offset most.
        """
        peak = float(np.max(np.abs(np.concatenate([source, target])), initial=0.0))
        if times_s.size < 2 or not 0.0 < peak < math.inf:
            return None
        peak = float(f"{peak:.4g}")  # do not store digits that are never visible
        at_s = np.linspace(times_s[0], times_s[-1], N_POINTS)
        levels = [
            np.rint(N_SIGNAL_LEVELS / peak * np.interp(at_s, times_s, x)).astype(np.int8).tobytes()
            for x in (source, target)
        ]
        first_s = float(times_s[0])
        return cls(
            start_ns=epoch_ns + round(first_s * 1e9),
            apart_s=round(apart_s, 9),
            step_s=round(float(at_s[1] - at_s[0]), 9),
            tells_s=(round(tells_s[0] - first_s, 6), round(tells_s[1] - first_s, 6)),
            peak=peak,
            source=levels[0],
            target=levels[1],
        )

    @property
    def times_s(self) -> Floats:
        """Seconds after the first instant of either clock, shape (n,)."""
        return self.step_s * np.arange(len(self.source), dtype=np.float64)

    @property
    def values(self) -> tuple[Floats, Floats]:
        """What the source and the target measured, shape (n,) each."""
        scale = self.peak / N_SIGNAL_LEVELS
        source, target = (
            scale * np.frombuffer(x, dtype=np.int8).astype(np.float64)
            for x in (self.source, self.target)
        )
        return source, target

    def turned(self) -> SignalExcerpt:
        """Return the same piece from the target to the source."""
        return replace(
            self,
            start_ns=self.start_ns + round(self.apart_s * 1e9),
            apart_s=-self.apart_s,
            source=self.target,
            target=self.source,
        )

    def to_json(self) -> dict[str, object]:
        """Return what `from_json` reads."""
        return fields_of(self) | {
            "tells_s": list(self.tells_s),
            "source": b64encode(self.source).decode(),
            "target": b64encode(self.target).decode(),
        }

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> SignalExcerpt:
        """Return the excerpt of a verdict row.

        KeyError, TypeError, ValueError if it is not an excerpt.
        """
        source, target = (b64decode(item[key], validate=True) for key in ("source", "target"))
        begin_s, end_s = (float(x) for x in item["tells_s"])
        found = cls(
            start_ns=int(item["start_ns"]),
            apart_s=float(item["apart_s"]),
            step_s=float(item["step_s"]),
            tells_s=(begin_s, end_s),
            peak=float(item["peak"]),
            source=source,
            target=target,
        )
        figures = (found.apart_s, found.step_s, found.peak, begin_s, end_s)
        if len(source) != len(target) or len(source) < 2 or not all(map(math.isfinite, figures)):
            raise ValueError("source and target differ in length, or a value is not finite")
        if found.step_s <= 0.0 or not begin_s < end_s:
            raise ValueError("the excerpt has zero length")
        return found
