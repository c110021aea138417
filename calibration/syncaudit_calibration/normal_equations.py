"""Weighted least squares with the flash instants eliminated and errors common to a frame.

All observations of a flash in one frame share the error of the frame's timestamp. With independent
variances v and timestamp variance j^2, the weight matrix of such a group is (Woodbury)

    diag(1/v) - c w w',  w = 1/v,  c = j^2 / (1 + j^2 sum(w)),

whose symmetric root subtracts ``1 - 1 / sqrt(1 + j^2 sum(w))`` times a group's weighted mean from
each of its observations. After whitening, every flash is one column that is nonzero only in its own
rows, and those rows are projected onto its orthogonal complement. The other unknowns, in units of
their priors, follow by QR factorisation (Bjoerck, "Numerical methods for least squares problems",
1996, doi:10.1137/1.9781611971484, 2.4). Priors of seconds with timestamp errors of microseconds
give a condition number of 1e7; that of the normal equations is its square, which exhausts double
precision. Each call solves for the change from the last solution, so that rounding errors scale
with that change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from syncaudit.model.arrays import Floats, Ints
from syncaudit_calibration.observations import Observations
from syncaudit_calibration.unknowns import prior_rows

# Information (1/s^2) on a flash without any observation of nonzero weight.
NOTHING_KNOWN = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Noise:
    """Covariance of the observations, group by group."""

    group: Ints  # shape (n,): group of every observation
    weights: Floats  # shape (n,): inverse variance of the independent error; 0: not used
    common: Floats  # shape (g,): variance of the error that a group shares

    @property
    def total(self) -> Floats:
        """Return the sum of the weights of each group."""
        return self.sum_of(np.ones(self.weights.size))

    @property
    def share(self) -> Floats:
        """Return the fraction of a group's mean due to the common error, shape (g,)."""
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
    """Unknowns and flashes with their errors."""

    # Unknowns, shapes (p,) and (p, p).
    x: Floats
    covariance: Floats
    # shape (p, p): the covariance of the least-squares solution is ``factor @ factor.T``
    factor: Floats
    share: Floats  # shape (f, p): derivatives of the flash instants by the unknowns
    # shape (f,): instants, and their variances given all unknowns
    flash_s: Floats
    own_var: Floats
    design: Floats  # shape (n, p): derivatives by the unknowns at the solution

    @property
    def flash_var(self) -> Floats:
        """Return the variances of the flash instants."""
        return self.own_var + _squares(self.share @ self.factor)

    def variance_of(self, rows: Floats, flash: Ints, part: Floats | float = 1.0) -> Floats:
        """Return the variance of ``rows @ x - part * tau`` due to the errors of the solution.

        It is computed as a sum of squares, since an undetermined unknown keeps the variance of its
        prior, ten orders of magnitude above that of a residual in which it cancels.
        """
        apart = rows - np.expand_dims(part, -1) * self.share[flash]
        return part**2 * self.own_var[flash] + _squares(apart @ self.factor)


class _Whitener:
    """Transform rows to independent errors of unit variance, and eliminate the flashes."""

    def __init__(self, observations: Observations, noise: Noise) -> None:
        self._noise, self._flash = noise, observations.flash
        # How much is kept of a value common to a group; the rest is attributed to the common error.
        self._kept = np.sqrt(1.0 - noise.share)[noise.group]
        self._root = np.sqrt(noise.weights)
        self._lever = (self._root * self._kept)[:, None]
        self.total: Floats = np.full(observations.flash_s.size, NOTHING_KNOWN)
        """Information on each flash, given all unknowns, shape (f,)."""
        np.add.at(self.total, self._flash, self._lever[:, 0] ** 2)

    def whitened(self, rows: Floats) -> Floats:
        """Return rows (n, m) transformed to independent errors of unit variance."""
        common = self._noise.mean_of(rows)[self._noise.group]
        return np.asarray(self._root[:, None] * (rows - (1.0 - self._kept)[:, None] * common))

    def flash_means(self, white: Floats) -> Floats:
        """Return the least-squares flash instants of whitened rows, shape (f, m)."""
        sums = np.zeros((self.total.size, white.shape[1]))
        np.add.at(sums, self._flash, self._lever * white)
        return sums / self.total[:, None]

    def without_flashes(self, white: Floats) -> Floats:
        """Return whitened rows minus the part that the flash instants can explain."""
        return white - self._lever * self.flash_means(white)[self._flash]


