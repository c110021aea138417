"""The clock of a source over a whole recording: what its clips say together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syncaudit.model import arrays
from syncaudit.model.arrays import Bools, Floats, Ints

__all__ = ["ClockCourse", "CourseStep"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseStep:
    """A jump of a clock between two clips of a recording, as a reboot makes it.

    Parameters
    ----------
    after_ns, before_ns : int
        Middle of the last clip before and of the first clip after it, in reference time.
    step_s, step_std_s : float
        Change of the correction, and its standard error.
    """

    after_ns: int
    before_ns: int
    step_s: float
    step_std_s: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClockCourse:
    """Correction of one clock at every clip of a recording.

    Parameters
    ----------
    clock : str
        Name of the clock.
    at_ns : ndarray of int64, shape (n,)
        Middle of each clip, in order.
    offset_s, offset_std_s : ndarray, shape (n,)
        Correction there, from all clips, and its standard error.
    is_measured : ndarray of bool, shape (n,)
        Clips that measured the clock themselves; in the others it is interpolated.
    drift_ppm, drift_std_ppm : float, optional
        Steady part of its change; None with fewer than two measured clips.
    wander_s : float
        Unsteady part: one-sigma change per root second, as of a random walk.
    steps : tuple of CourseStep
        In order of time.
    """

    clock: str
    at_ns: Ints
    offset_s: Floats
    offset_std_s: Floats
    is_measured: Bools
    drift_ppm: float | None
    drift_std_ppm: float | None
    wander_s: float
    steps: tuple[CourseStep, ...] = ()

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        arrays.freeze_stamps(self, "at_ns")
        arrays.freeze_columns(self, "offset_s", "offset_std_s", n=self.at_ns.size)
        if np.asarray(self.is_measured).shape != self.at_ns.shape:
            raise ValueError(f"is_measured must have shape ({self.at_ns.size},)")

    def is_bracketed(self, k: int) -> bool:
        """Tell whether clip `k`, or clips on both sides of it with no step between, measured it."""
        if self.is_measured[k]:
            return True
        before, after = np.flatnonzero(self.is_measured[:k]), np.flatnonzero(self.is_measured[k:])
        if not before.size or not after.size:
            return False
        first_ns, last_ns = self.at_ns[before[-1]], self.at_ns[k + after[0]]
        return not any(step.before_ns > first_ns and step.after_ns < last_ns for step in self.steps)
