"""Include intervals in the least squares, by parabolas that become steep outside of them.

An interval only constrains the flash to lie inside. Within the interval, the penalty is that of a
Gaussian of the same mean and variance; outside, it grows according to the sharpness of the ends. It
is convex, and its curvature lies between those of a wide and a sharp Gaussian, so that the solution
exists and damped Newton steps converge. This places the clocks; `box_posterior` then computes their
posterior mean and errors.
"""

from __future__ import annotations

import numpy as np

from syncaudit.model.arrays import Bools, Floats
from syncaudit_calibration.observations import Observations

# Sharpness of the ends in half widths: enough to place a clock; sharper ends need more iterations.
END_SHARE = 0.05
DAMPING = 0.6


def bend_boxes(
    observations: Observations,
    residuals: Floats,
    mean: Floats,
    variance: Floats,
    is_box: Bools,
) -> tuple[Floats, Floats]:
    """Return the Gaussians that approximate the boxes' penalties at the solution.

    `residuals`, shape (n,), are those of the solution, `mean` and `variance` the current Gaussians;
    those of `is_box` are replaced.
    """
    half, soft, off = observations.half_s[is_box], observations.std_s[is_box], residuals[is_box]
    inside_var = half**2 / 3.0 + soft**2
    end_var = np.maximum(soft, END_SHARE * half) ** 2
    is_out = np.abs(off) > half
    new_variance = np.where(is_out, end_var, inside_var)
    new_mean = np.where(is_out, np.sign(off) * half * (1.0 - end_var / inside_var), 0.0)
    # Damp in the natural parameters; otherwise boxes that share an unknown would oscillate.
    old_mean, old_variance = mean[is_box], variance[is_box]
    information = (1.0 - DAMPING) / old_variance + DAMPING / new_variance
    shift = (1.0 - DAMPING) * old_mean / old_variance + DAMPING * new_mean / new_variance
    mean, variance = mean.copy(), variance.copy()
    variance[is_box] = 1.0 / information
    mean[is_box] = shift / information
    return mean, variance
