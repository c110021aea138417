"""Weighted least squares with the flash instants eliminated and errors common to a frame.

All observations of a flash in one frame share the error of its stamp. With independent variances
v and that of the stamp j^2, the weight matrix of such a group is (Woodbury)

    diag(1/v) - c w w',  w = 1/v,  c = j^2 / (1 + j^2 sum(w)),

which is what one more observation with a negative weight does: the weighted mean of the group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit_calibration.observations import Observations

__all__ = ["Noise", "Solution", "line_delays_s", "reduced_products", "residuals_of", "solve"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Noise:
    """Covariance of the observations, group by group.

    Parameters
    ----------
    group : ndarray of int, shape (n,)
        Group of every observation.
    weights : ndarray, shape (n,)
        Inverse variance of the independent part; 0: not used.
    common : ndarray, shape (g,)
        Variance of the part that a group shares.
    """

    group: Ints
    weights: Floats
    common: Floats

    @property
    def total(self) -> Floats:
        """Return the sum of the weights of each group."""
        return self.sum_of(np.ones(self.weights.size))

    @property
    def share(self) -> Floats:
        """Return the part of a group's mean that is the common error's, shape (g,)."""
        spread = self.common * self.total
        return spread / (1.0 + spread)

    def sum_of(self, values: Floats) -> Floats:
        """Return the weighted sum of the values of each group."""
        sums = np.bincount(self.group, weights=self.weights * values, minlength=self.common.size)
        return sums.astype(np.float64)

    def mean_of(self, values: Floats) -> Floats:
        """Return the weighted mean of the values (n, ...) of each group."""
        total = np.maximum(self.total, 1e-300)
        if values.ndim == 1:
            return self.sum_of(values) / total
        return np.stack([self.sum_of(column) for column in values.T], axis=1) / total[:, None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Solution:
    """Unknowns and flashes, and what is known of their errors.

    Parameters
    ----------
    x, covariance
        Unknowns, shapes (p,) and (p, p).
    cross : ndarray, shape (f, p)
        Minus the covariance of flashes and unknowns.
    flash_s, flash_var : ndarray, shape (f,)
        Instants and their variances.
    design : ndarray, shape (n, p)
        Derivatives by the unknowns at the solution.
    """

    x: Floats
    covariance: Floats
    cross: Floats
    flash_s: Floats
    flash_var: Floats
    design: Floats

    def variance_of(self, rows: Floats, flash: Ints, part: Floats | float = 1.0) -> Floats:
        """Return the variance of ``rows @ x - part * tau``, as far as it is an estimate's."""
        own = np.einsum("ij,ij->i", rows @ self.covariance, rows)
        both = np.einsum("ij,ij->i", rows, self.cross[flash])
        variance: Floats = part**2 * self.flash_var[flash] - 2.0 * part * both + own
        return np.maximum(variance, 1e-24)


def solve(
    observations: Observations,
    last: Solution | None,
    mean: Floats,
    noise: Noise,
    *,
    row_errors_s: Floats | None = None,
) -> Solution:
    """Solve for unknowns and flashes.

    Parameters
    ----------
    observations : Observations
        The equations.
    last : Solution, optional
        To linearise at.
    mean : ndarray, shape (n,)
        What each residual should be.
    noise : Noise
        Covariance of the observations.
    row_errors_s : ndarray, shape (n,), optional
        Estimated errors of the rows in seconds: derivatives are taken at the rows without them.
    """
    flash, n_flashes = observations.flash, observations.flash_s.size
    if last is None:
        design = observations.design
        target = mean - observations.u_s
    else:
        residuals = residuals_of(observations, last)
        design = _design(observations, last.x, row_errors_s)
        target = mean - (residuals - design @ last.x + last.flash_s[flash])
    prior = np.array([unknown.prior_std for unknown in observations.unknowns])
    # One more row per group, with a negative weight, stands for what the group shares.
    first = np.zeros(noise.common.size, dtype=np.int64)
    first[noise.group] = flash
    flash = np.concatenate([flash, first])
    scaled = design * prior
    scaled = np.concatenate([scaled, noise.mean_of(scaled)])
    target = np.concatenate([target, noise.mean_of(target)])
    weights = np.concatenate([noise.weights, -noise.share * noise.total])
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
    cross = share @ inverse
    return Solution(
        x=solved * prior,
        flash_s=(border @ solved - pull) / total,
        covariance=inverse * np.outer(prior, prior),
        cross=cross * prior,
        flash_var=1.0 / total + np.einsum("ij,ij->i", cross, share),
        design=_design(observations, solved * prior, None),
    )


