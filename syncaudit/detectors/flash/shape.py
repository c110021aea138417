"""Model a light going on as the rows of a rolling shutter show it, through a tone curve."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from syncaudit.model.arrays import Bools, Floats

# Shortest ramp: the encoder's block filters leave no edge sharper.
MIN_RAMP_PX = 1.0
# Ramps of a light that goes on instantly are as long as the exposure, within this factor.
LIKE_EXPOSURE = 1.25
# Number of points between which the half-light row is interpolated.
N_HALF = 400
# Exponents of tone curves (1: linear): mean and deviation of typical ones, and those tried.
USUAL_GAMMA = (1.8, 0.5)
GAMMAS = np.linspace(0.2, 4.0, 96)
# Additional bend of curves of other forms.
OTHER_BEND = 0.1
# Ratio of brightness with and without light up to which any curve is a line.
MIN_RATIO = 1.01
# Lower limit of brightness: taking away more light than there was would make it negative.
LEAST = 1e-3


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
        Bend of the tone curve: four times the excess over a half of what is shown of half of the
        light, in (-1, 1).
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
        """Return what an image shows of shares of light, and the derivative.

        Both are relative to the most that any row shows. A tone curve ``luma = light^(1/gamma)``
        shows of a share u of a light that makes an image `ratio` times as bright::

            f(u) = ((1 + u * (ratio^gamma - 1))^(1/gamma) - 1) / (ratio - 1)

        exactly for none and all of it. Any bend beyond what an exponent can produce is added as a
        parabola. Fitting the bend is as easy as fitting a parabola alone, which is 2 % off where a
        light makes an image four times as bright. `is_off`, broadcast to `light`: where the share
        is the darkness of a light that goes off, curves bend it the other way.
        """
        gamma, rest = self._gamma_and_rest
        ratio = max(self.ratio, MIN_RATIO)
        light = light / self.peak
        u = np.where(is_off, 1.0 - light, light)
        bright = np.maximum(1.0 + u * (ratio**gamma - 1.0), LEAST)
        luma = bright ** (1.0 / gamma)
        curve = (luma - 1.0) / (ratio - 1.0) + rest * u * (1.0 - u)
        slope = (ratio**gamma - 1.0) / (ratio - 1.0) / gamma * luma / bright
        slope = (slope + rest * (1.0 - 2.0 * u)) / self.peak
        return np.where(is_off, 1.0 - curve, curve), slope

    @cached_property
    def _gamma_and_rest(self) -> tuple[float, float]:
        """Return the exponent of the tone curve, and the bend of the additional parabola."""
        bends = _bend(GAMMAS, self.ratio)
        rest = self.bend - float(np.clip(self.bend, bends[0], bends[-1]))
        return float(np.interp(self.bend, bends, GAMMAS)), rest

    def _arrived(self, x: Floats) -> Floats:
        ramp, tail, blur = max(self.ramp_px, MIN_RAMP_PX), self.tail_px, self.blur_px
        u = np.maximum(np.stack((x, x - ramp)), 0.0)
        if blur > 0.0:
            u = 0.5 * (u**2 - np.maximum(u - blur, 0.0) ** 2) / blur
        elif tail > 0.0:
            u += tail * np.expm1(-u / tail)
        arrived: Floats = (u[0] - u[1]) / ramp
        return arrived


def usual_bend(ratio: float) -> tuple[float, float]:
    """Return mean and deviation of the bend of typical curves at a ratio of brightness."""
    mean, std = USUAL_GAMMA
    low, usual, high = _bend(np.array([mean - std, mean, mean + std]), ratio)
    return float(usual), float(np.hypot(0.5 * (high - low), OTHER_BEND))


def _bend(gamma: Floats, ratio: float) -> Floats:
    ratio = max(ratio, MIN_RATIO)
    half = (0.5 * (1.0 + ratio**gamma)) ** (1.0 / gamma)
    return np.asarray(4.0 * ((half - 1.0) / (ratio - 1.0) - 0.5))
