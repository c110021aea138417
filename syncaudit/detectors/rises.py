"""Date onsets by the rise that all knocks of one sensor share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEVEL", "N_BEFORE", "date_rises"]

Floats = NDArray[np.float64]

# Share of its largest swing at which a knock is noticed, and the samples before it that are looked
# at: filters of a tenth of the sampling rate take some eight to rise so far.
LEVEL = 0.3
N_BEFORE = 12
# A jump that a filter of order m follows, or a ring that begins from rest, rises with the power m
# (or m + 1) of the time; towards 30 % an exponential flattens below the first.
POWERS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
# Samples from onset to level; half-normal as nearly all sensors filter at an eighth of the sampling
# rate or above.
LENGTHS = np.concatenate([[0.0], np.geomspace(0.05, 8.0, 40)])
USUAL_LENGTH = 2.0
# Where between two samples the level was reached.
PHASES = (np.arange(24) + 0.5) / 24
# The largest swing is sampled, too, and knocks are not all alike: a knock's rise differs from the
# shared one by so much of itself, and now and then by more (Student's t).
SHAPE_SHARE, SHAPE_FLOOR, FREEDOM = 0.3, 0.003, 3.0
# What powers leave of the rises of real filters, in samples and of the length: common to all.
MISFIT, MISFIT_SHARE = 0.05, 0.1
# More knocks tell nothing more of the rise.
MAX_KNOCKS = 64
MIN_WEIGHT = 1e-3


def date_rises(before: Floats, noise: Floats) -> tuple[Floats, Floats, float]:
    """Return how long after its onset each knock was noticed.

    All knocks rise alike, ``LEVEL (t / T)^p``, by a sensor's filter and a body's first swing that
    nobody states; each meets the samples at another phase, so that many knocks show the rise
    between the samples. Of length T and power p the posterior is taken on a grid; what it leaves
    of the onset is common to all knocks.

    Parameters
    ----------
    before : ndarray, shape (n, N_BEFORE)
        The samples before the one at which each knock was noticed, the latest first, over its
        largest swing, positive in the direction in which it reached the level.
    noise : ndarray, shape (n,)
        One sigma of them.

    Returns
    -------
    ages, stds : ndarray, shape (n,)
        Samples from the onset to the sample at which the knock was noticed; the error of each.
    systematic_std : float
        The error that all share, in samples.
    """
    noise = np.maximum(noise, 0.5 * np.median(noise))
    rises = [(power, length) for power in POWERS for length in LENGTHS.tolist()]
    sharpest = np.argsort(noise, kind="stable")[:MAX_KNOCKS]
    score = np.array([_fit(before[sharpest], noise[sharpest], *rise)[0] for rise in rises])
    prior = np.exp(-0.5 * (LENGTHS / USUAL_LENGTH) ** 2) * np.gradient(LENGTHS)
    weights = np.exp(score - score.max()) * np.tile(prior, len(POWERS))
    weights /= weights.sum()
    kept = np.flatnonzero(weights > MIN_WEIGHT * weights.max())
    weights = weights[kept] / weights[kept].sum()
    ages = np.zeros((kept.size, noise.size))
    variances = np.zeros_like(ages)
    for row, k in enumerate(kept.tolist()):
        _, phases, variances[row] = _fit(before, noise, *rises[k])
        ages[row] = rises[k][1] + phases
    shared = ages.mean(axis=1)
    age = float(weights @ shared)
    random_stds = np.sqrt(weights @ variances)
    spread = float(weights @ (shared - age) ** 2)
    systematic = np.sqrt(spread + MISFIT**2 + (MISFIT_SHARE * age) ** 2)
    return weights @ ages, random_stds, float(systematic)


def _fit(
    before: Floats, noise: Floats, power: float, length: float
) -> tuple[float, Floats, Floats]:
    """Return the log likelihood of a rise, and mean and variance of every knock's phase."""
    since = np.maximum(length + PHASES[:, None] - np.arange(1, before.shape[1] + 1), 0.0)
    rise = LEVEL * (since / length) ** power if length else np.zeros_like(since)
    variance = noise[:, None, None] ** 2 + (SHAPE_SHARE * rise) ** 2 + SHAPE_FLOOR**2
    misfit = np.log1p((before[:, None, :] - rise) ** 2 / (FREEDOM * variance))
    score = -0.5 * (np.log(variance) + (FREEDOM + 1.0) * misfit).sum(axis=2)
    best = score.max(axis=1, keepdims=True)
    likelihood = np.exp(score - best)
    mean = likelihood.mean(axis=1)
    weights = likelihood / likelihood.sum(axis=1, keepdims=True)
    phases = weights @ PHASES
    return float((best[:, 0] + np.log(mean)).sum()), phases, weights @ PHASES**2 - phases**2
