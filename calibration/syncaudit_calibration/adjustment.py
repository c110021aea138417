"""Solve the bundle: robust least squares with the flash instants eliminated.

Bundle adjustment as in photogrammetry (Triggs, McLauchlan, Hartley & Fitzgibbon, "Bundle
adjustment: a modern synthesis", 2000, doi:10.1007/3-540-44480-7_21): every flash instant touches
only its own observations, so the normal matrix is diagonal there and the Schur complement leaves a
small dense system in the clocks and cameras. Points get Cauchy weights, then a cut at five sigmas.

Rows are the regressors of the line delays, and they are measured with errors. Least squares in
seconds would shrink the line delays (regression dilution: at T = 0 the row errors vanish); least
squares in rows does not. The latter is equivalent to weights for the current line delay and
derivatives at the *fitted* rows (structural errors-in-variables regression; Fuller, "Measurement
error models", 1987, doi:10.1002/9780470316665).

Timestamp jitter exceeds the measurement error of bands. It is an error per frame, common to all
edges of that frame; its size is estimated for every source (`variances`). Intervals are boxes
(`boxes`); how well many of them together constrain a clock is computed at the end
(`box_posterior`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from syncaudit.dsp.robust import cauchy_weights, mad_std
from syncaudit.model.arrays import Bools, Floats
from syncaudit_calibration.box_posterior import bend_boxes, refine_boxes
from syncaudit_calibration.normal_equations import (
    Noise,
    Solution,
    line_delays_s,
    residuals_of,
    solve,
)
from syncaudit_calibration.observations import Observations
from syncaudit_calibration.variances import (
    Groups,
    Scatter,
    grouped,
    improve_scatter,
    is_confirmed,
    widened,
    without_row_noise,
)

N_ROBUST = 8
N_FINAL = 24
MAX_Z = 5.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Adjustment:
    """The solution."""

    observations: Observations  # the equations
    x: Floats  # shape (p,): unknowns (corrections to the assumed values)
    covariance: Floats  # shape (p, p): of the unknowns, including scatter beyond the stated errors
    # shape (f,): half-light instants after the reference's anchor
    flash_s: Floats
    flash_std_s: Floats
    # shape (n,): observed minus solved in reference time; for intervals, the distance from the box
    residuals_s: Floats
    is_used: Bools  # shape (n,): false for outliers, which are ignored
    # shape (s,): standard deviation of each source's timestamps; NaN where only intervals are known
    jitter_s: Floats
    scale: Floats  # shape (s,): factor on the stated errors of each source's detections

    def value_of(self, column: int | None) -> tuple[float, float]:
        """Return the value of an unknown and its standard error; zeros without a column."""
        if column is None:
            return 0.0, 0.0
        value = self.observations.unknowns[column].assumed + float(self.x[column])
        return value, float(np.sqrt(self.covariance[column, column]))


def adjust(observations: Observations) -> Adjustment:
    """Solve the bundle.

    `observations` are seeded well enough to be linear (except for drift times line delay).
    """
    n = observations.u_s.size
    n_sources = len(observations.sources)
    is_box = observations.half_s > 0.0
    has_points = np.bincount(observations.source, weights=~is_box, minlength=n_sources) > 0
    groups = grouped(observations)
    scatter = Scatter(jitter_s=np.zeros(n_sources), scale=np.ones(n_sources))
    std = _std(observations, np.zeros(len(observations.unknowns)))
    robust = np.ones(n)
    is_used = np.ones(n, dtype=np.bool_)
    mean = np.zeros(n)
    box_var = np.where(is_box, std**2 + observations.half_s**2 / 3.0, 1.0)
    noise = _noise(groups, scatter, std, np.where(is_box, box_var, 0.0), robust)
    solution = solve(observations, None, mean, noise)
    for iteration in range(N_ROBUST + N_FINAL):
        solution = solve(
            observations,
            solution,
            mean,
            noise,
            row_errors_s=_row_errors(observations, solution, groups, noise) if iteration else None,
        )
        std = _std(observations, solution.x)
        residuals = residuals_of(observations, solution)
        spread = solution.variance_of(solution.design, observations.flash)
        if iteration < N_ROBUST:
            robust, scatter = _robust(observations, residuals, std, is_box, groups)
            if iteration == N_ROBUST - 1 and has_points.any():
                # Equal starting values, so that inseparable jitters share the scatter equally.
                common_s = np.sqrt(np.mean(scatter.jitter_s[scatter.jitter_s > 0.0] ** 2))
                scatter = replace(scatter, jitter_s=np.where(has_points, common_s, 0.0))
        else:
            robust = np.ones(n)
            # Where an instant lies in its interval is no timestamp error.
            dated = replace(noise, weights=np.where(is_box, 0.0, noise.weights))
            alone = solve(observations, solution, mean, dated) if is_box.any() else solution
            scatter = improve_scatter(
                groups,
                dated,
                alone,
                observations.flash,
                residuals_of(observations, alone),
                ~is_box & is_used,
                scatter,
            )
            wide = np.hypot(
                std * scatter.scale[observations.source], scatter.jitter_s[observations.source]
            )
            inside = _inliers(observations, residuals, spread, wide, is_used)
            # In later iterations outliers stay out: two contradictory ones would alternate.
            is_used = inside & is_used if iteration >= N_ROBUST + N_FINAL // 2 else inside
        mean, box_var = bend_boxes(observations, residuals, mean, box_var, is_box & is_used)
        robust = np.where(is_used, robust, 0.0)
        noise = _noise(groups, scatter, std, np.where(is_box, box_var, 0.0), robust)
    solution = without_row_noise(observations, solution, groups, noise, is_used & ~is_box)
    solution = widened(observations, solution, groups, noise, is_used & ~is_box)
    if is_box.any():
        solution = refine_boxes(observations, solution, noise, is_used)
    residuals = residuals_of(observations, solution)
    outside = np.sign(residuals) * np.maximum(np.abs(residuals) - observations.half_s, 0.0)
    return Adjustment(
        observations=observations,
        x=solution.x,
        covariance=solution.covariance,
        flash_s=solution.flash_s,
        flash_std_s=np.sqrt(solution.flash_var),
        residuals_s=np.where(is_box, outside, residuals),
        is_used=is_used,
        jitter_s=np.where(has_points, scatter.jitter_s, np.nan),
        scale=scatter.scale,
    )


def noise_of(adjustment: Adjustment, which: Bools) -> Noise:
    """Return the covariance of some of the points, as estimated by a solution.

    `which`, shape (n,): points to include, outliers or not; no intervals.
    """
    observations = adjustment.observations
    scatter = Scatter(jitter_s=np.nan_to_num(adjustment.jitter_s, nan=0.0), scale=adjustment.scale)
    std = _std(observations, adjustment.x)
    nothing = np.zeros(std.size)
    return _noise(grouped(observations), scatter, std, nothing, which.astype(np.float64))


def _noise(groups: Groups, scatter: Scatter, std: Floats, box_var: Floats, robust: Floats) -> Noise:
    """Return the covariance; `box_var` is the variance of intervals and 0 for points."""
    source = groups.source[groups.group]
    is_box = box_var > 0.0
    variance = np.where(is_box, box_var, (std * scatter.scale[source]) ** 2)
    common = groups.multiplicity * scatter.jitter_s[groups.source] ** 2
    box_groups = np.bincount(groups.group, weights=is_box, minlength=common.size) > 0
    return Noise(
        group=groups.group,
        weights=robust / variance,
        common=np.where(box_groups, 0.0, common),
    )


def _row_errors(
    observations: Observations, solution: Solution, groups: Groups, noise: Noise
) -> Floats:
    """Return the part of the residuals due to row errors, not timestamp errors; 0 for intervals."""
    residuals = residuals_of(observations, solution)
    of_stamps = noise.share * noise.mean_of(residuals)
    errors = residuals - of_stamps[groups.group]
    return np.where(observations.half_s > 0.0, 0.0, errors)


def _std(observations: Observations, x: Floats) -> Floats:
    """Return the stated error of every observation in seconds, using the line delays of `x`."""
    return np.hypot(observations.std_s, observations.row_std_px * line_delays_s(observations, x))


def _robust(
    observations: Observations, residuals: Floats, std: Floats, is_box: Bools, groups: Groups
) -> tuple[Floats, Scatter]:
    """Return Cauchy weights and initial jitters: the scatter beyond the stated errors."""
    n_sources = len(observations.sources)
    weights = np.ones(residuals.size)
    jitter_s = np.zeros(n_sources)
    tells = ~is_box & is_confirmed(groups, observations.flash, ~is_box)
    for k in range(n_sources):
        own = (observations.source == k) & ~is_box
        if own.any():
            stated = float(np.median(std[own]))
            telling = residuals[own & tells]
            beyond = mad_std(telling) ** 2 - stated**2 if telling.size else 0.0
            # A lower bound, so that the iterative estimate can still grow.
            jitter_s[k] = np.sqrt(max(beyond, (0.3 * stated) ** 2))
            weights[own] = cauchy_weights(residuals[own] / np.hypot(std[own], jitter_s[k]))
    return weights, Scatter(jitter_s=jitter_s, scale=np.ones(n_sources))


def _inliers(
    observations: Observations,
    residuals: Floats,
    spread: Floats,
    std: Floats,
    was_used: Bools,
) -> Bools:
    """Return which observations lie within five sigmas of their predicted values."""
    # Residuals of used observations are smaller than their errors, prediction errors of unused
    # ones larger.
    sign = np.where(was_used & (observations.half_s == 0.0), -1.0, 1.0)
    expected = np.sqrt(np.maximum(std**2 + sign * spread, 0.01 * std**2))
    off = np.maximum(np.abs(residuals) - observations.half_s, 0.0)
    return off <= MAX_Z * np.minimum(expected, std + np.sqrt(spread))
