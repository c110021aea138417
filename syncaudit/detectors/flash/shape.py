"""Model a light going on as the rows of a rolling shutter show it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.flash.tone_curve import ToneCurve

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Shortest ramp: the encoder's block filters leave no edge sharper.
MIN_RAMP_PX = 1.0
# Number of points between which the half-light row is interpolated.
N_HALF = 400


@dataclass(frozen=True)
class RampShape:
    """A box of light with an exponential tail or a linear rise, seen through a tone curve.

    Rows that are exposed for E while a light is on for w gain light along a ramp of min(E, w)
    rows: the box. LEDs, screens and lamps look like this; xenon tubes give a short box with a long
    tail. The share of the light that has arrived x rows after the onset is::

        F(x) = (G(x) - G(x - ramp)) / ramp,   G(u) = u - tail * (1 - exp(-u / tail)) for u > 0

    A lasting light that rises linearly draws a ramp as long as its rise, and each instant of the
    rise one as long as E: the mean of F over the last `blur` rows instead. Relative to the rows
    that show most of the light, P, an image shows ``f(F / P)``, where f is its tone curve.

    Parameters
    ----------
    ramp_px : float
        Length of the box in rows.
    tail_px : float
        Decay constant of the tail.
    bend : float
        Bend of the tone curve.
    blur_px : float
        Rows over which the light is averaged; it has no tail then.
    peak : float
        Most light that any row shows, as a share of all light: less than 1 where bands are short.
    ratio : float
        Brightness of the rows that show most of the light, over that without light.
    """

    ramp_px: float
    tail_px: float = 0.0
    bend: float = 0.0
    blur_px: float = 0.0
    peak: float = 1.0
    ratio: float = 1.0

    @cached_property
    def half_px(self) -> float:
        """Rows from the onset to half of the light."""
        if self.tail_px <= 0.0:
            return 0.5 * (self.ramp_px + self.blur_px)
        rows = np.linspace(0.0, self.ramp_px + 2.0 * self.tail_px, N_HALF)
        return float(np.interp(0.5, self._arrived(rows), rows))

    @property
    def reach_px(self) -> float:
        """Rows from the half-light row to where all but a twentieth has arrived."""
        return self.ramp_px + self.blur_px - self.half_px + 3.0 * self.tail_px

    @property
    def length_px(self) -> float:
        """Rows from the onset to where all but a twentieth has arrived."""
        return self.half_px + self.reach_px

    def cdf(self, x: Floats) -> Floats:
        """Return the share of light that has arrived x rows after the half-light row."""
        return self._arrived(x + self.half_px)

    def slope(self, x: Floats) -> Floats:
        """Return the derivative of `cdf`, smoothed over half a row."""
        arrived = self._arrived(np.stack((x + 0.25, x - 0.25)) + self.half_px)
        slope: Floats = 2.0 * (arrived[0] - arrived[1])
        return slope

    def shown(self, light: Floats, is_off: Bools) -> tuple[Floats, Floats]:
        """Return what an image shows of shares of light, and the derivative (`ToneCurve`).

        Both are relative to the most that any row shows.
        """
        shown, slope = ToneCurve(self.bend, self.ratio).shown(light / self.peak, is_off)
        return shown, slope / self.peak

    def _arrived(self, x: Floats) -> Floats:
        ramp, tail = max(self.ramp_px, MIN_RAMP_PX), self.tail_px
        if self.blur_px > 0.0:
            sums = 0.5 * np.maximum(np.stack((x, x - ramp)), 0.0) ** 2
            sums -= 0.5 * np.maximum(np.stack((x, x - ramp)) - self.blur_px, 0.0) ** 2
            blurred: Floats = (sums[0] - sums[1]) / (ramp * self.blur_px)
            return blurred
        if tail <= 0.0:
            return np.clip(x / ramp, 0.0, 1.0)
        u = np.maximum(np.stack((x, x - ramp)), 0.0)
        grown = u + tail * np.expm1(-u / tail)
        arrived: Floats = (grown[0] - grown[1]) / ramp
        return arrived
