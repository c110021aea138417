"""Compute mean and covariance of a density of a few unknowns.

Importance sampling from a Gaussian that is fitted to the density in rounds (Cappe, Guillin, Marin &
Robert, "Population Monte Carlo", J. Comput. Graph. Stat. 13, 2004, doi:10.1198/106186004X12803), at
evenly spread points instead of random ones (Sobol's sequence). While few points bear most of the
weight, the weights are flattened by a power, so that the Gaussian moves in steps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri
from scipy.stats.qmc import Sobol

from syncaudit.model.arrays import Floats

LogDensity = Callable[[Floats], Floats]

LOG2_POINTS = 12
# The Gaussian is wider than the density: too narrow a one misses what lies outside.
WIDER = 1.2
# Minimum number of points that weigh as much as all do. Of 4096, boxes of d unknowns use about
# 0.8^d.
MIN_EFFECTIVE = 200.0
FLATTENED = 0.7
MAX_ROUNDS = 40
# Rounds with unflattened weights.
N_FINAL = 4


def moments_of(density: LogDensity, start: Floats) -> tuple[Floats, Floats]:
    """Return mean, shape (d,), and covariance, shape (d, d).

    `density` returns its logarithm at points, shape (n, d) to (n,). `start` is the initial
    covariance; the initial mean is 0.
    """
    d, step = start.shape[0], 0.5**LOG2_POINTS
    unit = ndtri(Sobol(d, scramble=False).random_base2(LOG2_POINTS) + 0.5 * step)
    mean, covariance = np.zeros(d), start
    n_final = 0
    for _ in range(MAX_ROUNDS):
        points = mean + WIDER * unit @ np.linalg.cholesky(covariance).T
        logs = density(points) + 0.5 * np.sum(unit**2, axis=1)
        logs -= logs.max()
        weights = np.exp(logs)
        n_final += 1
        while np.sum(weights) ** 2 < MIN_EFFECTIVE * np.sum(weights**2):
            weights, n_final = weights**FLATTENED, 0
        weights /= weights.sum()
        mean = weights @ points
        apart = points - mean
        covariance = (apart * weights[:, None]).T @ apart
        if n_final == N_FINAL:
            break
    return mean, covariance
