"""Intervals within the linear solution: parabolas that become steep outside of them.

An interval says only that the flash lies inside. Within it the penalty is that of its own mean and
variance; beyond, it grows as fast as its ends are sharp. It is convex and bends nowhere less than a
wide Gaussian or more than a sharp one, so that the solution exists and Newton's steps, damped, end
there. It places the clocks; `box_posterior` then says where they may be, and how well that is
known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit_calibration.observations import Observations

__all__ = ["bend_boxes"]

Floats = NDArray[np.float64]

# Sharpness of the ends in half widths, enough to place a clock; sharper ones take more steps.
END_SHARE = 0.05
DAMPING = 0.6


def bend_boxes(
    observations: Observations,
    residuals: Floats,
    mean: Floats,
    variance: Floats,
    is_box: NDArray[np.bool_],
) -> tuple[Floats, Floats]:
    """Return the Gaussians that touch the boxes' penalties where the solution is.

    Parameters
    ----------
    observations : Observations
        The equations.
    residuals : ndarray, shape (n,)
        Of the solution.
    mean, variance : ndarray, shape (n,)
        Present Gaussians.
    is_box : ndarray of bool, shape (n,)
        Which to replace.
    """
    half, soft, off = observations.half_s[is_box], observations.std_s[is_box], residuals[is_box]
    inside_var = half**2 / 3.0 + soft**2
    end_var = np.maximum(soft, END_SHARE * half) ** 2
    is_out = np.abs(off) > half
    new_variance = np.where(is_out, end_var, inside_var)
    new_mean = np.where(is_out, np.sign(off) * half * (1.0 - end_var / inside_var), 0.0)
    # Damped in the natural parameters, or boxes that share an unknown chase one another.
    old_mean, old_variance = mean[is_box], variance[is_box]
    information = (1.0 - DAMPING) / old_variance + DAMPING / new_variance
    shift = (1.0 - DAMPING) * old_mean / old_variance + DAMPING * new_mean / new_variance
    mean, variance = mean.copy(), variance.copy()
    variance[is_box] = 1.0 / information
    mean[is_box] = shift / information
    return mean, variance
