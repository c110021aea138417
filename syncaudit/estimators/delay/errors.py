"""Estimate the errors of increments, at rest and in motion, and of a delay fitted to them."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import uniform_filter1d

from syncaudit.dsp.robust import (
    MAD_TO_STD,
    block_covariance,
    hac_covariance,
    mad_std_of_columns,
    student_widening,
)
from syncaudit.model.arrays import Floats

N_BLOCKS = 10
# The largest of four estimates of one variance is too large: by 1.3 on average for uncorrelated
# scores. Divided by this, their intervals cover 95 % (94.4 to 95.9 in simulation, for 90 to 600
# rows and motion that is even or comes in bursts). Correlated scores exceed it by far.
LARGEST_OF_FOUR = 1.2
# Increments over which motion is averaged: an error due to motion need not coincide with it.
MOTION_ROWS = 5
# The median of the few values that hold half of the information varies by a quarter: scatter below
# twice the noise may be noise alone, and the weights of the fit handle it.
CLEARLY_MORE = 2.0


def covariance_of(residuals: Floats, columns: Floats, normal: Floats) -> tuple[Floats, float]:
    """Return the largest of four covariances, and the variance factor due to correlation.

    Parameters
    ----------
    residuals : ndarray, shape (n, m)
        With the variance they would have without the fit, in units of the standard deviation that
        their weights imply.
    columns : ndarray, shape (n, m, p)
        Derivatives of the model in the same units.
    normal : ndarray, shape (p, p)
        Slope of the score.
    """
    inverse = np.linalg.inv(normal)
    scores = np.einsum("nm,nmp->np", residuals, columns)
    n_lags = max(2, int(1.5 * scores.shape[0] ** (1.0 / 3.0)))
    independent, hac, block, turned = (
        inverse @ found @ inverse
        for found in (
            scores.T @ scores,
            hac_covariance(scores, n_lags=n_lags),
            block_covariance(scores, n_blocks=N_BLOCKS),
            _turned_covariance(residuals, columns),
        )
    )
    # The largest variance per parameter, with the correlations of the sandwich estimate.
    variances = np.array([each.diagonal() for each in (independent, hac, block, turned)])
    # A parameter that no row depends on has no variance to widen.
    usual = np.where(variances[1] > 0.0, LARGEST_OF_FOUR * variances[1], 1.0)
    wider = np.sqrt(variances.max(axis=0) / usual)
    # Where few rows hold most of the information, few degrees of freedom determine the variance
    # (Satterthwaite, "An approximate distribution of estimates of variance components",
    # Biometrics Bull. 2, 1946, doi:10.2307/3002019).
    information = np.sum(columns**2, axis=1)
    shares = information / (information.sum(axis=0) + 1e-300)
    n_free = 1.0 / (np.sum(shares**2, axis=0) + 1e-300)
    wider *= [student_widening(max(1.0, free)) for free in n_free]
    covariance: Floats = hac * wider * wider[:, None]
    return covariance, float(max(1.0, hac[0, 0] / independent[0, 0]))


def _turned_covariance(residuals: Floats, columns: Floats) -> Floats:
    """Return the mean square of the scores over all cyclic shifts of the residuals.

    Where a motion repeats, the part that the model cannot follow repeats with it: it is no more
    random than one cycle, and since the sum of the scores is zero, no sum of them shows it. Shifted
    cyclically against the columns, by all shifts, the residuals show the effect of such patterns.
    An error of the gain alone (noise of the driver reduces it) leaves residuals that look like the
    motion. It does not move the delay, and its products with the motion's derivative change sign
    with the shift. So shifts to either side are averaged.
    """
    n = residuals.shape[0]
    spectrum = np.fft.rfft(residuals, axis=0)[:, :, None].conj() * np.fft.rfft(columns, axis=0)
    turned = np.fft.irfft(spectrum.sum(axis=1), n, axis=0)
    even = (turned + np.roll(turned[::-1], 1, axis=0)) / np.sqrt(2.0)
    covariance: Floats = even.T @ even / n
    return covariance


def noise_of_motion(
    residuals: Floats, sensitivity: Floats, *, is_even: bool = False
) -> tuple[Floats, Floats]:
    """Return the noise at rest, shape (m,), and each value's scatter over it, shape (n, m).

    A sensor's noise is constant; errors of scale, axes, range, filters and timestamps grow with the
    motion. Where a recording is mostly at rest, the median residual measures only the noise, and by
    that measure all of the motion, and with it all information on the delay, would be outliers. So
    the variance is ``noise^2 + error^2 motion``, where ``motion`` is the mean square of the
    sensitivity to the delay nearby, over all columns. The error is chosen so that half of the
    information, rather than half of the values, lies within its probable error.

    Parameters
    ----------
    residuals, sensitivity : ndarray, shape (n, m)
        Of the increments, in units in which each column's noise is even.
    is_even : bool
        Whether errors do not grow with the motion: video coding suppresses most where it is slow.
    """
    noise = mad_std_of_columns(residuals) + 1e-15
    if is_even:
        return noise, np.ones_like(residuals)
    information = sensitivity**2
    motion = uniform_filter1d(information.sum(axis=1), MOTION_ROWS, mode="nearest")
    motion = np.maximum(motion, 1e-12 * motion.max() + 1e-300)[:, None]
    excess = ((MAD_TO_STD * residuals) ** 2 - CLEARLY_MORE * noise**2) / motion
    order = np.argsort(excess, axis=0)
    share = np.cumsum(np.take_along_axis(information, order, axis=0), axis=0)
    middle = np.argmax(share >= 0.5 * share[-1], axis=0)
    columns = np.arange(residuals.shape[1])
    error2 = np.maximum(excess[order[middle, columns], columns], 0.0)
    return noise, np.sqrt(1.0 + error2 * motion / noise**2)
