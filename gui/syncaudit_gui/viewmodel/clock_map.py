"""Where a source's stamps lie in reference time: its correction and what a person added to it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from syncaudit.model import ClockMap
from syncaudit.model.arrays import Floats
from syncaudit_gui.viewmodel.timeline import TimeRange

__all__ = ["DrawnClock"]


# Each step of inverting a clock leaves the drift's share of the error before.
N_INVERSE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnClock:
    """Correction of one source in seconds since the clip's epoch (formats, section 1).

    Parameters
    ----------
    clock : ClockMap
        The estimate, its stamps counted from the epoch; none for raw stamps.
    nudge_s : float
        Added by hand.
    """

    clock: ClockMap = field(default_factory=ClockMap)
    nudge_s: float = 0.0

    @property
    def is_nothing(self) -> bool:
        """Whether it moves no stamp."""
        return self.clock.is_nothing and not self.nudge_s

    def change_s(self, times_s: Floats) -> Floats:
        """Return what is added to stamps, shape as given."""
        # To the letter also for a clock of another epoch: its offset is given at the stamp `at_ns`,
        # however far from its own stamps that is.
        return self.clock.change_s(times_s) + self.nudge_s

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
        ends = np.array([visible.start_s, visible.stop_s]) - self.nudge_s
        # Exact but for the step, which the slack covers.
        first, last = ends + self.clock.inverse().change_s(ends)
        slack_s = 1.01 * abs(self.clock.step_s) + 1e-6
        return TimeRange(start_s=float(first) - slack_s, stop_s=float(last) + slack_s)
