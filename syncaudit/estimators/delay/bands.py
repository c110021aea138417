"""Slow and fast motion: what a filter tells apart that a clock cannot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

__all__ = ["BAND_ROWS", "slow_motion"]

Floats = NDArray[np.float64]

# Increments that slow motion is averaged over.
BAND_ROWS = 6


def slow_motion(sides: Floats, weights: Floats) -> Floats:
    """Return moving averages over `BAND_ROWS` increments; what is left of the sides is fast motion.

    Rows that the fit rejects would blur those beside them.

    Parameters
    ----------
    sides : ndarray, shape (k, n, m)
        What is averaged along its second axis.
    weights : ndarray, shape (n, m)
        Of the fit.
    """
    weights = np.maximum(weights, 1e-12 * weights.max())
    slow = uniform_filter1d(weights * sides, BAND_ROWS, axis=1, mode="nearest")
    averaged: Floats = slow / uniform_filter1d(weights, BAND_ROWS, axis=0, mode="nearest")
    return averaged
