"""Estimate the common offset of many recordings and how much it varies between them.

Every recording has an offset of its own, ``x_k = m + b_k + e_k``: a common part, a deviation of the
recording (variance t^2), and a measurement error (variance s_k^2, claimed).
t^2 is chosen to give the weighted squares their expected size (Paule & Mandel, "Consensus values
and weighting factors", J. Res. Natl. Bur. Stand. 87, 1982, doi:10.6028/jres.087.022; the exact form
of DerSimonian & Laird, "Meta-analysis in clinical trials", Control. Clin. Trials 7, 1986,
doi:10.1016/0197-2456(86)90046-2), and the error of m follows from the observed scatter (Hartung &
Knapp, "On tests of the overall treatment effect in meta-analysis with normally distributed
responses", Stat. Med. 20, 2001, doi:10.1002/sim.791), but is never below what the claims allow.

Some recordings do not share it: a clock that was off, a measurement that is wrong. They may lie
anywhere in the search range, and each recording counts with the probability that it is not one of
them (a mixture of both: Box & Tiao, "A Bayesian approach to some outlier problems", Biometrika 55,
1968, doi:10.1093/biomet/55.1.119).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from syncaudit.dsp.robust import mad_std, student_widening
from syncaudit.model.arrays import Floats

# Prior share of recordings that have nothing in common with the others: one in twenty, worth as
# much as two recordings.
PRIOR_OUTLYING = 0.05
PRIOR_COUNT = 2.0
N_ROUNDS = 60
SMALLEST_S = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RandomEffects:
    """Result of `fit_random_effects`."""

    # Common value and its standard error: the 95 % interval is 1.96 of it to either side.
    mean: float
    std: float
    between: float  # standard deviation between recordings, beyond their measurement errors
    # Probability that measurements without any such scatter scatter as much (Cochran's Q).
    chance: float
    share: Floats  # shape (n,): probability of each value to belong to the others
    # Share of values that do not, and the range in which they may lie.
    outlying: float
    width: float

    def share_of(self, values: Floats, stds: Floats) -> Floats:
        """Return the probability that values, shape (n,), share the common value."""
        total = np.maximum(stds, SMALLEST_S) ** 2 + self.between**2
        return _share(values, total, self.mean, self.outlying, self.width)


def fit_random_effects(values: Floats, stds: Floats, *, width: float) -> RandomEffects:
    """Estimate the common value of measurements with known errors.

    Parameters
    ----------
    values, stds : ndarray, shape (n,), n >= 1
        Measurements with their standard errors, all positive.
    width : float
        Width of the range in which values with nothing in common may lie.
    """
    variance = np.maximum(stds, SMALLEST_S) ** 2
    mean = float(np.median(values))
    between2 = max(0.0, mad_std(values - mean) ** 2 - float(np.median(variance)))
    outlying = PRIOR_OUTLYING
    share = np.ones(values.size)
    for _ in range(N_ROUNDS):
        before = (mean, between2, outlying)
        total = variance + between2
        share = _share(values, total, mean, outlying, width)
        outlying = (PRIOR_OUTLYING * PRIOR_COUNT + float(np.sum(1.0 - share))) / (
            PRIOR_COUNT + values.size
        )
        if float(share.sum()) < 1.0:
            break
        between2 = _between(values, variance, share)
        mean = float(np.average(values, weights=share / (variance + between2)))
        if np.allclose(before, (mean, between2, outlying), rtol=1e-7, atol=1e-15):
            break
    weights = share / (variance + between2)
    n_free = max(1.0, float(share.sum()) - 1.0)
    claimed = 1.0 / float(weights.sum())
    seen = claimed * float(np.sum(weights * (values - mean) ** 2)) / n_free
    return RandomEffects(
        mean=mean,
        std=math.sqrt(max(claimed, seen * student_widening(n_free) ** 2)),
        between=math.sqrt(between2),
        chance=float(chdtrc(n_free, _squares(values, variance, share))),
        share=share,
        outlying=outlying,
        width=width,
    )


def _share(values: Floats, variance: Floats, mean: float, outlying: float, width: float) -> Floats:
    """Return the probability of each value to belong to the others, shape (n,)."""
    like = np.exp(-0.5 * (values - mean) ** 2 / variance) / np.sqrt(2.0 * math.pi * variance)
    return np.asarray((1.0 - outlying) * like / ((1.0 - outlying) * like + outlying / width))


def _squares(values: Floats, variance: Floats, share: Floats) -> float:
    """Return the weighted squares around the weighted mean."""
    weights = share / variance
    return float(np.sum(weights * (values - np.average(values, weights=weights)) ** 2))


def _between(values: Floats, variance: Floats, share: Floats) -> float:
    """Return the variance between values that gives their squares the expected size."""
    n_free = float(share.sum()) - 1.0
    low, high = 0.0, float(np.ptp(values)) ** 2 + SMALLEST_S**2
    if n_free <= 0.0 or _squares(values, variance, share) <= n_free:
        return 0.0
    for _ in range(44):  # squares fall as the variance grows
        middle = 0.5 * (low + high)
        if _squares(values, variance + middle, share) > n_free:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
