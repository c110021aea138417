"""Solve the bundle: robust least squares with the flash instants eliminated.

Bundle adjustment as in photogrammetry (Triggs, McLauchlan, Hartley & Fitzgibbon, "Bundle
adjustment: a modern synthesis", 2000, doi:10.1007/3-540-44480-7_21): every flash instant touches
only its own observations, so the normal matrix is diagonal there and the Schur complement leaves a
small dense system in the clocks and cameras. Points get Cauchy weights, then a cut at five sigmas.

An interval says only that the flash lies inside: a box with soft ends, taken in by expectation
propagation (Minka, "Expectation propagation for approximate Bayesian inference", UAI 2001), which
replaces each box by the Gaussian with the right moments given everything else. Eighty counter
readings 20 ms apart then tell an offset to a quarter of a millisecond; a variance of width^2 / 12
would say 0.65 ms.

Rows are measured with errors, and they are what line delays are multiplied by. Least squares in
seconds would shrink line delays (regression dilution: at T = 0 the errors of rows vanish), in
rows it does not. That is the same as weights for the current line delay and derivatives at the
*fitted* rows (structural errors-in-variables regression; Fuller, "Measurement error models", 1987,
doi:10.1002/9780470316665).

Errors of a source whose residuals scatter more than stated grow by the root of
its reduced chi-square.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

from syncaudit.dsp.robust import cauchy_weights, mad_std
from syncaudit_calibration.observations import Observations

__all__ = ["Adjustment", "adjust"]

Floats = NDArray[np.float64]

N_ROBUST = 8
N_FINAL = 24
MAX_Z = 5.0
DAMPING = 0.6
MIN_REDUNDANCY = 3.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Adjustment:
    """The solution.

    Parameters
    ----------
    x : ndarray, shape (p,)
        Unknowns (corrections of what was assumed).
    covariance : ndarray, shape (p, p)
        Of them, with scatter beyond the stated errors taken in.
    flash_s, flash_std_s : ndarray, shape (f,)
        Half-light instants after the reference's anchor.
    residuals_s : ndarray, shape (n,)
        Observed minus solved in reference time; of intervals, the distance from the box.
    is_used : ndarray of bool, shape (n,)
        False: an outlier that has no say.
    scale : ndarray, shape (s,)
        Factor on the stated errors of each source.
    """

    x: Floats
    covariance: Floats
    flash_s: Floats
    flash_std_s: Floats
    residuals_s: Floats
    is_used: NDArray[np.bool_]
    scale: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Solution:
    x: Floats
    flash_s: Floats
    covariance: Floats
    cross: Floats
    flash_var: Floats
    design: Floats

    def predicted_var(self, flash: NDArray[np.int64]) -> Floats:
        """Return the variance of the residual's solved part, shape (n,)."""
        own = np.einsum("ij,ij->i", self.design @ self.covariance, self.design)
        both = np.einsum("ij,ij->i", self.design, self.cross[flash])
        variance: Floats = self.flash_var[flash] - 2.0 * both + own
        return np.maximum(variance, 1e-24)


def adjust(observations: Observations) -> Adjustment:
    """Solve the bundle.

    Parameters
    ----------
    observations : Observations
        The equations, seeded well enough that they are linear (drift times line delay aside).
    """
    n = observations.u_s.size
    n_sources = len(observations.sources)
    is_box = observations.half_s > 0.0
    std = _std(observations, np.zeros(len(observations.unknowns)))
    scale = np.ones(n_sources)
    n_edges = _edges_per_flash(observations)
    robust = np.ones(n)
    is_used = np.ones(n, dtype=np.bool_)
    mean = np.zeros(n)
    variance = np.where(is_box, std**2 + observations.half_s**2 / 3.0, std**2)
    solution = _solve(observations, None, mean, robust / variance)
    for iteration in range(N_ROBUST + N_FINAL):
        weights = np.where(is_used, robust / variance, 0.0)
        is_start = iteration < N_ROBUST
        solution = _solve(observations, solution, mean, weights, with_fitted_rows=iteration > 0)
        std = _std(observations, solution.x)
        residuals = _residuals(observations, solution)
        spread = solution.predicted_var(observations.flash)
        if is_start:
            robust, wide = _robust_weights(observations, residuals, std, is_box)
            scale = np.maximum(1.0, wide)
        else:
            robust = np.ones(n)
            scale = _scales(observations, residuals / std, spread / variance, is_used & ~is_box)
            inside = _inliers(
                observations, residuals, spread, std * scale[observations.source], is_used
            )
            # At last what is out stays out: two that contradict each other would take turns.
            is_used = inside & is_used if iteration >= N_ROBUST + N_FINAL // 2 else inside
        # Scatter beyond the stated errors is that of stamps: the edges of one flash share it.
        factor = 1.0 + (scale**2 - 1.0) * n_edges
        variance = np.where(is_box, variance, std**2 * factor[observations.source])
        mean, variance = _propagate(
            observations, residuals, spread, mean, variance, is_box & is_used
        )
    residuals = _residuals(observations, solution)
    outside = np.sign(residuals) * np.maximum(np.abs(residuals) - observations.half_s, 0.0)
    return Adjustment(
        x=solution.x,
        covariance=solution.covariance,
        flash_s=solution.flash_s,
        flash_std_s=np.sqrt(solution.flash_var),
        residuals_s=np.where(is_box, outside, residuals),
        is_used=is_used,
        scale=scale,
    )


