"""Compute medians, quantiles, robust scale and weights, and the variance of correlated scores.

`numpy.median` and `numpy.quantile` handle any shape, axis and masked values; on the few hundred
stamps of a clip that generality costs ten times as much as the selection itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.model.arrays import Bools, Floats, Ints

# Consistency of the median absolute deviation with the normal distribution.
MAD_TO_STD = 1.4826
# 95 % efficiency at the normal distribution for the Cauchy weight function (Holland & Welsch,
# "Robust regression using iteratively reweighted least-squares", 1977).
CAUCHY_TUNING = 2.385
# Up to this many numbers, NumPy's vectorised sort is faster than its selection.
_FEW = 1024


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
