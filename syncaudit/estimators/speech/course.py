"""Describe the offset of a tier from its sound, as a function of the tier's time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from syncaudit.model.arrays import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Offset at every instant: a line with at most one step."""

    anchor_s: float  # tier time at which `offset_s` holds, except for the step
    offset_s: float  # added to tier times before the step
    drift: float = 0.0  # change of the offset per second
    # Size of the step, and the tier time from which on it counts.
    step_s: float = 0.0
    step_at_s: float = np.inf

    def at(self, times_s: Floats) -> Floats:
        """Return the offset at tier times, shape (n,)."""
        line = self.offset_s + self.drift * (times_s - self.anchor_s)
        return np.asarray(line + np.where(times_s >= self.step_at_s, self.step_s, 0.0))

    @property
    def has_step(self) -> bool:
        """Whether there is a step."""
        return bool(np.isfinite(self.step_at_s))

    def without_step(self) -> Course:
        """Return the line, a drift, nearest to a course of two levels."""
        return replace(
            self, offset_s=self.offset_s + 0.5 * self.step_s, step_s=0.0, step_at_s=np.inf
        )
