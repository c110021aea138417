"""Map a source's timestamps to reference time: its correction plus any nudge."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from syncaudit.model import ClockMap
from syncaudit.model.arrays import Floats
from syncaudit_gui.viewmodel.timeline import TimeRange

# Each step of inverting a clock reduces the error by a factor of the drift.
N_INVERSE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnClock:
    """Correction of one source in seconds since the clip's epoch (formats, section 1)."""

    # The estimate, with timestamps counted from the epoch; empty for raw timestamps.
    clock: ClockMap = field(default_factory=ClockMap)
    nudge_s: float = 0.0  # added by hand

    @property
    def is_nothing(self) -> bool:
        """Whether it leaves all timestamps unchanged."""
        return self.clock.is_nothing and not self.nudge_s

    def change_s(self, times_s: Floats) -> Floats:
        """Return the offset added to timestamps, shape as given."""
        # Exact even for a clock of another epoch: its offset is given at the timestamp `at_ns`,
        # however far that is from the clock's own timestamps.
        return self.clock.change_s(times_s) + self.nudge_s

    def apply(self, times_s: Floats) -> Floats:
        """Return reference times of timestamps, shape as given."""
        return times_s if self.is_nothing else times_s + self.change_s(times_s)

    def at(self, time_s: float) -> float:
        """Return the reference time of a timestamp."""
        return float(self.apply(np.array([time_s]))[0])

    def stamp_at(self, time_s: float) -> float:
        """Return the timestamp at a reference time."""
        stamp_s = time_s
        for _ in range(N_INVERSE):
            stamp_s = time_s - (self.at(stamp_s) - stamp_s)
        return stamp_s

    def stamps_in(self, visible: TimeRange) -> TimeRange:
        """Return a range containing all timestamps whose reference time is in `visible`."""
        if self.is_nothing:
            return visible
        ends = np.array([visible.start_s, visible.stop_s]) - self.nudge_s
        # Exact except for the step, which the slack covers.
        first, last = ends + self.clock.inverse().change_s(ends)
        slack_s = 1.01 * abs(self.clock.step_s) + 1e-6
        return TimeRange(start_s=float(first) - slack_s, stop_s=float(last) + slack_s)
