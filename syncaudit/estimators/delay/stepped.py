"""A delay that changes once, beside a steady drift."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.estimators.delay.increments import Increments

__all__ = ["ClockStep"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockStep:
    """A delay that changes once, beside a steady drift.

    Parameters
    ----------
    at_s, at_std_s : float
        When, on the source's clock, and its standard error.
    before_s, after_s : float
        Delay before and after; their standard errors follow.
    before_std_s, after_std_s : float
        One sigma each.
    before_at_s, after_at_s : float, optional
        Instants that the two are of, where the delay drifts.
    drift_ppm, drift_std_ppm : float
        Drift on both sides, as it was taken off, and its standard error.
    """

    at_s: float
    before_s: float
    before_std_s: float
    after_s: float
    after_std_s: float
    before_at_s: float = 0.0
    after_at_s: float = 0.0
    drift_ppm: float = 0.0
    drift_std_ppm: float = 0.0
    at_std_s: float = 0.0

    @property
    def step_s(self) -> float:
        """Change of the delay."""
        apart_s = self.after_at_s - self.before_at_s
        return self.after_s - self.before_s - 1e-6 * self.drift_ppm * apart_s

    @property
    def step_std_s(self) -> float:
        """Standard error of the change."""
        apart_s = self.after_at_s - self.before_at_s
        own_s = math.hypot(self.before_std_s, self.after_std_s)
        return math.hypot(own_s, 1e-6 * self.drift_std_ppm * apart_s)

    def longer_part(self, increments: Increments) -> Increments:
        """Return the increments on the side that holds more of them."""
        n_before = int(np.count_nonzero(increments.mid_s < self.at_s))
        return self.part(increments, is_before=2 * n_before > increments.mid_s.size)

    def part(self, increments: Increments, *, is_before: bool) -> Increments:
        """Return the increments on one side."""
        return increments.rows((increments.mid_s < self.at_s) == is_before)

    def anchor_near(self, time_s: float) -> float:
        """Return the instant on the same side of the step at which the delay is known best."""
        if not self.drift_std_ppm:
            return time_s
        return self.before_at_s if time_s < self.at_s else self.after_at_s

    def offset_at(self, time_s: float) -> float:
        """Return the delay at an instant."""
        is_before = time_s < self.at_s
        side_s, at_s = (
            (self.before_s, self.before_at_s) if is_before else (self.after_s, self.after_at_s)
        )
        return side_s + 1e-6 * self.drift_ppm * (time_s - at_s)

    def sides_at(self, times_s: Floats) -> tuple[Floats, Floats]:
        """Return the delays of either side at instants, shape (n,) each, wherever the step is."""
        before_s = self.before_s + 1e-6 * self.drift_ppm * (times_s - self.before_at_s)
        after_s = self.after_s + 1e-6 * self.drift_ppm * (times_s - self.after_at_s)
        return before_s, after_s

    def offsets_at(self, times_s: Floats) -> Floats:
        """Return the delays at instants, shape (n,)."""
        before_s, after_s = self.sides_at(times_s)
        return np.where(times_s < self.at_s, before_s, after_s)

    def offset_std_at(self, time_s: float) -> float:
        """Return the standard error of `offset_at`."""
        is_before = time_s < self.at_s
        std_s, at_s = (
            (self.before_std_s, self.before_at_s)
            if is_before
            else (self.after_std_s, self.after_at_s)
        )
        return math.hypot(std_s, 1e-6 * self.drift_std_ppm * (time_s - at_s))