def reduced_products(
    observations: Observations, noise: Noise, columns: Floats, residuals: Floats
) -> tuple[Floats, Floats]:
    """Return what residuals say of one more unknown at a time, all others eliminated.

    Parameters
    ----------
    observations : Observations
        The equations.
    noise : Noise
        Covariance of the observations.
    columns : ndarray, shape (n, m)
        Derivatives by the further unknowns.
    residuals : ndarray, shape (n,)
        Of the solution without them.

    Returns
    -------
    pull, weight : ndarray, shape (m,)
        The unknown k would be ``-pull[k] / weight[k]``, with the variance ``1 / weight[k]``.
    """
    prior = np.array([unknown.prior_std for unknown in observations.unknowns])
    rows = np.column_stack([observations.design * prior, columns, residuals])
    first = np.zeros(noise.common.size, dtype=np.int64)
    first[noise.group] = observations.flash
    flash = np.concatenate([observations.flash, first])
    rows = np.concatenate([rows, noise.mean_of(rows)])
    weights = np.concatenate([noise.weights, -noise.share * noise.total])
    n_flashes = observations.flash_s.size
    total = np.bincount(flash, weights=weights, minlength=n_flashes) + 1e-6
    weighted = rows * weights[:, None]
    border = np.zeros((n_flashes, rows.shape[1]))
    np.add.at(border, flash, weighted)
    products = rows.T @ weighted - border.T @ (border / total[:, None])
    p = prior.size
    known = np.linalg.solve(products[:p, :p] + np.eye(p), products[:p, p:])
    left = products[p:, p:] - products[p:, :p] @ known
    weight: Floats = np.diag(left)[:-1]
    return left[:-1, -1], weight


def residuals_of(observations: Observations, solution: Solution) -> Floats:
    """Return observed minus solved times, shape (n,)."""
    residuals: Floats = (
        observations.u_s + solution.design @ solution.x - solution.flash_s[observations.flash]
    )
    return residuals


def line_delays_s(observations: Observations, x: Floats) -> Floats:
    """Return the line delay of every observation's source (0: none), shape (n,)."""
    found = np.zeros(len(observations.sources))
    for k, unknown in enumerate(observations.unknowns):
        if unknown.kind == "line_delay":
            line_delay_s = max(unknown.assumed + float(x[k]), 0.1 * unknown.assumed)
            found[observations.sources.index(unknown.source)] = line_delay_s
    return found[observations.source]


def _design(observations: Observations, x: Floats, row_errors_s: Floats | None) -> Floats:
    """Return the derivatives at `x`; line delay and exposure are seen through the own rate."""
    design = observations.design.copy()
    rates = dict.fromkeys(observations.sources, 1.0)
    for k, unknown in enumerate(observations.unknowns):
        if unknown.kind == "drift":
            rates[unknown.source] += float(x[k])
    line_s = line_delays_s(observations, x)
    for k, unknown in enumerate(observations.unknowns):
        if unknown.kind not in ("line_delay", "exposure"):
            continue
        if row_errors_s is not None and unknown.kind == "line_delay":
            own = observations.source == observations.sources.index(unknown.source)
            design[own, k] -= row_errors_s[own] / line_s[own]
        design[:, k] *= rates[unknown.source]
    return design
