"""The course of a pulse's light, as the rows of a rolling shutter draw it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["PulseShape"]

Floats = NDArray[np.float64]

# Shortest ramp: the encoder's block filters leave no edge sharper.
MIN_RAMP_PX = 1.0
# Points between which the half-light row is interpolated.
N_HALF = 400


@dataclass(frozen=True)
class PulseShape:
    """A box of light that dies away exponentially, in rows.

    The box is the shape of LEDs and screens, a short box with a long tail that of xenon tubes.
    The light that has arrived x rows after the onset, as a share of all, is::

        F(x) = (G(x) - G(x - ramp)) / ramp,   G(u) = u - tail * (1 - exp(-u / tail)) for u > 0

    Parameters
    ----------
    ramp_px : float
        Length of the box.
    tail_px : float
        Decay constant of the tail.
    """

    ramp_px: float
    tail_px: float = 0.0

    @cached_property
    def half_px(self) -> float:
        """Rows from the onset to half of the light."""
        if self.tail_px <= 0.0:
            return 0.5 * self.ramp_px
        rows = np.linspace(0.0, self.ramp_px + 2.0 * self.tail_px, N_HALF)
        return float(np.interp(0.5, self._arrived(rows), rows))

    @property
    def reach_px(self) -> float:
        """Rows from the half-light row to where all but a twentieth has arrived."""
        return self.ramp_px - self.half_px + 3.0 * self.tail_px

    @property
    def skewness(self) -> float:
        """What part of the pulse is tail."""
        return self.tail_px / (self.tail_px + 0.5 * self.ramp_px)

    def cdf(self, x: Floats) -> Floats:
        """Return the share of light that has arrived x rows after the half-light row."""
        return self._arrived(x + self.half_px)

    def slope(self, x: Floats) -> Floats:
        """Return the derivative of `cdf`, smoothed over half a row."""
        arrived = self._arrived(np.stack((x + 0.25, x - 0.25)) + self.half_px)
        slope: Floats = 2.0 * (arrived[0] - arrived[1])
        return slope

    def _arrived(self, x: Floats) -> Floats:
        ramp, tail = max(self.ramp_px, MIN_RAMP_PX), self.tail_px
        if tail <= 0.0:
            return np.clip(x / ramp, 0.0, 1.0)
        u = np.maximum(np.stack((x, x - ramp)), 0.0)
        grown = u + tail * np.expm1(-u / tail)
        arrived: Floats = (grown[0] - grown[1]) / ramp
        return arrived
