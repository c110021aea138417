"""Remove what a video encoder's dead zone does to the edges of bands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.flash.edges import Edge
from syncaudit.dsp.robust import cauchy_weights, mad_std

__all__ = ["dead_zone_shifts"]

Floats = NDArray[np.float64]

# With fewer edges the slope over the blocks is noise.
MIN_EDGES = 4
# Single-block edges further off than this are of something else.
MAX_BLOCK_SHIFT = 6.0
# No block counts more than this share of an edge.
MAX_BLOCK_SHARE = 0.2
# Share of the shift that is left after it was removed, measured with x264 at crf 26-28 for
# exposures of 2-15 ms and flashes of 25-60 levels: 0.3-0.6.
LEFT_SHARE = 0.5


def dead_zone_shifts(edges: Sequence[Edge]) -> tuple[Floats, Floats]:
    """Return by how many rows each edge is too low in the picture, and the error that leaves.

    Encoders quantise the difference from their prediction towards zero: every ramp is drawn some
    luma levels nearer to the prediction than it was. Edges so move away from the side that was
    predicted worse, by ``k / step`` rows, the more the fainter the flash: up to three rows at 25
    levels. The prediction is the frame before, or that frame brightened as a whole (weighted
    prediction), which puts it between dark and lit by the share f of the frame that is lit. So,
    with sign +1 for upper edges and -1 for lower ones::

        shift = sign * (k0 * (1 - 2 f) + k1) / step

    The column blocks of one edge have different steps: k0 and k1 are found from how the edges of
    single blocks scatter around their common edge, over all edges of the camera, with no use of
    exposure or true times. What does not depend on the step (a tone curve) stays; it moves upper
    and lower edges apart alike and acts as a longer exposure.

    Parameters
    ----------
    edges : sequence of Edge
        All edges of one camera.

    Returns
    -------
    shifts, stds : ndarray, shape (n,)
        In rows; zeros where there are too few edges.
    """
    n = len(edges)
    if n < MIN_EDGES:
        return np.zeros(n), np.zeros(n)
    signs = np.array([1.0 if edge.is_upper else -1.0 for edge in edges])
    shares = np.array([edge.lit_share for edge in edges])
    factors = np.stack((signs * (1.0 - 2.0 * shares), signs), axis=1)
    info = np.stack([edge.block_info for edge in edges])
    steps = np.stack([np.abs(edge.block_step) for edge in edges])
    shifts = np.stack([edge.block_shift for edge in edges])
    weights = info / info.sum(axis=1, keepdims=True)
    weights = np.minimum(weights, MAX_BLOCK_SHARE)
    weights = weights * (np.abs(shifts) < MAX_BLOCK_SHIFT) + 1e-12
    weights /= weights.sum(axis=1, keepdims=True)
    inverse = 1.0 / np.maximum(steps, 1.0)
    mean_inverse = np.sum(weights * inverse, axis=1)
    apart = inverse - mean_inverse[:, None]
    rows = (apart[:, :, None] * factors[:, None, :]).reshape(-1, 2)
    values = (shifts - np.sum(weights * shifts, axis=1, keepdims=True)).ravel()
    found, covariance = _robust_fit(rows, values, weights.ravel())
    columns = factors * mean_inverse[:, None]
    removed: Floats = columns @ found
    fit_variance = np.einsum("ni,ij,nj->n", columns, covariance, columns)
    left = LEFT_SHARE * float(np.sqrt(np.mean(removed**2)))
    return removed, np.sqrt(fit_variance + left**2)


def _robust_fit(rows: Floats, values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return weighted least-squares coefficients with Cauchy weights, and their covariance."""
    found: Floats = np.zeros(2)
    scale = max(mad_std(values), 1e-6)
    for _ in range(6):
        residuals = values - rows @ found
        scale = max(mad_std(residuals), 1e-6)
        used = weights * cauchy_weights(residuals / scale)
        normal = (rows * used[:, None]).T @ rows
        # A ridge of a hundredth: the two columns are the same where every frame is lit alike.
        normal += 0.01 * np.trace(normal) * np.eye(2) + 1e-12 * np.eye(2)
        found = np.linalg.inv(normal) @ (rows * used[:, None]).T @ values
    inverse = np.linalg.inv(normal)
    scores = rows * (used * (values - rows @ found))[:, None]
    covariance: Floats = inverse @ (scores.T @ scores) @ inverse
    return found, covariance
