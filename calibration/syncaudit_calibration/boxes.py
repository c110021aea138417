"""Intervals within the linear solution: boxes with soft ends, by expectation propagation.

An interval says only that the flash lies inside. Expectation propagation (Minka, "Expectation
propagation for approximate Bayesian inference", UAI 2001) replaces each box by the Gaussian with
the right moments given everything else. Many boxes of one unknown constrain it redundantly, and
there the moments come out too wide or too narrow (Cunningham, Hennig & Lacoste-Julien, "Gaussian
probabilities and expectation propagation", 2011, arXiv:1111.6832): it places the clocks, and
`box_posterior` then says how well they are known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

from syncaudit_calibration.observations import Observations

__all__ = ["propagate"]

Floats = NDArray[np.float64]

# Width of a box, in deviations, below which its ends cannot be told apart.
NARROWEST = 1e-3
DAMPING = 0.6


def propagate(
    observations: Observations,
    residuals: Floats,
    spread: Floats,
    mean: Floats,
    variance: Floats,
    is_box: NDArray[np.bool_],
    has_say: NDArray[np.bool_],
) -> tuple[Floats, Floats]:
    """Replace every box by the Gaussian that has its moments, given all other observations.

    Parameters
    ----------
    observations : Observations
        The equations.
    residuals, spread : ndarray, shape (n,)
        Of the solution, and the variance of what they are taken from.
    mean, variance : ndarray, shape (n,)
        Present Gaussians.
    is_box : ndarray of bool, shape (n,)
        Which to replace.
    has_say : ndarray of bool, shape (n,)
        Whose present Gaussian is part of the solution, and is taken out of it first.
    """
    if not is_box.any():
        return mean, variance
    r, s2 = residuals[is_box], spread[is_box]
    m, v = mean[is_box], variance[is_box]
    own = has_say[is_box] / v
    half, soft = observations.half_s[is_box], observations.std_s[is_box]
    precision = np.maximum(1.0 / s2 - own, 1e-3 / s2)
    cavity_var = 1.0 / precision
    cavity = cavity_var * (r / s2 - own * m)
    q = np.sqrt(cavity_var + soft**2)
    half = np.maximum(half, NARROWEST * q)  # a box without width is a point
    slope, bend = _box_moments((-half - cavity) / q, (half - cavity) / q)
    slope, bend = slope / q, np.minimum(bend / q**2, -1e-9 / half**2)
    new_v = np.maximum(-1.0 / bend - cavity_var, 0.01 * soft**2)
    new_m = cavity - slope / bend
    # Damped in the natural parameters, or boxes that share an unknown chase one another.
    information = (1.0 - DAMPING) / v + DAMPING / new_v
    shift = (1.0 - DAMPING) * m / v + DAMPING * new_m / new_v
    mean, variance = mean.copy(), variance.copy()
    variance[is_box] = 1.0 / information
    mean[is_box] = shift / information
    return mean, variance


def _box_moments(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return first and second derivative of ``log(Phi(high) - Phi(low))`` by a common shift.

    Both by the mean of the Gaussian in units of its deviation; far outside the box the scaled
    complementary error function keeps the ratio finite.
    """
    flip = low + high < 0.0
    a = np.where(flip, -high, low)
    b = np.where(flip, -low, high)
    # Now a + b >= 0: only the lower end can be far above the mean.
    root = np.sqrt(0.5)
    shrink = np.exp(np.maximum(0.5 * (a - b) * (a + b), -700.0))
    tail = 0.5 * (erfcx(a * root) - shrink * erfcx(np.maximum(b, 0.0) * root))
    density = 1.0 / np.sqrt(2.0 * np.pi)
    inner = ndtr(b) - ndtr(a)
    is_far = a > 0.0
    at_a = np.where(is_far, density / np.maximum(tail, 1e-300), _pdf(a) / np.maximum(inner, 1e-300))
    at_b = np.where(is_far, at_a * shrink, _pdf(b) / np.maximum(inner, 1e-300))
    slope = at_a - at_b
    bend = a * at_a - b * at_b - slope**2
    return np.where(flip, -slope, slope), bend


def _pdf(z: Floats) -> Floats:
    value: Floats = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    return value
