"""Solve clocks that intervals constrain: place them by least squares, then sample the posterior.

N intervals of width w determine an offset to about w / N, since those that nearly missed a flash
bound it; treating them as Gaussians of variance w^2 / 12 would give w / sqrt(12 N). The likelihood
of the bounds is:

* A flash dated by points at ``m +- s`` lies within the interval ``[a, b]``, whose ends are soft
  by q: ``Phi((b - m) / Q) - Phi((a - m) / Q)`` with ``Q^2 = q^2 + s^2``. This bounds the clock of
  the source with the interval and the clocks of the sources whose points date the flash.
* A flash seen only as intervals requires that they overlap: ``Phi((min b - max a) / Q)``. How far
  they do says more only if its instant is evenly distributed, which that of a light that keeps its
  phase to the frames, or of a pulse that the time between exposures hides, is not.

The information from points on the same clocks is included. If enough flashes are dated, each source
is handled separately, together with those that date its intervals; otherwise all are handled
jointly (`_moments_of`).

An interval only constrains the flash to lie inside. In the least squares, it is a parabola that
becomes steep outside of it. Within the interval, the penalty is that of a Gaussian of the same mean
and variance; outside, it grows according to the sharpness of the ends. It is convex, and its
curvature lies between those of a wide and a sharp Gaussian, so that the solution exists and damped
Newton steps converge. This places the clocks; the posterior then gives their mean and errors.

Mean and covariance of the posterior are computed by importance sampling from a Gaussian that is
fitted to the density in rounds (Cappe, Guillin, Marin & Robert, "Population Monte Carlo", J.
Comput. Graph. Stat. 13, 2004, doi:10.1198/106186004X12803), at evenly spread points instead of
random ones (Sobol's sequence). While few points bear most of the weight, the weights are flattened
by a power, so that the Gaussian moves in steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.special import log_ndtr, ndtr, ndtri
from scipy.stats.qmc import Sobol

from syncaudit.model.arrays import Bools, Floats
from syncaudit_calibration.normal_equations import Noise, Solution, residuals_of, solve
from syncaudit_calibration.observations import Observations

CLOCK, LATENCIES = ("offset", "drift"), ("half_light", "length")
# With at least this many dated flashes bounding it, a clock does not need flashes that are seen
# only as intervals.
MIN_DATED = 5
# If points determine a clock to this fraction of half an interval, intervals hardly improve it.
MAX_STD_SHARE = 0.05
# Log-likelihood at five sigmas: intervals missed by more were rejected before.
MIN_LOG = -12.5

# Sharpness of the ends in half widths: enough to place a clock; sharper ends need more iterations.
END_SHARE = 0.05
DAMPING = 0.6

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


class _Dates:
    """Times of the flashes from points, as functions of the sought unknowns.

    `columns` are the sought unknowns, among all unknowns; `is_dated`, shape (f,): whether points
    date the flash.
    """

    def __init__(
        self, solution: Solution, by_points: Solution, is_dated: Bools, columns: list[int]
    ) -> None:
        self.columns, self.is_dated = columns, is_dated
        # Regression of the flashes on these clocks, using covariance factors for numerical
        # stability: the priors are seconds wide.
        of_flash, of_clock = by_points.share @ by_points.factor, by_points.factor[columns]
        found = np.linalg.lstsq(of_clock.T, of_flash.T, rcond=None)[0]
        self.terms: Floats = np.where(is_dated[:, None], found.T, 0.0)
        """Derivatives of the times by the sought unknowns, shape (f, d)."""
        rest = of_flash - self.terms @ of_clock
        centre = (by_points.x - solution.x)[columns]
        self.time_s: Floats = np.where(is_dated, by_points.flash_s - self.terms @ centre, 0.0)
        """Times with the clocks of the solution, shape (f,); 0 for other flashes."""
        self.variance = by_points.own_var + np.einsum("ij,ij->i", rest, rest)
        """Their variances, given these clocks."""


def refine_boxes(
    observations: Observations, solution: Solution, noise: Noise, is_used: Bools
) -> Solution:
    """Refine the clocks of sources with intervals, and their errors, by the posterior of bounds.

    `solution` treats intervals as Gaussians, with the covariance `noise`; `is_used`, shape (n,), is
    false for outliers.
    """
    is_box = observations.half_s > 0.0
    use = is_box & is_used
    dated, by_points = _by_points(observations, solution, noise, is_box)
    has_say = _has_say(observations, noise.weights * ~is_box, use)
    half_s = observations.half_s[use]
    sought: dict[int, list[int]] = {}
    for k, name in enumerate(observations.sources):
        columns = [c for kind in CLOCK if (c := observations.column(kind, name)) is not None]
        if columns and has_say[:, k].any():
            offset_std_s = np.sqrt(by_points.covariance[columns[0], columns[0]])
            if offset_std_s > MAX_STD_SHARE * np.median(half_s[has_say[:, k]]):
                sought[k] = columns + observations.steps(name)
    if not sought:
        return solution
    gaussian = solution
    has_say = has_say[:, list(sought)]
    is_dated = dated[observations.flash[use]]
    if np.all(np.count_nonzero(has_say[is_dated], axis=0) >= MIN_DATED):
        has_say = has_say & is_dated[:, None]
        _, group = connected_components(has_say.T.astype(np.int64) @ has_say, directed=False)
    else:
        has_say, group = np.ones(has_say.shape, dtype=np.bool_), np.zeros(len(sought), np.int64)
    for number in range(group.max() + 1):
        own = group == number
        columns = [
            c for k, is_own in zip(sought, own.tolist(), strict=True) if is_own for c in sought[k]
        ]
        which = use.copy()
        which[use] = has_say[:, own].any(axis=1)
        dates = _Dates(solution, by_points, dated, columns)
        density = _density(observations, solution, which, dates)
        density = _with_points(density, solution, by_points, columns)
        start = solution.covariance[np.ix_(columns, columns)]
        mean, covariance = _moments_of(density, start)
        covariance = covariance + _by_latencies(observations, gaussian, columns, which)
        solution = _moved(solution, dates, mean, covariance)
    return solution


def _by_latencies(
    observations: Observations, gaussian: Solution, columns: list[int], which: Bools
) -> Floats:
    """Return the covariance of some clocks due to what else moves their intervals, all alike.

    That is the latency of half-light, and the length of lights: the density takes them as known.
    """
    others = [
        c
        for c, unknown in enumerate(observations.unknowns)
        if unknown.kind in LATENCIES and gaussian.design[which, c].any()
    ]
    shared = gaussian.covariance[np.ix_(columns, others)]
    own = gaussian.covariance[np.ix_(others, others)]
    return shared @ np.linalg.pinv(own) @ shared.T


def _has_say(observations: Observations, point_weights: Floats, use: Bools) -> Bools:
    """Return which sources' clocks each interval constrains, shape (n, s).

    These are its own source and the sources whose points date its flash.
    """
    dates = np.zeros((observations.flash_s.size, len(observations.sources)), dtype=np.bool_)
    is_point = point_weights > 0.0
    dates[observations.flash[is_point], observations.source[is_point]] = True
    has_say: Bools = dates[observations.flash[use]]
    has_say[np.arange(has_say.shape[0]), observations.source[use]] = True
    return has_say


def _by_points(
    observations: Observations, solution: Solution, noise: Noise, is_box: Bools
) -> tuple[Bools, Solution]:
    """Return which flashes are dated by points, and the solution from points alone."""
    weights = np.where(is_box, 0.0, noise.weights)
    n_flashes = observations.flash_s.size
    dated = np.bincount(observations.flash, weights=weights, minlength=n_flashes) > 0.0
    if not dated.any():
        prior = observations.prior_std
        return dated, replace(solution, x=np.zeros(prior.size), covariance=np.diag(prior**2))
    return dated, solve(
        observations, solution, np.zeros(weights.size), replace(noise, weights=weights)
    )


def _with_points(
    density: LogDensity, solution: Solution, by_points: Solution, columns: list[int]
) -> LogDensity:
    """Return the density multiplied by the Gaussian from points for the same clocks."""
    centre = (by_points.x - solution.x)[columns]
    precision = np.linalg.inv(by_points.covariance[np.ix_(columns, columns)])

    def with_points(theta: Floats) -> Floats:
        off = theta - centre
        return np.asarray(density(theta) - 0.5 * np.einsum("ni,ij,nj->n", off, precision, off))

    return with_points


def _log_inside(a: Floats, b: Floats) -> Floats:
    """Return ``log(Phi(b) - Phi(a))`` for a < b, not below `MIN_LOG`."""
    inside = np.where(a + b > 0.0, ndtr(-a) - ndtr(-b), ndtr(b) - ndtr(a))
    return np.log(np.maximum(inside, np.exp(MIN_LOG)))


def _density(
    observations: Observations, solution: Solution, use: Bools, dates: _Dates
) -> LogDensity:
    """Return the log-likelihood of the clocks given the intervals, around the solution.

    The ends of an interval are relative to the date of its flash, if there is one.
    """
    flash = observations.flash[use]
    middle = residuals_of(observations, solution)[use] + solution.flash_s[flash]
    middle -= dates.time_s[flash]
    terms = solution.design[use][:, dates.columns] - dates.terms[flash]
    order = np.argsort(flash, kind="stable")
    flash, middle, terms = flash[order], middle[order], terms[order]
    half, q = observations.half_s[use][order], observations.std_s[use][order]
    low, high = middle - half, middle + half
    first = np.flatnonzero(np.concatenate([[True], np.diff(flash) > 0]))
    numbers = flash[first]
    softness = np.sqrt(np.add.reduceat(q**2, first) / np.diff(np.append(first, q.size)))
    is_dated = dates.is_dated[numbers]
    spread = np.sqrt(softness**2 + dates.variance[numbers])
    both = np.sqrt(2.0) * softness

    def density(theta: Floats) -> Floats:
        moved = theta @ terms.T
        last_low = np.maximum.reduceat(low + moved, first, axis=1)
        first_high = np.minimum.reduceat(high + moved, first, axis=1)
        by_date = _log_inside(last_low / spread, np.maximum(first_high, last_low) / spread)
        by_overlap = np.maximum(log_ndtr((first_high - last_low) / both), MIN_LOG)
        return np.asarray(np.where(is_dated, by_date, by_overlap).sum(axis=1))

    return density


def _moved(solution: Solution, dates: _Dates, mean: Floats, covariance: Floats) -> Solution:
    """Return the solution with refined unknowns and the flashes moved accordingly."""
    columns = dates.columns
    x, whole = solution.x.copy(), solution.covariance.copy()
    x[columns] += mean
    whole[columns, :] = 0.0
    whole[:, columns] = 0.0
    whole[np.ix_(columns, columns)] = covariance
    return replace(solution, x=x, covariance=whole, flash_s=solution.flash_s + dates.terms @ mean)


def bend_boxes(
    observations: Observations,
    residuals: Floats,
    mean: Floats,
    variance: Floats,
    is_box: Bools,
) -> tuple[Floats, Floats]:
    """Return the Gaussians that approximate the boxes' penalties at the solution.

    `residuals`, shape (n,), are those of the solution, `mean` and `variance` the current Gaussians;
    those of `is_box` are replaced.
    """
    half, soft, off = observations.half_s[is_box], observations.std_s[is_box], residuals[is_box]
    inside_var = half**2 / 3.0 + soft**2
    end_var = np.maximum(soft, END_SHARE * half) ** 2
    is_out = np.abs(off) > half
    new_variance = np.where(is_out, end_var, inside_var)
    new_mean = np.where(is_out, np.sign(off) * half * (1.0 - end_var / inside_var), 0.0)
    # Damp in the natural parameters; otherwise boxes that share an unknown would oscillate.
    old_mean, old_variance = mean[is_box], variance[is_box]
    information = (1.0 - DAMPING) / old_variance + DAMPING / new_variance
    shift = (1.0 - DAMPING) * old_mean / old_variance + DAMPING * new_mean / new_variance
    mean, variance = mean.copy(), variance.copy()
    variance[is_box] = 1.0 / information
    mean[is_box] = shift / information
    return mean, variance


def _moments_of(density: LogDensity, start: Floats) -> tuple[Floats, Floats]:
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