def _edges_per_flash(observations: Observations) -> Floats:
    """Return how many observations each source has of a flash on average."""
    pairs = np.unique(np.stack([observations.source, observations.flash]), axis=1)
    n_sources = len(observations.sources)
    n_all = np.bincount(observations.source, minlength=n_sources)
    return n_all / np.maximum(np.bincount(pairs[0], minlength=n_sources), 1)


def _std(observations: Observations, x: Floats) -> Floats:
    """Return the stated error of every observation in seconds, with the line delays of `x`."""
    line_delays = np.zeros(len(observations.sources))
    for k, unknown in enumerate(observations.unknowns):
        if unknown.kind == "line_delay":
            line_delay_s = max(unknown.assumed + x[k], 0.1 * unknown.assumed)
            line_delays[observations.sources.index(unknown.source)] = line_delay_s
    rows_s = observations.row_std_px * line_delays[observations.source]
    return np.hypot(observations.std_s, rows_s)


def _solve(
    observations: Observations,
    last: _Solution | None,
    mean: Floats,
    weights: Floats,
    *,
    with_fitted_rows: bool = False,
) -> _Solution:
    """Solve for unknowns and flashes; `mean` is what each residual should be."""
    flash, n_flashes = observations.flash, observations.flash_s.size
    if last is None:
        design = observations.design
        target = mean - observations.u_s
    else:
        residuals = _residuals(observations, last)
        design = _design(observations, last.x, residuals if with_fitted_rows else None)
        target = mean - (residuals - design @ last.x + last.flash_s[flash])
    prior = np.array([unknown.prior_std for unknown in observations.unknowns])
    scaled = design * prior
    total = np.bincount(flash, weights=weights, minlength=n_flashes) + 1e-6
    weighted = scaled * weights[:, None]
    # d(residual)/d(tau) = -1: the border of the normal matrix is minus this sum.
    border = np.zeros((n_flashes, prior.size))
    np.add.at(border, flash, weighted)
    pull = np.bincount(flash, weights=weights * target, minlength=n_flashes)
    share = border / total[:, None]
    normal = scaled.T @ weighted + np.eye(prior.size) - border.T @ share
    right = weighted.T @ target - share.T @ pull
    inverse = np.linalg.inv(normal)
    solved = inverse @ right
    flash_s = (border @ solved - pull) / total
    cross = share @ inverse
    return _Solution(
        x=solved * prior,
        flash_s=flash_s,
        covariance=inverse * np.outer(prior, prior),
        cross=cross * prior,
        flash_var=1.0 / total + np.einsum("ij,ij->i", cross, share),
        design=_design(observations, solved * prior, None),
    )


def _design(observations: Observations, x: Floats, residuals: Floats | None) -> Floats:
    """Return the derivatives at `x`; with residuals, at the rows that they leave.

    Line delay and exposure are seen through the own clock's rate.
    """
    design = observations.design.copy()
    rates = dict.fromkeys(observations.sources, 1.0)
    for k, unknown in enumerate(observations.unknowns):
        if unknown.kind == "drift":
            rates[unknown.source] += float(x[k])
    for k, unknown in enumerate(observations.unknowns):
        if unknown.kind not in ("line_delay", "exposure"):
            continue
        if residuals is not None and unknown.kind == "line_delay":
            own = observations.source == observations.sources.index(unknown.source)
            line_delay_s = max(unknown.assumed + x[k], 0.1 * unknown.assumed)
            design[own, k] -= residuals[own] / line_delay_s
        design[:, k] *= rates[unknown.source]
    return design


