"""Widen errors that were estimated from few flashes: Student's t instead of a Gaussian."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtri, stdtrit

from syncaudit.model.arrays import Bools, Floats
from syncaudit_calibration.normal_equations import Noise, Solution
from syncaudit_calibration.observations import Observations
from syncaudit_calibration.variances import Groups

P_95 = 0.975


def widened(
    observations: Observations, solution: Solution, groups: Groups, noise: Noise, is_point: Bools
) -> Solution:
    """Return the solution with errors widened, because jitters are estimates themselves.

    With variances estimated from few flashes, normalised errors follow Student's t instead of a
    Gaussian (Satterthwaite, "An approximate distribution of estimates of variance components",
    Biometrics Bulletin 2, 1946, doi:10.2307/3002019): errors are scaled so that 1.96 of them cover
    95 %. The degrees of freedom of a source are the redundancy of the flashes that it saw, limited
    by the number of its own observations.
    """
    redundancy = _redundancy(observations, solution, groups, noise, is_point)
    factor = np.ones(len(observations.unknowns))
    for s, name in enumerate(observations.sources):
        own = (observations.source == s) & is_point
        if not own.any():
            continue
        columns = [k for k, unknown in enumerate(observations.unknowns) if unknown.source == name]
        seen = np.unique(observations.flash[own])
        n_own = np.unique(groups.group[own]).size
        freedom = max(2.0, min(redundancy[seen].sum(), n_own - 2.0))
        factor[columns] = stdtrit(freedom, P_95) / ndtri(P_95)
    return replace(solution, covariance=solution.covariance * np.outer(factor, factor))


def _redundancy(
    observations: Observations, solution: Solution, groups: Groups, noise: Noise, is_point: Bools
) -> Floats:
    """Return the redundancy of the observations of each flash, timestamps counted once."""
    used = np.flatnonzero(is_point)
    flash = np.zeros(noise.common.size, dtype=np.int64)
    flash[groups.group[used]] = observations.flash[used]
    spread = solution.variance_of(noise.mean_of(solution.design), flash)
    total = noise.total
    variance = noise.common + 1.0 / np.maximum(total, 1e-300)
    has_say = np.bincount(groups.group, weights=is_point, minlength=total.size) > 0
    left = np.where(has_say, np.clip(1.0 - spread / variance, 0.0, 1.0), 0.0)
    found = np.bincount(flash, weights=left, minlength=observations.flash_s.size)
    return found.astype(np.float64)
