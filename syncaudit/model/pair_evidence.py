"""Evidence behind a measurement, for display: small enough to keep with the verdict."""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from syncaudit.model.arrays import Floats

# Points of a curve, and levels of its values: finer than the screen resolution.
MAX_POINTS = 121
N_LEVELS = 250
UNKNOWN_LEVEL = 255
_FLOAT_BYTES = 4
# Events that are kept: evenly chosen if there are more.
MAX_EVENTS = 100


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
        levels = np.rint(N_LEVELS * np.minimum(best, 1.0))
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
        return np.where(levels == UNKNOWN_LEVEL, np.nan, levels / N_LEVELS)

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

    Raises
    ------
    KeyError, TypeError, ValueError
        If it is neither a curve nor residuals.
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
