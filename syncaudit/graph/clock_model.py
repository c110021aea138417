"""What describes a wandering clock: readings, candidate strengths of noise, what they say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.model.arrays import Floats

__all__ = ["RATE_STD", "Noise", "Readings", "Smoothed"]

# Prior of the rate at the first reading: crystals of any make stay within 100 ppm.
RATE_STD = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """What clips read of one clock.

    Parameters
    ----------
    times_s : ndarray, shape (n,)
        Increasing.
    offsets_s : ndarray, shape (n,)
        Readings; of any one number where the precision is zero, but not so first and last.
    precision : ndarray, shape (n,)
        Inverse variances.
    step_std_s : float
        Prior of the steps that are known, far more than an error of a reading.
    """

    times_s: Floats
    offsets_s: Floats
    precision: Floats
    step_std_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Candidate strengths of what moves a clock and blurs its readings, each of shape (h,).

    Parameters
    ----------
    offset : ndarray
        Random walk of the offset, seconds per root second.
    rate : ndarray
        Random walk of the rate, per root second.
    scale : ndarray
        Errors of the readings over what they claim.
    """

    offset: Floats
    rate: Floats
    scale: Floats

    def only(self, which: NDArray[np.intp]) -> Noise:
        """Return some of the candidates."""
        return Noise(offset=self.offset[which], rate=self.rate[which], scale=self.scale[which])


@dataclass(frozen=True, slots=True, kw_only=True)
class Smoothed:
    """What all readings together say, for each of h noises.

    Parameters
    ----------
    offset_s, offset_variance : ndarray, shape (n, h)
        Of the clock at every reading.
    end_rate, end_rate_variance, end_covariance : ndarray, shape (2, h)
        Rate at the first and at the last reading, its variance, and its covariance with the offset.
    deleted_s, deleted_variance : ndarray, shape (n, h)
        A reading less what all others say of it, and the variance of that; 0 where nothing was
        read.
    step_s, step_variance : ndarray, shape (n, h)
        Best step between this reading and the next; where there is one already, that one's.
    drift, drift_variance : ndarray, shape (h,)
        Mean rate from the first to the last reading, steps not counted.
    minus_2ll : ndarray, shape (h,)
        Minus twice the log-likelihood, less a constant.
    """

    offset_s: Floats
    offset_variance: Floats
    end_rate: Floats
    end_rate_variance: Floats
    end_covariance: Floats
    deleted_s: Floats
    deleted_variance: Floats
    step_s: Floats
    step_variance: Floats
    drift: Floats
    drift_variance: Floats
    minus_2ll: Floats
