"""Compute medians, quantiles, robust scale and weights, and the variance of correlated scores.

`numpy.median` and `numpy.quantile` handle any shape, axis and masked values; on the few hundred
stamps of a clip that generality costs ten times as much as the selection itself.

Estimate the common offset of many recordings and how much it varies between them.

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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from syncaudit.model.arrays import Bools, Floats, Ints

# Consistency of the median absolute deviation with the normal distribution.
MAD_TO_STD = 1.4826
# 95 % efficiency at the normal distribution for the Cauchy weight function (Holland & Welsch,
# "Robust regression using iteratively reweighted least-squares", 1977).
CAUCHY_TUNING = 2.385
# Up to this many numbers, NumPy's vectorised sort is faster than its selection.
_FEW = 1024

# Prior share of recordings that have nothing in common with the others: one in twenty, worth as
# much as two recordings.
PRIOR_OUTLYING = 0.05
PRIOR_COUNT = 2.0
N_ROUNDS = 60
SMALLEST_S = 1e-9


def mad_std(values: Floats) -> float:
    """Return the median absolute value around zero, scaled to a standard deviation."""
    if values.size == 0:
        return 0.0
    # The upper median by partition: np.median costs four times as much on small arrays.
    middle = values.size // 2
    return MAD_TO_STD * float(np.partition(np.abs(values).ravel(), middle)[middle])


def mad_std_of_columns(values: Floats) -> Floats:
    """Return `mad_std` of each column of an (n, m) array, n >= 1, shape (m,)."""
    return np.asarray(MAD_TO_STD * np.sort(np.abs(values.T))[:, values.shape[0] // 2])


def mad_std_of_rows(values: Floats, is_value: Bools) -> Floats:
    """Return `mad_std` of each row of an (m, n) array over its valid values, shape (m,)."""
    ordered = np.sort(np.where(is_value, np.abs(values), np.inf), axis=1)
    count = is_value.sum(axis=1)
    middle = ordered[np.arange(len(ordered)), np.minimum(count // 2, ordered.shape[1] - 1)]
    return np.where(count > 0, MAD_TO_STD * middle, 0.0)


def cauchy_weights(scaled: Floats) -> Floats:
    """Return Cauchy weights in (0, 1] for residuals in units of their standard deviation."""
    weights: Floats = 1.0 / (1.0 + (scaled / CAUCHY_TUNING) ** 2)
    return weights


def hac_covariance(scores: Floats, *, n_lags: int) -> Floats:
    """Return the covariance of the sum of serially correlated scores.

    Bartlett kernel (Newey & West, "A simple, positive semi-definite, heteroskedasticity and
    autocorrelation consistent covariance matrix", Econometrica 55, 1987, doi:10.2307/1913610): a
    window slid along the scores contains a pair as often as the kernel weights it, so the mean
    square of the window sums equals that of the scores.

    Parameters
    ----------
    scores : ndarray, shape (n, p)
        Zero-mean scores in time order.
    n_lags : int
        Bandwidth; correlation beyond it is taken as zero.

    Returns
    -------
    ndarray, shape (p, p)
        Covariance of ``scores.sum(axis=0)``.
    """
    n, width = scores.shape[0], n_lags + 1
    total = np.zeros((n + 2 * width - 1, scores.shape[1]))
    np.cumsum(scores, axis=0, out=total[width : width + n])
    total[width + n :] = total[width + n - 1]
    sums = total[width:] - total[:-width]
    return np.asarray(sums.T @ sums / width)


def block_covariance(scores: Floats, *, n_blocks: int) -> Floats:
    """Return the covariance of the sum of scores from the scatter of disjoint blocks.

    The delete-a-block jackknife in its infinitesimal form (Künsch, "The jackknife and the
    bootstrap for general stationary observations", Ann. Stat. 17, 1989,
    doi:10.1214/aos/1176347265): dependence inside a block, of whatever form, is kept.

    Parameters
    ----------
    scores : ndarray, shape (n, p)
        Zero-mean scores in time order.
    n_blocks : int
        Number of blocks of equal length.

    Returns
    -------
    ndarray, shape (p, p)
        Covariance of ``scores.sum(axis=0)``.
    """
    each, extra = divmod(scores.shape[0], n_blocks)
    block = np.arange(n_blocks + 1)
    total = np.concatenate([np.zeros((1, scores.shape[1])), scores]).cumsum(axis=0)
    borders = total[each * block + np.minimum(block, extra)]
    sums = borders[1:] - borders[:-1]
    centred = sums - sums.mean(axis=0)
    covariance: Floats = n_blocks / (n_blocks - 1.0) * (centred.T @ centred)
    return covariance


def jackknife_std(estimates: Floats) -> float:
    """Return the standard error of an estimate from those that leave out one of n blocks each.

    Efron, Stein ("The jackknife estimate of variance", Ann. Stat. 9, 1981,
    doi:10.1214/aos/1176345462).
    """
    n = estimates.size
    return float(np.sqrt((n - 1) / n * np.sum((estimates - np.mean(estimates)) ** 2)))


def student_widening(n_free: float) -> float:
    """Return the factor by which n degrees of freedom widen 95 % intervals.

    Student ("The probable error of a mean", Biometrika 6, 1908, doi:10.1093/biomet/6.1.1): the
    quantile of his t over 1.96, which multiplies a standard error. At least one degree.
    """
    from scipy.special import stdtrit  # a third of the start of commands that measure nothing

    return float(stdtrit(n_free, 0.975)) / 1.96


def median(values: NDArray[Any]) -> float:
    """Return the median of at least one number, none of them NaN.

    Parameters
    ----------
    values : ndarray, shape (n,)
        In any order; not modified.
    """
    middle = values.size // 2
    ordered = values.copy()
    if values.size <= _FEW:
        ordered.sort()
        upper, lower = float(ordered[middle]), float(ordered[middle - 1])
    else:
        ordered.partition(middle)
        upper, lower = float(ordered[middle]), float(ordered[:middle].max())
    return upper if values.size % 2 else (lower + upper) / 2.0


def spread(values: Floats, centre: float | None = None) -> float:
    """Return the standard deviation implied by the median distance from the median or `centre`.

    For an even number of distances this uses the mean of the two middle ones, `mad_std` the upper.
    """
    centre = median(values) if centre is None else centre
    return MAD_TO_STD * median(np.abs(values - centre))


def median_of_five(values: Floats) -> Floats:
    """Return the running median over five neighbours, with the end values repeated.

    The median of five is the median of three: the centre, the larger of the minima of the two pairs
    around it, and the smaller of their maxima. No sorting is needed.

    Parameters
    ----------
    values : ndarray, shape (..., n)
        At least one number on the last axis, along which it runs; none of them NaN.

    Returns
    -------
    ndarray, shape (..., n)
        Equal to ``scipy.ndimage.median_filter(values, size=5, mode="nearest")``.
    """
    padded = np.empty((*values.shape[:-1], values.shape[-1] + 4))
    padded[..., 2:-2] = values
    padded[..., :2], padded[..., -2:] = values[..., :1], values[..., -1:]
    # Treat all rows as one: neighbours of two rows meet only within the padding.
    line = padded.reshape(-1)
    least = np.minimum(line[:-1], line[1:])
    most = np.maximum(line[:-1], line[1:])
    low = np.maximum(least[:-3], least[3:])
    high = np.minimum(most[:-3], most[3:])
    above = np.maximum(low, high)
    np.minimum(low, high, out=low)
    np.minimum(above, line[2:-2], out=above)
    np.maximum(low, above, out=line[2:-2])
    return padded[..., 2:-2]


def quantiles(values: Floats, shares: Sequence[float]) -> list[float]:
    """Return linearly interpolated quantiles of at least one number, none of them NaN.

    Parameters
    ----------
    values : ndarray, shape (n,)
        In any order.
    shares : sequence of float
        From 0 to 1.
    """
    ordered = np.sort(values)
    found = []
    for share in shares:
        place = share * (ordered.size - 1)
        below = int(place)
        part = place - below
        low, high = float(ordered[below]), float(ordered[min(below + 1, ordered.size - 1)])
        # Interpolate from the nearer neighbour, as NumPy does: monotonic in the share.
        step = high - low
        found.append(low + step * part if part < 0.5 else high - step * (1.0 - part))
    return found


def nearest_quantiles(values: Ints, shares: Sequence[float]) -> list[int]:
    """Return those of one or more integers that are nearest to the quantiles.

    Parameters
    ----------
    values : ndarray of int64, shape (n,)
        In any order; not modified.
    shares : sequence of float
        From 0 to 1; halfway between two positions the even one is used.
    """
    places = [round(share * (values.size - 1)) for share in shares]
    if places == [0, values.size - 1]:
        return [values.item(values.argmin()), values.item(values.argmax())]
    ordered = values.copy()
    if values.size <= _FEW:
        ordered.sort()
    else:
        ordered.partition(places)
    return [ordered.item(place) for place in places]


def robust_line(x: Floats, y: Floats) -> tuple[float, float]:
    """Return slope and intercept of a line through (x, y), down-weighting outliers.

    Iterated reweighted least squares with Tukey's biweight (Holland, Welsch, "Robust regression
    using iteratively reweighted least-squares", 1977, doi:10.1080/03610927708827533), started
    from the medians of the outer thirds. Fails if more than about a third are outliers.

    Parameters
    ----------
    x, y : ndarray, shape (n,)
        At least two points with different `x`.
    """
    n = x.size
    third = max(1, n // 3)
    apart = median(x[-third:]) - median(x[:third])
    slope = (median(y[-third:]) - median(y[:third])) / apart if apart else 0.0
    level = median(y - slope * x)
    for _ in range(4):
        rest = y - slope * x
        rest -= level
        distance = np.abs(rest)
        scale = MAD_TO_STD * median(distance)
        if scale <= 0.0:
            break
        distance /= 4.685 * scale
        u = np.minimum(distance, 1.0, out=distance)
        weight = 1.0 - u * u
        weight *= weight
        total = float(np.add.reduce(weight))
        mean_x = float(weight.dot(x)) / total
        mean_rest = float(weight.dot(rest)) / total
        from_mean = x - mean_x
        weight *= from_mean
        var = float(weight.dot(from_mean))
        if var <= 0.0:
            break
        change = float(weight.dot(rest)) / var
        slope += change
        level += mean_rest - change * mean_x
    return slope, level


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
