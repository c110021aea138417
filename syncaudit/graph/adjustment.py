"""Weighted least squares over the equations of a graph, with blame for contradictions.

Normalised residuals decide (W. Baarda, "A testing procedure for use in geodetic networks", 1968):
``t = r / (std * sqrt(redundancy))`` is N(0, 1) without blunders, and t^2 is what the sum of
squares loses when this equation alone is left out (leave-one-out). An equation that nothing
checks (redundancy 0, a bridge of the graph) has no t and can never be called an outlier.

The strongest contradiction is taken first. If leaving out this equation is the only way to make
it vanish, it is to blame and gets no weight. If leaving out another one would do as well (two
parallel edges, a single loop), it is not known which is wrong: every one of them may carry the
whole blunder, so each variance grows by the square of the blunder that it would have to explain,
and the solution's standard errors with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syncaudit.model.arrays import Bools, Floats, Ints

# |t| above which residuals contradict: 6e-5 two-sided, so that 500 edges give a false alarm in at
# most 3 %.
CRITICAL = 4.0

# Blaming one equation must be a hundred times likelier than blaming another: 2 ln(100).
_AMBIGUOUS_MARGIN = 9.2

# Redundancy below which an equation counts as unchecked (rounding of the normal equations).
_REDUNDANT = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """Least squares with the active equations."""

    x: Floats  # shape (k,): unknowns
    covariance: Floats  # shape (k, k): of the unknowns, with the variances as given
    residuals: Floats  # shape (m,): measured minus solved, of every equation
    leverage_var: Floats  # shape (m,): variance of the solved value of every equation


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Adjustment:
    """What the equations agree on and which of them contradict."""

    fit: Fit  # with the final weights
    variance: Floats  # shape (m,): final variance of every equation
    redundancy: Floats  # shape (m,): share of every equation that the others check, 0 to 1
    # shape (m,): normalised residual with the variances as given; for an outlier, that of its
    # prediction; 0 if nothing checks the equation
    z: Floats
    # shape (m,): blamed alone; blamed together with others that might be wrong instead
    is_outlier: Bools
    is_ambiguous: Bools


def fit(A: Floats, y: Floats, variance: Floats, is_active: Bools) -> Fit:
    """Solve the active equations.

    Parameters
    ----------
    A : ndarray, shape (m, k)
        Design matrix.
    y, variance : ndarray, shape (m,)
        Right-hand side and its variances.
    is_active : ndarray of bool, shape (m,)
        Equations that are used.
    """
    if A.shape[1] == 0:
        empty = np.zeros(0)
        return Fit(
            x=empty,
            covariance=np.zeros((0, 0)),
            residuals=y.copy(),
            leverage_var=np.zeros(y.shape[0]),
        )
    weights = np.where(is_active, 1.0 / variance, 0.0)
    weighted = A * weights[:, None]
    normal = A.T @ weighted
    # Offsets and drifts differ by many orders of magnitude: scale the diagonal to one.
    scale = 1.0 / np.sqrt(np.maximum(np.diag(normal), 1e-300))
    scaled = normal * np.outer(scale, scale)
    covariance = _inverse(scaled) * np.outer(scale, scale)
    x = covariance @ (weighted.T @ y)
    # One step of iterative refinement removes the rounding of the normal equations.
    x = x + covariance @ (weighted.T @ (y - A @ x))
    return Fit(
        x=x,
        covariance=covariance,
        residuals=y - A @ x,
        leverage_var=np.einsum("ij,ij->i", A @ covariance, A),
    )


def _inverse(normal: Floats) -> Floats:
    """Invert normal equations, which are regular except for rounding."""
    try:
        root = np.linalg.inv(np.linalg.cholesky(normal))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(normal, rcond=1e-13, hermitian=True), dtype=np.float64)
    return root.T @ root


def adjust(A: Floats, y: Floats, variance: Floats, group: Ints) -> Adjustment:
    """Solve all equations and find which contradict the others.

    Parameters
    ----------
    A, y, variance
        As for `fit`.
    group : ndarray of int, shape (m,)
        Equations of one measurement share a number: if one is to blame, all are left out.
    """
    m = y.shape[0]
    is_outlier = np.zeros(m, dtype=np.bool_)
    is_ambiguous = np.zeros(m, dtype=np.bool_)
    widened = variance.copy()
    for _ in range(2 * m):
        solved = fit(A, y, widened, ~is_outlier)
        t = _normalised(solved, widened, ~is_outlier & ~is_ambiguous)
        if m == 0 or float(np.max(np.abs(t))) <= CRITICAL:
            break
        worst = int(np.argmax(np.abs(t)))
        suspects = _equally_likely(A, solved, widened, t, worst)
        if np.count_nonzero(suspects) <= 1 or len(np.unique(group[suspects])) == 1:
            is_outlier |= group == group[worst]
        else:
            redundancy = 1.0 - solved.leverage_var / widened
            blunder = solved.residuals[suspects] / redundancy[suspects]
            widened[suspects] += blunder**2
            is_ambiguous |= suspects
    solved = fit(A, y, widened, ~is_outlier)
    redundancy = np.where(is_outlier, 0.0, 1.0 - solved.leverage_var / widened)
    redundancy[redundancy < _REDUNDANT] = 0.0
    return Adjustment(
        fit=solved,
        variance=widened,
        redundancy=redundancy,
        z=_final_z(A, y, variance, solved, is_outlier),
        is_outlier=is_outlier,
        is_ambiguous=is_ambiguous,
    )


def _normalised(solved: Fit, variance: Floats, is_tested: Bools) -> Floats:
    redundancy = 1.0 - solved.leverage_var / variance
    is_checked = is_tested & (redundancy > _REDUNDANT)
    t = np.zeros_like(variance)
    t[is_checked] = solved.residuals[is_checked] / np.sqrt(
        variance[is_checked] * redundancy[is_checked]
    )
    return t


def _equally_likely(A: Floats, solved: Fit, variance: Floats, t: Floats, worst: int) -> Bools:
    """Return the equations whose removal would explain the worst residual equally well."""
    residual_var = variance - solved.leverage_var
    cross = -(A @ (solved.covariance @ A[worst]))
    cross[worst] = residual_var[worst]
    norm = np.sqrt(np.maximum(residual_var, 1e-300) * residual_var[worst])
    correlation = np.clip(cross / norm, -1.0, 1.0)
    left = np.sqrt(np.maximum(1.0 - correlation**2, 1e-12))
    worst_without = np.abs(t[worst] - correlation * t) / left
    is_likely: Bools = (np.abs(t) > 0.0) & (t**2 > t[worst] ** 2 - _AMBIGUOUS_MARGIN)
    # If both residuals are the same number, leaving out either has the same effect.
    is_likely &= (worst_without <= CRITICAL) | (np.abs(correlation) > 1.0 - 1e-9)
    is_likely[worst] = True
    return is_likely


def _final_z(A: Floats, y: Floats, variance: Floats, solved: Fit, is_outlier: Bools) -> Floats:
    stated = fit(A, y, variance, ~is_outlier)
    z = _normalised(stated, variance, ~is_outlier)
    spread = np.sqrt(variance + solved.leverage_var)
    z[is_outlier] = solved.residuals[is_outlier] / spread[is_outlier]
    return z
