"""Model a camera's tone curve between the brightness without a light and with it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

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
class ToneCurve:
    """What is shown of a light: ``luma = light^(1/gamma)``, exact for none and all of it.

    A share u of a light that makes an image `ratio` times as bright shows::

        f(u) = ((1 + u * (ratio^gamma - 1))^(1/gamma) - 1) / (ratio - 1)

    Any bend beyond what an exponent can produce is added as a parabola. Fitting the bend is as easy
    as fitting a parabola alone, which is 2 % off where a light makes an image four times as bright.

    Parameters
    ----------
    bend : float
        Four times the excess over a half of what is shown of half of the light, in (-1, 1).
    ratio : float
        Brightness with all of the light over that without.
    """

    bend: float
    ratio: float

    @cached_property
    def _gamma_and_rest(self) -> tuple[float, float]:
        """Return the exponent, and the bend of the additional parabola."""
        bends = _bend(GAMMAS, self.ratio)
        rest = self.bend - float(np.clip(self.bend, bends[0], bends[-1]))
        return float(np.interp(self.bend, bends, GAMMAS)), rest

    def shown(self, light: Floats, is_off: Bools) -> tuple[Floats, Floats]:
        """Return what is shown of some shares of the light, and the derivative.

        Parameters
        ----------
        light : ndarray
            Shares.
        is_off : ndarray of bool, broadcast to that
            Where the share is the darkness of a light that goes off: curves bend it the other way.
        """
        gamma, rest = self._gamma_and_rest
        ratio = max(self.ratio, MIN_RATIO)
        u = np.where(is_off, 1.0 - light, light)
        bright = np.maximum(1.0 + u * (ratio**gamma - 1.0), LEAST)
        luma = bright ** (1.0 / gamma)
        curve = (luma - 1.0) / (ratio - 1.0) + rest * u * (1.0 - u)
        slope = (ratio**gamma - 1.0) / (ratio - 1.0) / gamma * luma / bright
        return np.where(is_off, 1.0 - curve, curve), slope + rest * (1.0 - 2.0 * u)


def usual_bend(ratio: float) -> tuple[float, float]:
    """Return mean and deviation of the bend of typical curves at a ratio of brightness."""
    mean, std = USUAL_GAMMA
    low, usual, high = _bend(np.array([mean - std, mean, mean + std]), ratio)
    return float(usual), float(np.hypot(0.5 * (high - low), OTHER_BEND))


def _bend(gamma: Floats, ratio: float) -> Floats:
    ratio = max(ratio, MIN_RATIO)
    half = (0.5 * (1.0 + ratio**gamma)) ** (1.0 / gamma)
    return np.asarray(4.0 * ((half - 1.0) / (ratio - 1.0) - 0.5))
