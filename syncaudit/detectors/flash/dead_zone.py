"""Remove the effect of a video encoder's dead zone from the edges of bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from syncaudit.detectors.flash.edges import Edge
from syncaudit.dsp.robust import cauchy_weights, mad_std
from syncaudit.model.arrays import Floats

# With fewer edges, the slope over the blocks is noise.
MIN_EDGES = 4
# Single-block edges farther off than this (rows) have another cause.
MAX_BLOCK_SHIFT = 6.0
# Maximum weight of one block in an edge.
MAX_BLOCK_SHARE = 0.2
# Share of the shift that remains after correction, measured with x264 at crf 26-28 for
# exposures of 2-15 ms and flashes of 25-60 levels: 0.3-0.6.
LEFT_SHARE = 0.5


def without_dead_zone(edges: Sequence[Edge]) -> list[Edge]:
    """Return the edges of one camera where they would lie without an encoder's dead zone.

    Encoders quantise the difference from their prediction towards zero, so every ramp comes out
    some luma levels nearer to the prediction. Edges thus move away from the side that was predicted
    worse, by ``k / step`` rows: the fainter the flash, the more, up to three rows at 25 levels. The
    prediction is the previous frame, or that frame brightened as a whole (weighted prediction),
    which puts it between dark and lit by the share f of the frame that is lit. Hence, with sign +1
    for upper edges and -1 for lower ones::

        shift = sign * (k0 * (1 - 2 f) + k1) / step

    The column blocks of one edge have different steps: k0 and k1 are estimated from the scatter of
    single-block edges around their common edge, over all edges of the camera, without using the
    exposure or true times. What does not depend on the step (a tone curve) remains; it moves upper
    and lower edges apart equally and acts like a longer exposure.

    Not for lasting lights, as tone curves bend each cell according to its brightness, nor for tails
    (xenon tubes), whose foot lies in the dark: both look like a dead zone.
    """
    n = len(edges)
    if n < MIN_EDGES:
        return list(edges)
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
    added = np.sqrt(fit_variance + left**2)
    return [
        replace(edge, row=edge.row - shift, row_std=float(np.hypot(edge.row_std, std)))
        for edge, shift, std in zip(edges, removed.tolist(), added.tolist(), strict=True)
    ]


def _robust_fit(rows: Floats, values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return weighted least-squares coefficients with Cauchy weights, and their covariance."""
    found: Floats = np.zeros(2)
    scale = max(mad_std(values), 1e-6)
    for _ in range(6):
        residuals = values - rows @ found
        scale = max(mad_std(residuals), 1e-6)
        used = weights * cauchy_weights(residuals / scale)
        normal = (rows * used[:, None]).T @ rows
        # A ridge of 1 %: the two columns are collinear where all frames are lit to the same share.
        normal += 0.01 * np.trace(normal) * np.eye(2) + 1e-12 * np.eye(2)
        found = np.linalg.inv(normal) @ (rows * used[:, None]).T @ values
    inverse = np.linalg.inv(normal)
    scores = rows * (used * (values - rows @ found))[:, None]
    covariance: Floats = inverse @ (scores.T @ scores) @ inverse
    return found, covariance
