"""Clocks of recordings that are drawn at random, and the choice of such recordings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DrawnClock:
    """A clock that lacks `offset_s` at the true time `middle_s`, and drifts.

    Times and timestamps are seconds after one epoch.
    """

    offset_s: float
    drift_ppm: float
    middle_s: float

    def stamps_s(self, true_s: Floats | float) -> Floats:
        """Return the timestamps at true times."""
        at = np.asarray(true_s, dtype=np.float64)
        return at - self.offset_s - 1e-6 * self.drift_ppm * (at - self.middle_s)

    def true_s(self, stamp_s: float) -> float:
        """Return the true time of a timestamp."""
        rate = 1e-6 * self.drift_ppm
        return (stamp_s + self.offset_s - rate * self.middle_s) / (1.0 - rate)

    def offset_to_s(self, reference: DrawnClock, stamp_s: float) -> float:
        """Return what to add to a timestamp of this clock to get that of another."""
        return float(reference.stamps_s(self.true_s(stamp_s))) - stamp_s


def numbers(text: str) -> list[int]:
    """Return the numbers of a list such as ``0-29,33``."""
    numbers: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers
