"""The result: a correction per source with its covariance, and what was found beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from syncaudit_calibration.closures import Closure

__all__ = ["CalibratedFlash", "CalibratedSource", "Calibration"]

Floats = NDArray[np.float64]
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CalibratedSource:
    """Correction of one source: ``t_ref = t + offset_s + drift_ppm * 1e-6 * (t - at)``.

    Parameters
    ----------
    offset_s, offset_std_s : float
        Correction at the own stamp `at_ns`, and its standard error.
    drift_ppm, drift_std_ppm : float
        Rate.
    at_ns : int
        Own stamp at which the offset holds: that of the calibration, unless the epochs are
        unrelated.
    covariance : ndarray, shape (3, 3)
        Of offset (s), drift (s/s) and step (s) at `at_ns`, systematic error taken in.
    systematic_std_s : float
        Part that no number of flashes removes (stamps, exposure or read-out not stated).
    jitter_s : float, optional
        Standard deviation of the stamps about an even clock, beyond the errors of detection; where
        two sources alone differ, both get half of the variance. None for a source of intervals.
    step_s, step_std_s, step_at_ns
        Growth of the correction from that own stamp on, where a step was found.
    step_frames : int, optional
        The step in whole frame periods, where it is one: lost (or doubled) frames.
    line_delay_s, line_delay_std_s, exposure_s, exposure_std_s : float, optional
        Of cameras.
    flashes_seen : int
        Flashes that it shares with others.
    residual_rms_s : float
        Of its observations; of intervals, the distance by which they are missed.
    outliers : int
        Observations that were left out.
    residuals_s, residual_flash : ndarray, shape (n,)
        One per observation in use, and the flash it is of.
    """

    offset_s: float
    offset_std_s: float
    drift_ppm: float
    drift_std_ppm: float
    at_ns: int
    covariance: Floats
    flashes_seen: int
    residual_rms_s: float
    outliers: int
    residuals_s: Floats
    residual_flash: NDArray[np.int64]
    systematic_std_s: float = 0.0
    jitter_s: float | None = None
    step_s: float | None = None
    step_std_s: float | None = None
    step_at_ns: int | None = None
    step_frames: int | None = None
    line_delay_s: float | None = None
    line_delay_std_s: float | None = None
    exposure_s: float | None = None
    exposure_std_s: float | None = None

    def to_json(self, at_ns: int) -> dict[str, object]:
        """Return the fields of formats.md section 4, and what is known beyond."""
        row: dict[str, object] = {
            "offset_s": self.offset_s,
            "offset_std_s": self.offset_std_s,
            "drift_ppm": self.drift_ppm,
            "drift_std_ppm": self.drift_std_ppm,
            "line_delay_s": self.line_delay_s,
            "line_delay_std_s": self.line_delay_std_s,
            "exposure_s": self.exposure_s,
            "exposure_std_s": self.exposure_std_s,
            "flashes_seen": self.flashes_seen,
            "residual_rms_s": self.residual_rms_s,
            "systematic_std_s": self.systematic_std_s,
            "jitter_s": self.jitter_s,
            "outliers": self.outliers,
        }
        if self.at_ns != at_ns:
            row["at_ns"] = self.at_ns
        if self.step_s is not None:
            row |= {
                "step_s": self.step_s,
                "step_std_s": self.step_std_s,
                "step_at_ns": self.step_at_ns,
                "step_frames": self.step_frames,
            }
        return row


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedFlash:
    """Onset of one pulse in reference time, and who saw it."""

    t_ns: int
    std_s: float
    seen_by: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Calibration:
    """What a recording with flashes tells about all its clocks.

    Parameters
    ----------
    reference : str
        Source whose stamps are reference time.
    at_ns : int
        Reference time, and own stamp of each source, at which its offset holds.
    sources : mapping of str to CalibratedSource
        All connected sources, the reference with a correction of zero.
    flashes : tuple of CalibratedFlash
        In the order of time.
    refused : mapping of str to str
        Sources that could not be calibrated, and why.
    warnings : tuple of str
        Findings that do not prevent the result.
    closures : tuple of Closure
        How pairs agree with the way around.
    half_light_s, half_light_std_s : float
        From the onset of a pulse to its half-light instant.
    """

    reference: str
    at_ns: int
    sources: Mapping[str, CalibratedSource]
    flashes: tuple[CalibratedFlash, ...]
    refused: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    closures: tuple[Closure, ...] = ()
    half_light_s: float = 0.0
    half_light_std_s: float = 0.0

    def to_json(self) -> dict[str, object]:
        """Return the document of formats.md section 4."""
        return {
            "version": VERSION,
            "reference": self.reference,
            "at_ns": self.at_ns,
            "sources": {name: s.to_json(self.at_ns) for name, s in self.sources.items()},
            "flashes": [
                {"t_ns": flash.t_ns, "std_s": flash.std_s, "seen_by": list(flash.seen_by)}
                for flash in self.flashes
            ],
            "refused": dict(self.refused),
            "warnings": list(self.warnings),
            "half_light_s": self.half_light_s,
            "half_light_std_s": self.half_light_std_s,
        }