def _residuals(observations: Observations, solution: _Solution) -> Floats:
    residuals: Floats = (
        observations.u_s + solution.design @ solution.x - solution.flash_s[observations.flash]
    )
    return residuals


def _robust_weights(
    observations: Observations, residuals: Floats, std: Floats, is_box: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    weights = np.ones(residuals.size)
    wide = np.ones(len(observations.sources))
    for k in range(len(observations.sources)):
        own = (observations.source == k) & ~is_box
        if own.any():
            z = residuals[own] / std[own]
            wide[k] = max(1.0, mad_std(z))
            weights[own] = cauchy_weights(z / wide[k])
    return weights, wide


def _scales(
    observations: Observations, z: Floats, leverage: Floats, is_used: NDArray[np.bool_]
) -> Floats:
    """Return the factor on each source's stated errors: root of its reduced chi-square, >= 1."""
    found = np.ones(len(observations.sources))
    redundancy = np.clip(1.0 - leverage, 0.0, 1.0)
    for k in range(found.size):
        own = is_used & (observations.source == k)
        left = float(redundancy[own].sum())
        if left >= MIN_REDUNDANCY:
            found[k] = max(1.0, float(np.sqrt(np.sum(z[own] ** 2) / left)))
    return found


def _inliers(
    observations: Observations,
    residuals: Floats,
    spread: Floats,
    std: Floats,
    was_used: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Return which observations are within five sigmas of what they should be."""
    # Residuals of what was used are smaller than its error, predictions of what was not larger.
    sign = np.where(was_used & (observations.half_s == 0.0), -1.0, 1.0)
    expected = np.sqrt(np.maximum(std**2 + sign * spread, 0.01 * std**2))
    off = np.maximum(np.abs(residuals) - observations.half_s, 0.0)
    inside: NDArray[np.bool_] = off <= MAX_Z * np.minimum(expected, std + np.sqrt(spread))
    return inside


def _propagate(
    observations: Observations,
    residuals: Floats,
    spread: Floats,
    mean: Floats,
    variance: Floats,
    is_box: NDArray[np.bool_],
) -> tuple[Floats, Floats]:
    """Replace every box by the Gaussian that has its moments, given all other observations."""
    if not is_box.any():
        return mean, variance
    r, s2 = residuals[is_box], spread[is_box]
    m, v = mean[is_box], variance[is_box]
    half, soft = observations.half_s[is_box], observations.std_s[is_box]
    precision = np.maximum(1.0 / s2 - 1.0 / v, 1e-3 / s2)
    cavity_var = 1.0 / precision
    cavity = cavity_var * (r / s2 - m / v)
    q = np.sqrt(cavity_var + soft**2)
    slope, bend = _box_moments((-half - cavity) / q, (half - cavity) / q)
    slope, bend = slope / q, np.minimum(bend / q**2, -1e-9 / half**2)
    new_v = np.maximum(-1.0 / bend - cavity_var, 0.01 * soft**2)
    new_m = cavity - slope / bend
    # Damped in the natural parameters, or boxes that share an unknown chase one another.
    information = (1.0 - DAMPING) / v + DAMPING / new_v
    shift = (1.0 - DAMPING) * m / v + DAMPING * new_m / new_v
    mean, variance = mean.copy(), variance.copy()
    variance[is_box] = 1.0 / information
    mean[is_box] = shift / information
    return mean, variance


def _box_moments(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return first and second derivative of ``log(Phi(high) - Phi(low))`` by a common shift.

    Both by the mean of the Gaussian in units of its deviation; far outside the box the scaled
    complementary error function keeps the ratio finite.
    """
    flip = low + high < 0.0
    a = np.where(flip, -high, low)
    b = np.where(flip, -low, high)
    # Now a + b >= 0: only the lower end can be far above the mean.
    root = np.sqrt(0.5)
    shrink = np.exp(np.maximum(0.5 * (a - b) * (a + b), -700.0))
    tail = 0.5 * (erfcx(a * root) - shrink * erfcx(np.maximum(b, 0.0) * root))
    density = 1.0 / np.sqrt(2.0 * np.pi)
    inner = ndtr(b) - ndtr(a)
    is_far = a > 0.0
    at_a = np.where(is_far, density / np.maximum(tail, 1e-300), _pdf(a) / np.maximum(inner, 1e-300))
    at_b = np.where(is_far, at_a * shrink, _pdf(b) / np.maximum(inner, 1e-300))
    slope = at_a - at_b
    bend = a * at_a - b * at_b - slope**2
    return np.where(flip, -slope, slope), bend


def _pdf(z: Floats) -> Floats:
    value: Floats = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    return value