def solve(
    observations: Observations,
    last: Solution | None,
    mean: Floats,
    noise: Noise,
    *,
    row_errors_s: Floats | None = None,
) -> Solution:
    """Solve for unknowns and flashes.

    `last` is the solution to linearise at, `mean`, shape (n,), the expected value of each residual.
    Derivatives are taken at the rows corrected for their estimated errors `row_errors_s`, shape
    (n,), in seconds.
    """
    prior = observations.prior_std
    x, flash_s = np.zeros(prior.size), observations.flash_s
    design = observations.design
    residuals = observations.u_s - flash_s[observations.flash]
    if last is not None:
        x, flash_s = last.x, last.flash_s
        design = _design(observations, x, row_errors_s)
        residuals = residuals_of(observations, last)
    whitener = _Whitener(observations, noise)
    white = whitener.whitened(np.column_stack([design * prior, residuals - mean]))
    share = whitener.flash_means(white)
    left = whitener.without_flashes(white)
    # One row per unknown: its total correction, in units of its prior.
    own = prior_rows(observations.unknowns)
    q, r = np.linalg.qr(np.concatenate([left[:, :-1], own]))
    change = -_solve_triangular(r, q.T @ np.concatenate([left[:, -1], own @ (x / prior)]))
    x = x + change * prior
    factor = prior[:, None] * _solve_triangular(r, np.eye(prior.size))
    return Solution(
        x=x,
        flash_s=flash_s + share @ np.append(change, 1.0),
        covariance=factor @ factor.T,
        factor=factor,
        share=share[:, :-1] / prior,
        own_var=1.0 / whitener.total,
        design=_design(observations, x, None),
    )


def reduced_products(
    observations: Observations, noise: Noise, columns: Floats, residuals: Floats
) -> tuple[Floats, Floats]:
    """Return the reduced equations for one more unknown at a time, all others eliminated.

    `columns`, shape (n, m), are the derivatives by the additional unknowns; `residuals`, shape
    (n,), those of the solution without them.

    Returns
    -------
    pull, weight : ndarray, shape (m,)
        The estimate of unknown k is ``-pull[k] / weight[k]``, with the variance ``1 / weight[k]``.
    """
    prior = observations.prior_std
    whitener = _Whitener(observations, noise)
    rows = np.column_stack([observations.design * prior, columns, residuals])
    left = whitener.without_flashes(whitener.whitened(rows))
    p = prior.size
    known, sought = left[:, :p], left[:, p:]
    q, _ = np.linalg.qr(np.concatenate([known, prior_rows(observations.unknowns)]))
    sought = np.concatenate([sought, np.zeros((p, sought.shape[1]))])
    sought = sought - q @ (q.T @ sought)
    weight: Floats = _squares(sought[:, :-1].T)
    return sought[:, :-1].T @ sought[:, -1], weight


def residuals_of(observations: Observations, solution: Solution) -> Floats:
    """Return observed minus solved times, shape (n,)."""
    return observations.u_s + solution.design @ solution.x - solution.flash_s[observations.flash]


def line_delays_s(observations: Observations, x: Floats) -> Floats:
    """Return the line delay of every observation's source, 0 if it has none, shape (n,)."""
    found = np.zeros(len(observations.sources))
    for k, unknown in enumerate(observations.unknowns):
        if unknown.kind == "line_delay":
            line_delay_s = max(unknown.assumed + float(x[k]), 0.1 * unknown.assumed)
            found[observations.sources.index(unknown.source)] = line_delay_s
    return found[observations.source]


def _design(observations: Observations, x: Floats, row_errors_s: Floats | None) -> Floats:
    """Return the derivatives at `x`; what a camera's clock times scales with its rate."""
    design = observations.design.copy()
    rates = dict.fromkeys(observations.sources, 1.0)
    for k, unknown in enumerate(observations.unknowns):
        if unknown.kind == "drift":
            rates[unknown.source] += float(x[k])
    line_s = line_delays_s(observations, x)
    for k, unknown in enumerate(observations.unknowns):
        if unknown.kind not in ("line_delay", "exposure", "band"):
            continue
        if row_errors_s is not None and unknown.kind == "line_delay":
            own = observations.source == observations.sources.index(unknown.source)
            design[own, k] -= row_errors_s[own] / line_s[own]
        design[:, k] *= rates[unknown.source]
    return design


def _solve_triangular(upper: Floats, right: Floats) -> Floats:
    return np.asarray(solve_triangular(upper, right), dtype=np.float64)


def _squares(rows: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", rows, rows), dtype=np.float64)
