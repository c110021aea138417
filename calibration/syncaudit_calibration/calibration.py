"""Calibration results: a correction per source with its covariance and its error at any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import numpy as np

from syncaudit.errors import UsageError, nearest_name
from syncaudit.model import seconds_since
from syncaudit.model.arrays import Floats, Ints
from syncaudit.model.clip import Scan

VERSION = 1

# Fields of a source that its row always states.
_STATED = (
    *("offset_s", "offset_std_s", "drift_ppm", "drift_std_ppm"),
    *("line_delay_s", "line_delay_std_s", "exposure_s", "exposure_std_s"),
    *("flashes_seen", "residual_rms_s", "systematic_std_s", "jitter_s", "outliers"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedStep:
    """A step of a clock.

    Parameters
    ----------
    after_ns, before_ns : int
        Own timestamps between which it happened.
    step_s, step_std_s : float
        Increase of the correction, and its standard error.
    frames : int, optional
        The step in whole frame periods, if it is a multiple: lost (positive) or doubled frames.
    """

    after_ns: int
    before_ns: int
    step_s: float
    step_std_s: float
    frames: int | None = None

    @property
    def at_ns(self) -> int:
        """Return the own timestamp from which the step is assumed to apply."""
        return (self.after_ns + self.before_ns) // 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CalibratedSource:
    """Correction of one source: ``t_ref = t + offset_s + drift_ppm * 1e-6 * (t - at)``.

    Parameters
    ----------
    offset_s, offset_std_s : float
        Correction at the own timestamp `at_ns`, and its standard error.
    drift_ppm, drift_std_ppm : float
        Drift, and its standard error.
    at_ns : int
        Own timestamp at which the offset holds: that of the calibration, unless the epochs are
        unrelated.
    covariance : ndarray, shape (2 + k, 2 + k)
        Of offset (s), drift (s/s) and k steps (s) at `at_ns`, including systematic errors.
    systematic_std_s : float
        Error that no number of flashes removes (timestamps, exposure or readout not stated).
    jitter_s : float, optional
        Standard deviation of the timestamps about an even clock, beyond the detection errors; with
        only two sources, each gets half of the variance. None for a source of intervals.
    removed_jitter_s : float
        Part of the jitter that is removed by an even clock that exposed the frames; it does not
        contribute to the errors.
    steps : tuple of CalibratedStep
        Steps of the clock, in time order.
    line_delay_s, line_delay_std_s, exposure_s, exposure_std_s : float, optional
        For cameras only.
    scan : str, optional
        Direction in which a camera's images are read; None: not stated, and assumed to be down.
    flashes_seen : int
        Number of flashes that it shares with other sources.
    residual_rms_s : float
        Of its observations; for intervals, of the distance from the interval.
    outliers : int
        Number of rejected observations.
    residuals_s, residual_at_s : ndarray, shape (n,)
        One per used observation, and the time of its flash in seconds after the calibration's
        `at_ns`.
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
    residual_at_s: Floats
    systematic_std_s: float = 0.0
    jitter_s: float | None = None
    removed_jitter_s: float = 0.0
    steps: tuple[CalibratedStep, ...] = ()
    line_delay_s: float | None = None
    line_delay_std_s: float | None = None
    exposure_s: float | None = None
    exposure_std_s: float | None = None
    scan: Scan | None = None

    def to_json(self, at_ns: int) -> dict[str, object]:
        """Return the fields of formats.md section 4, and further results."""
        row: dict[str, object] = {key: getattr(self, key) for key in _STATED}
        if self.at_ns != at_ns:
            row["at_ns"] = self.at_ns
        if self.scan is not None:
            row["scan"] = self.scan
        if self.steps:
            row["steps"] = [asdict(step) for step in self.steps]
        return row

    def jumps_s(self, own_ns: Ints) -> Floats:
        """Return the contribution of the steps to the correction; zero at `at_ns`.

        `own_ns`, shape (n,): own timestamps.

        Returns
        -------
        ndarray, shape (n,)
            Seconds.
        """
        sizes_s = np.array([step.step_s for step in self.steps])
        return np.asarray(self.step_terms(own_ns) @ sizes_s)

    def step_terms(self, own_ns: Ints) -> Floats:
        """Return the derivatives of `jumps_s` by the step sizes, shape (n, k)."""
        at_ns = np.array([step.at_ns for step in self.steps], dtype=np.int64)
        later = np.asarray(own_ns)[:, None] >= at_ns
        # The offset at `at_ns` holds on its own side of every step.
        return later.astype(np.float64) - (self.at_ns >= at_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedFlash:
    """Onset of one pulse in reference time, and the sources that saw it."""

    t_ns: int
    std_s: float
    seen_by: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Calibration:
    """Calibration of all clocks of a recording with flashes.

    Parameters
    ----------
    reference : str
        Source whose timestamps are reference time.
    at_ns : int
        Reference time, and own timestamp of each source, at which its offset holds.
    sources : mapping of str to CalibratedSource
        All connected sources, the reference with a correction of zero.
    flashes : tuple of CalibratedFlash
        In time order.
    refused : mapping of str to str
        Sources that could not be calibrated, and why.
    warnings : tuple of str
        Findings that do not prevent the result.
    half_light_s, half_light_std_s : float
        From the onset of a pulse to its half-light instant.
    """

    reference: str
    at_ns: int
    sources: Mapping[str, CalibratedSource]
    flashes: tuple[CalibratedFlash, ...]
    refused: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
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


def error_budget(calibration: Calibration, source: str, times_ns: Ints) -> Floats:
    """Return the standard error of a source's correction at each of its own timestamps.

    ``sigma^2 = a C a`` with ``a = (1, t - at, [t >= step_k])`` and C the covariance of offset,
    drift and steps. The clock is assumed to run evenly between flashes: far from them the error
    grows with that of the drift. The wander of a real oscillator (about 0.01 to 0.1 ppm over
    minutes) is not included.

    Parameters
    ----------
    calibration : Calibration
        Result of `calibrate_events`.
    source : str
        Name of the source.
    times_ns : ndarray of int, shape (n,)
        Own timestamps.

    Returns
    -------
    ndarray, shape (n,)
        Seconds.

    Raises
    ------
    UsageError
        If the calibration does not hold the source.
    """
    if source not in calibration.sources:
        raise UsageError(
            f"the calibration has no source '{source}'",
            hint=nearest_name(source, calibration.sources),
        )
    found = calibration.sources[source]
    since_s = seconds_since(times_ns, found.at_ns)
    terms = np.column_stack([np.ones(since_s.size), since_s, found.step_terms(times_ns)])
    return np.asarray(np.sqrt(np.einsum("ij,jk,ik->i", terms, found.covariance, terms).clip(0.0)))
