"""Where a source's stamps lie in reference time: its correction and what a person added to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit_gui.viewmodel.timeline import TimeRange

__all__ = ["ClockMap"]

Floats = NDArray[np.float64]

# Each step of inverting a clock leaves the drift's share of the error before.
N_INVERSE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockMap:
    """Correction of one source in seconds since the clip's epoch (formats, section 1).

    ``t_ref = t + offset_s + nudge_s + drift_ppm * 1e-6 * (t - at_s)``, and a step as in
    `syncaudit.model.clocks`: only the side on which the offset does not hold is moved.

    Parameters
    ----------
    offset_s, drift_ppm, at_s
        The estimate; all zero for raw stamps.
    step_s : float
        Change of the correction at the step.
    step_at_s : float, optional
        Stamp of the step.
    is_step_past : bool
        Whether the offset holds after the step.
    nudge_s : float
        Added by hand.
    """

    offset_s: float = 0.0
    drift_ppm: float = 0.0
    at_s: float = 0.0
    step_s: float = 0.0
    step_at_s: float | None = None
    is_step_past: bool = False
    nudge_s: float = 0.0

    @property
    def is_nothing(self) -> bool:
        """Whether it moves no stamp."""
        return not (self.offset_s or self.drift_ppm or self.nudge_s or self.step_s)

    def change_s(self, times_s: Floats) -> Floats:
        """Return what is added to stamps, shape as given."""
        # To the letter also for a clock of another epoch: its offset is given at the stamp `at_s`,
        # however far from its own stamps that is.
        change = self.offset_s + self.nudge_s + 1e-6 * self.drift_ppm * (times_s - self.at_s)
        if self.step_at_s is not None:
            after = times_s >= self.step_at_s
            change = change + self.step_s * (after.astype(float) - float(self.is_step_past))
        return np.asarray(change, dtype=np.float64)

    def apply(self, times_s: Floats) -> Floats:
        """Return reference times of stamps, shape as given."""
        return times_s if self.is_nothing else times_s + self.change_s(times_s)

    def at(self, time_s: float) -> float:
        """Return the reference time of one stamp."""
        return float(self.apply(np.array([time_s]))[0])

    def stamp_at(self, time_s: float) -> float:
        """Return which stamp has a reference time."""
        stamp_s = time_s
        for _ in range(N_INVERSE):
            stamp_s = time_s - (self.at(stamp_s) - stamp_s)
        return stamp_s

    def stamps_in(self, visible: TimeRange) -> TimeRange:
        """Return a range of stamps that holds all whose reference time is in `visible`."""
        if self.is_nothing:
            return visible
        ends = np.array([visible.start_s, visible.stop_s])
        # Exact but for the step, which the slack covers.
        slope = 1.0 + 1e-6 * self.drift_ppm
        fixed_s = self.offset_s + self.nudge_s - 1e-6 * self.drift_ppm * self.at_s
        first, last = (ends - fixed_s) / slope
        slack_s = 1.01 * abs(self.step_s) + 1e-6
        return TimeRange(start_s=float(first) - slack_s, stop_s=float(last) + slack_s)
