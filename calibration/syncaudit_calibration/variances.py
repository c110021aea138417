"""Estimate timestamp jitter and detection errors from the residuals, and how well they are known.

Restricted maximum likelihood (Patterson & Thompson, Biometrika 58, 1971,
doi:10.1093/biomet/58.3.545) for two variances per source: that of the timestamps, common to all
observations in a frame, and the stated variance of the detections times a factor. The fixed point
of ``s <- s * q / t`` with ``q = y' P dV/ds P y`` and ``t = trace(P dV/ds)`` solves the likelihood
equations (almost unbiased estimate; Foerstner, "Ein Verfahren zur Schaetzung von Varianz- und
Kovarianzkomponenten", AVN 86, 1979). Components stay positive, and those that the data cannot
separate, like the jitters of only two sources, keep their initial ratio and share the variance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri, stdtrit

from syncaudit.model.arrays import Bools, Floats, Ints
from syncaudit_calibration.normal_equations import Noise, Solution, line_delays_s
from syncaudit_calibration.observations import Observations
from syncaudit_calibration.unknowns import prior_rows

# Minimum number of groups with at least two observations to estimate the detection errors.
MIN_PAIRS = 5
MAX_FACTOR = 4.0
P_95 = 0.975
# Jitter below this is irrelevant; the bound keeps the iteration from getting stuck at zero.
MIN_JITTER_S = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """Observations of a flash in one frame."""

    group: Ints  # shape (n,): group of every observation
    source: Ints  # shape (g,): source of every group
    flash: Ints  # shape (g,): its flash
    # shape (g,): number of flashes in the same frame: their common error is treated as independent
    # per flash, so its variance is multiplied by this
    multiplicity: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scatter:
    """Errors of each source."""

    jitter_s: Floats  # shape (s,): standard deviation of the timestamps
    scale: Floats  # shape (s,): factor on the stated errors of detections, at least 1


def grouped(observations: Observations) -> Groups:
    """Group the observations that share a timestamp error."""
    keys = np.stack([observations.source, observations.frame, observations.flash])
    unique, group = np.unique(keys, axis=1, return_inverse=True)
    _, frame, count = np.unique(unique[:2], axis=1, return_inverse=True, return_counts=True)
    return Groups(
        group=group.reshape(-1).astype(np.int64),
        source=unique[0].astype(np.int64),
        flash=unique[2].astype(np.int64),
        multiplicity=count[frame.reshape(-1)].astype(np.float64),
    )


def is_confirmed(groups: Groups, flash: Ints, is_point: Bools) -> Bools:
    """Return which observations are of flashes dated by points of several groups, shape (n,).

    With intervals only as partners, the residual of a point shows where it lies in them, not its
    timestamp error.

    `flash`, shape (n,), is that of each observation; only those of `is_point` count.
    """
    dates = np.unique(np.stack([flash[is_point], groups.group[is_point]]), axis=1)[0]
    return (np.bincount(dates, minlength=flash.max() + 1) > 1)[flash]


def improve_scatter(
    groups: Groups,
    noise: Noise,
    solution: Solution,
    flash: Ints,
    residuals: Floats,
    is_point: Bools,
    scatter: Scatter,
) -> Scatter:
    """Return the next iterate of jitters and factors.

    `noise` is the covariance given `scatter`, the current iterate, and `solution` the one given
    `noise`. `flash` and `residuals`, shape (n,), are those of each observation; only those of
    `is_point` count (no intervals, no outliers).
    """
    n_sources = scatter.scale.size
    group, share, total = groups.group, noise.share, noise.total
    mean_row = noise.mean_of(solution.design)
    mean_residual = noise.mean_of(residuals)
    group_flash = np.zeros(total.size, dtype=np.int64)
    group_flash[group] = flash
    counts = np.zeros(total.size, dtype=np.bool_)
    counts[group[is_point & is_confirmed(groups, flash, is_point)]] = True
    # For timestamps: the sum of a group's rows of P y, and of its block of P.
    inner = total * (1.0 - share)
    pulls = (inner * mean_residual) ** 2
    traces = inner - inner**2 * solution.variance_of(mean_row, group_flash)
    weight = groups.multiplicity * counts
    by_source = groups.source
    q = np.bincount(by_source, weights=weight * pulls, minlength=n_sources)
    t = np.bincount(by_source, weights=weight * np.maximum(traces, 0.0), minlength=n_sources)
    with np.errstate(over="ignore"):  # t may be almost zero; the clip below limits the ratio
        ratio = np.where(t > 0.0, q / np.maximum(t, 1e-300), 0.0)
    jitter_s = scatter.jitter_s * np.sqrt(np.clip(ratio, 1.0 / MAX_FACTOR, MAX_FACTOR))
    return Scatter(
        jitter_s=np.where(t > 0.0, np.maximum(jitter_s, MIN_JITTER_S), 0.0),
        scale=_scale(groups, noise, solution, flash, residuals, is_point, scatter, mean_residual),
    )


def _scale(
    groups: Groups,
    noise: Noise,
    solution: Solution,
    flash: Ints,
    residuals: Floats,
    is_point: Bools,
    scatter: Scatter,
    mean_residual: Floats,
) -> Floats:
    """Return the factors on detection errors, from differences between observations of a frame."""
    n_sources = scatter.scale.size
    group = groups.group
    source = groups.source[group]
    share = noise.share[group]
    weights = noise.weights * is_point
    rows = solution.design - share[:, None] * noise.mean_of(solution.design)[group]
    pull = weights * (residuals - share * mean_residual[group])
    own = weights - weights**2 * share / np.maximum(noise.total[group], 1e-300)
    trace = own - weights**2 * solution.variance_of(rows, flash, 1.0 - share)
    variance = np.where(weights > 0.0, 1.0 / np.maximum(weights, 1e-300), 0.0)
    q = np.bincount(source, weights=variance * pull**2, minlength=n_sources)
    t = np.bincount(source, weights=variance * np.maximum(trace, 0.0), minlength=n_sources)
    size = np.bincount(group, weights=is_point, minlength=groups.source.size)
    n_pairs = np.bincount(groups.source, weights=size >= 2, minlength=n_sources)
    ratio = np.where(t > 1.0, q / np.maximum(t, 1.0), 0.0)
    ratio = np.clip(ratio, 1.0 / MAX_FACTOR, MAX_FACTOR)
    return np.where(n_pairs >= MIN_PAIRS, np.maximum(1.0, scatter.scale * np.sqrt(ratio)), 1.0)


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


def without_row_noise(
    observations: Observations, solution: Solution, groups: Groups, noise: Noise, is_point: Bools
) -> Solution:
    """Return the solution with errors that do not take errors of rows for a variation of rows.

    Derivatives are taken at rows corrected for their estimated errors. Of the variance ``1 / w`` of
    a group's mean row the share ``1 - r s`` is left, with r the redundancy of the group and s the
    part of its errors that lies in rows. Line delays then seem determined that are not: with D the
    information expected from these errors and C the covariance, the equations have the slope
    ``1 / C - D``, and their scatter is 1 / C. The information of flashes is at least 0.
    """
    at = np.flatnonzero([unknown.kind == "line_delay" for unknown in observations.unknowns])
    if not at.size:
        return solution
    prior = observations.prior_std
    rows = prior_rows(observations.unknowns)
    least = np.linalg.inv(np.linalg.inv(rows.T @ rows)[np.ix_(at, at)])
    first = np.unique(groups.group, return_index=True)[1]
    of_rows = 1.0 - noise.share
    redundancy = _group_redundancy(solution, groups, noise, is_point)
    seeming = of_rows * (1.0 - of_rows * redundancy)
    seeming *= 1.0 - noise.total * of_rows * solution.own_var[groups.flash]
    line_s = np.maximum(line_delays_s(observations, solution.x)[first], 1e-12)
    lever = prior[at] * (observations.design[first][:, at] != 0.0) / line_s[:, None]
    scaled = solution.factor / prior[:, None]
    covariance = scaled @ scaled[at].T
    known = np.linalg.inv(covariance[at])
    values, vectors = np.linalg.eigh(known - np.diag(seeming @ lever**2) - least)
    taken = known - least - (vectors * np.maximum(values, 0.0)) @ vectors.T
    change = np.linalg.solve(np.eye(at.size) - covariance[at] @ taken, scaled[at])
    factor = prior[:, None] * (scaled + covariance @ taken @ change)
    return replace(solution, factor=factor, covariance=factor @ factor.T)


def _group_redundancy(solution: Solution, groups: Groups, noise: Noise, is_point: Bools) -> Floats:
    """Return the redundancy of each group, timestamps counted once; 0 where it has no points."""
    spread = solution.variance_of(noise.mean_of(solution.design), groups.flash)
    total = noise.total
    variance = noise.common + 1.0 / np.maximum(total, 1e-300)
    has_say = np.bincount(groups.group, weights=is_point, minlength=total.size) > 0
    return np.where(has_say, np.clip(1.0 - spread / variance, 0.0, 1.0), 0.0)


def _redundancy(
    observations: Observations, solution: Solution, groups: Groups, noise: Noise, is_point: Bools
) -> Floats:
    """Return the redundancy of the observations of each flash."""
    left = _group_redundancy(solution, groups, noise, is_point)
    found = np.bincount(groups.flash, weights=left, minlength=observations.flash_s.size)
    return found.astype(np.float64)
