"""Compute mean and covariance of a density of few unknowns, by quadrature or by sampling.

Up to three unknowns are integrated on a grid. More are sampled by an affine-invariant ensemble
sampler, which is insensitive to their scales (Goodman & Weare, "Ensemble samplers with affine
invariance", CAMCoS 5, 2010, doi:10.2140/camcos.2010.5.65), with a fixed seed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from syncaudit.model.arrays import Floats

LogDensity = Callable[[Floats], Floats]

N_GRID = {1: 201, 2: 41, 3: 21}
N_ZOOMS = 6
GRID_SIGMAS = 5.0
N_BURN, N_KEPT = 400, 500
SEED = 20260131


def moments_of(density: LogDensity, start: Floats) -> tuple[Floats, Floats]:
    """Return mean, shape (d,), and covariance, shape (d, d).

    `density` returns its logarithm at points, shape (n, d) to (n,). `start` is the initial
    covariance; the initial mean is 0.
    """
    if start.shape[0] in N_GRID:
        return _quadrature(density, start)
    return _sampled(density, start, np.random.default_rng(SEED))


def _quadrature(density: LogDensity, start: Floats) -> tuple[Floats, Floats]:
    """Return mean and covariance on a grid that adapts to the density."""
    d = start.shape[0]
    unit = np.linspace(-GRID_SIGMAS, GRID_SIGMAS, N_GRID[d])
    grid = np.stack(np.meshgrid(*[unit] * d, indexing="ij"), axis=-1).reshape(-1, d)
    mean, covariance = np.zeros(d), start
    for _ in range(N_ZOOMS):
        points = mean + grid @ np.linalg.cholesky(covariance).T
        logs = density(points)
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        mean = weights @ points
        apart = points - mean
        step = (unit[1] - unit[0]) ** 2 * covariance / 12.0
        covariance = (apart * weights[:, None]).T @ apart + step
    return mean, covariance - step


def _sampled(density: LogDensity, start: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return mean and covariance of samples."""
    d = start.shape[0]
    half = max(16, 2 * d)
    walkers = rng.normal(size=(2, half, d)) @ np.linalg.cholesky(start).T
    logs = np.stack([density(walkers[0]), density(walkers[1])])
    kept = np.empty((N_KEPT, 2, half, d))
    for step in range(N_BURN + N_KEPT):
        for k in (0, 1):
            partner = walkers[1 - k][rng.integers(0, half, half)]
            stretch = (rng.uniform(size=half) + 1.0) ** 2 / 2.0
            tried = partner + stretch[:, None] * (walkers[k] - partner)
            new = density(tried)
            chance = (d - 1) * np.log(stretch) + new - logs[k]
            accepted = np.log(rng.uniform(size=half)) < chance
            walkers[k][accepted] = tried[accepted]
            logs[k][accepted] = new[accepted]
        if step >= N_BURN:
            kept[step - N_BURN] = walkers
    draws = kept.reshape(-1, d)
    return draws.mean(axis=0), np.atleast_2d(np.cov(draws.T))
