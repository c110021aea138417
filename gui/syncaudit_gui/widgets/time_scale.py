"""Conversion between seconds and pixels, and positions of round times."""

from __future__ import annotations

import math
from dataclasses import dataclass

from syncaudit_gui.viewmodel.timeline import TimeRange

# Room for a label.
TICKS_PX = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeScale:
    """A range of time mapped to a range of pixels."""

    visible: TimeRange
    left_px: float  # its position on screen
    right_px: float

    @property
    def px_per_s(self) -> float:
        return (self.right_px - self.left_px) / max(self.visible.span_s, 1e-12)

    def x_of(self, time_s: float) -> float:
        return self.left_px + (time_s - self.visible.start_s) * self.px_per_s

    def time_at(self, x_px: float) -> float:
        return self.visible.start_s + (x_px - self.left_px) / max(self.px_per_s, 1e-12)

    def ticks(self) -> tuple[list[float], int]:
        """Return round times with room for their labels, and the digits that distinguish them."""
        least_s = TICKS_PX / max(self.px_per_s, 1e-12)
        power = 10.0 ** math.floor(math.log10(least_s))
        steps = [1.0, 2.0, 5.0, 10.0]
        step_s = next((power * x for x in steps if power * x >= least_s), 10.0 * power)
        if least_s > 10.0:
            nice = (15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0)
            step_s = next((x for x in nice if x >= least_s), step_s)
        first = math.ceil(self.visible.start_s / step_s)
        last = math.floor(self.visible.stop_s / step_s)
        digits = max(0, -math.floor(math.log10(step_s) + 1e-9))
        return [k * step_s for k in range(first, last + 1)], digits
