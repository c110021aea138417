"""Errors of a fitted delay where residuals are neither independent nor alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.robust import block_covariance, hac_covariance, student_widening

__all__ = ["correlated_shift", "covariance_of"]

Floats = NDArray[np.float64]

N_BLOCKS = 10


def correlated_shift(columns: Floats, weights: Floats) -> float:
    """Return how far the anchor lies from where offset and drift are uncorrelated."""
    normal = np.einsum("nmp,nm,nmq->pq", columns, weights, columns)
    covariance = np.linalg.inv(normal)
    return float(-covariance[0, 1] / covariance[1, 1])


def covariance_of(scores: Floats, normal: Floats, information: Floats) -> tuple[Floats, float]:
    """Return the largest of three estimates, and what correlation adds to the first's variance.

    Parameters
    ----------
    scores : ndarray, shape (n, p)
        Gradient of each row's share of the loss, had it not taken part in the fit.
    normal : ndarray, shape (p, p)
        Its curvature.
    information : ndarray, shape (n, p)
        What each row adds to its diagonal. Where few rows hold most of it, as many degrees of
        freedom tell the variance (Satterthwaite, "An approximate distribution of estimates of
        variance components", Biometrics Bull. 2, 1946, doi:10.2307/3002019).
    """
    inverse = np.linalg.inv(normal)
    n_lags = max(2, int(1.5 * scores.shape[0] ** (1.0 / 3.0)))
    independent = inverse @ (scores.T @ scores) @ inverse
    hac = inverse @ hac_covariance(scores, n_lags=n_lags) @ inverse
    block = inverse @ block_covariance(scores, n_blocks=N_BLOCKS) @ inverse
    # Per parameter the largest of the three variances; the correlation is that of the sandwich.
    variances = np.array([independent.diagonal(), hac.diagonal(), block.diagonal()])
    wider = np.sqrt(variances.max(axis=0) / variances[1])
    n_free = information.sum(axis=0) ** 2 / (np.sum(information**2, axis=0) + 1e-300)
    wider *= [student_widening(max(1.0, free)) for free in n_free]
    covariance: Floats = hac * wider * wider[:, None]
    return covariance, float(max(1.0, hac[0, 0] / independent[0, 0]))
