"""Refine a delay (and drift) to a fraction of a sample, with an honest standard error.

The increments of the source are modelled as ``y_k = R (Theta(b_k + tau_k) - Theta(a_k + tau_k)) +
slow terms + noise`` with ``tau_k = offset + drift * (t_k - anchor)``, a free mixing matrix R and
Theta the running integral of the target. Gauss-Newton on (offset, drift) with the linear part
projected out (variable projection; Golub & Pereyra, "The differentiation of pseudo-inverses and
nonlinear least squares problems whose variables separate", SIAM J. Numer. Anal. 10, 1973,
doi:10.1137/0710036) and Cauchy weights. Fails where the start lies further than half a lobe
from the optimum.

A rolling shutter whose line delay is stated is corrected row by row. Where it is not stated, it
is fitted too (it shows in the skew of the picture), and the offset is given for the mean row of
the tracked points: that is what the stamps mean as far as the manifest tells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.dsp.robust import block_covariance, cauchy_weights, hac_covariance, mad_std
from syncaudit.estimators.delay_search import slow_basis
from syncaudit.estimators.increments import Increments

__all__ = ["DelayFit", "fit_delay"]

Floats = NDArray[np.float64]

MAX_ITERATIONS = 30
# Steps below this, or below a thousandth of the standard error, change nothing.
CONVERGED_S = 1e-7
MAX_STEP_S = 0.02
MAX_LINE_STEP_S = 3e-5
# Read-outs of 5 to 30 ms over 480 to 1080 rows.
USUAL_LINE_DELAY_S = 2e-5
USUAL_LINE_DELAY_STD_S = 3e-5
N_BLOCKS = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DelayFit:
    """Result of `fit_delay`.

    Parameters
    ----------
    offset_s, offset_std_s : float
        Delay at `anchor_s` and its random standard error.
    drift_ppm, drift_std_ppm : float, optional
        Change of the delay, where it was fitted.
    line_delay_s, line_delay_std_s : float, optional
        Time between rows, where it was not stated and therefore fitted.
    row_shift_s : float
        What the offset owes to rows: it refers to the points' mean row when the line delay is
        not stated, and is this much later than the middle row.
    anchor_s : float
        Instant on the source's clock at which offset and drift are uncorrelated.
    gain : float
        Size of the fitted signal over that of the driver: the whole triple where both have
        as many axes, else the norm of the strongest row of the mixing matrix.
    explained : float
        Share of the (robustly weighted) variance that the driver explains.
    correlation_factor : float
        Variance of the delay over what independent residuals would give (>= 1).
    n_rows : int
        Increments used.
    span_s : float
        Time from the first to the last.
    mid_s, residuals, sensitivity, weights : ndarray
        Times (n,), residuals (n, m), derivative by the delay (n, m), weights (n, m) in units of
        inverse variance: what further tests work on.
    """

    offset_s: float
    offset_std_s: float
    drift_ppm: float | None
    drift_std_ppm: float | None
    line_delay_s: float | None
    line_delay_std_s: float | None
    row_shift_s: float
    anchor_s: float
    gain: float
    explained: float
    correlation_factor: float
    n_rows: int
    span_s: float
    mid_s: Floats
    residuals: Floats
    sensitivity: Floats
    weights: Floats


def fit_delay(
    increments: Increments,
    driver: RunningIntegral,
    *,
    start_s: float,
    with_drift: bool = False,
) -> DelayFit | None:
    """Fit the delay near `start_s`.

    Parameters
    ----------
    increments : Increments
        Of the source, n rows.
    driver : RunningIntegral
        Of the target.
    start_s : float
        Delay found by the search.
    with_drift : bool
        Whether to fit drift as well.

    Returns
    -------
    DelayFit or None
        None where fewer than 20 increments overlap, nothing varies, or the fit runs away.
    """
    margin_s = 0.05
    covered = driver.covers(
        increments.start_s + start_s - margin_s, increments.stop_s + start_s + margin_s
    )
    if int(covered.sum()) < 20:
        return None
    rows = increments.rows(covered)
    mid_s = rows.mid_s
    anchor_s = float(mid_s.mean())
    offset_s, drift = start_s, 0.0
    shutter = rows.shutter
    line_delay_s = 0.0 if shutter is None else (shutter.line_delay_s or 0.0)
    is_delay_free = shutter is not None and shutter.line_delay_s is None
    rolled = np.zeros_like(rows.values)
    robust = np.ones_like(rows.values)
    found: _Linearised | None = None
    for iteration in range(MAX_ITERATIONS):
        delays_s = offset_s + drift * (mid_s - anchor_s)
        found = _Linearised.at(rows, driver, delays_s, robust, rolled * line_delay_s, found)
        if found is None:
            return None
        linear = found
        if shutter is not None:
            rolled = shutter.change_per_line_delay(linear.bend, linear.rate, linear.mixing)
        jacobian = [linear.sensitivity]
        if with_drift:
            jacobian.append(linear.project(linear.raw_sensitivity * (mid_s - anchor_s)[:, None]))
        if is_delay_free:
            jacobian.append(linear.project(rolled))
        columns = np.stack(jacobian, axis=-1)
        normal = np.einsum("nmp,nm,nmq->pq", columns, linear.weights, columns)
        gradient = np.einsum("nmp,nm,nm->p", columns, linear.weights, linear.residuals)
        if is_delay_free:
            # Points in one row cannot tell a line delay from an offset: lean on what is usual.
            normal[-1, -1] += USUAL_LINE_DELAY_STD_S**-2
            gradient[-1] += (USUAL_LINE_DELAY_S - line_delay_s) * USUAL_LINE_DELAY_STD_S**-2
        if not np.all(np.isfinite(normal)) or np.linalg.cond(normal) > 1e14:
            return None
        step = np.linalg.solve(normal, gradient)
        offset_s += float(np.clip(step[0], -MAX_STEP_S, MAX_STEP_S))
        if with_drift:
            drift += float(np.clip(step[1], -2e-3, 2e-3))
        if is_delay_free:
            line_delay_s += float(np.clip(step[-1], -MAX_LINE_STEP_S, MAX_LINE_STEP_S))
        if abs(offset_s - start_s) > 0.5:
            return None
        robust = cauchy_weights(linear.residuals / linear.scale)
        if iteration > 2 and abs(step[0]) < max(CONVERGED_S, 1e-3 * normal[0, 0] ** -0.5):
            break
    row_shift_s = 0.0
    if is_delay_free and shutter is not None:
        # Rows without a stated delay: the offset refers to the points' mean row (see module).
        columns[..., -1] -= shutter.mean_row_px * columns[..., 0]
        row_shift_s = shutter.mean_row_px * line_delay_s
        offset_s += row_shift_s
    if with_drift:
        # Move the anchor to where offset and drift are uncorrelated.
        shift_s = _correlated_shift(columns, linear.weights)
        anchor_s += shift_s
        offset_s += drift * shift_s
        columns[..., 1] -= shift_s * columns[..., 0]
    normal = np.einsum("nmp,nm,nmq->pq", columns, linear.weights, columns)
    if is_delay_free:
        normal[-1, -1] += USUAL_LINE_DELAY_STD_S**-2
    # Curvature of the Cauchy loss, not its weights: psi' = 2 w^2 - w (the sandwich of an
    # M-estimator; Huber, "Robust statistics", 1981). Weights alone claim errors a fifth too small.
    curvature = np.mean(2.0 * robust**2 - robust, axis=0) / np.mean(robust, axis=0)
    normal *= float(np.clip(np.mean(curvature), 0.3, 1.0))
    scores = np.einsum("nmp,nm,nm->np", columns, linear.weights, linear.residuals)
    covariance, correlation_factor = _covariance(scores, normal, rows.values.size, linear.n_params)
    std = np.sqrt(np.diag(covariance))
    return DelayFit(
        offset_s=offset_s,
        offset_std_s=float(std[0]),
        drift_ppm=drift * 1e6 if with_drift else None,
        drift_std_ppm=float(std[1]) * 1e6 if with_drift else None,
        line_delay_s=line_delay_s if is_delay_free else None,
        line_delay_std_s=float(std[-1]) if is_delay_free else None,
        row_shift_s=row_shift_s,
        anchor_s=anchor_s,
        gain=linear.gain(rows),
        explained=linear.explained(rows),
        correlation_factor=correlation_factor,
        n_rows=mid_s.size,
        span_s=float(np.ptp(mid_s)),
        mid_s=mid_s,
        residuals=linear.residuals,
        sensitivity=linear.sensitivity,
        weights=linear.weights,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Linearised:
    """The model linearised in the delay, mixing matrix and slow terms projected out."""

    bases: tuple[Floats, ...]
    root_weights: Floats
    residuals: Floats
    raw_sensitivity: Floats
    sensitivity: Floats
    weights: Floats
    scale: Floats
    noise: Floats
    signal: Floats
    change: Floats
    bend: Floats
    rate: Floats
    mixing: Floats
    n_signals: int
    n_params: int

    def project(self, matrix: Floats) -> Floats:
        """Take the linear part out of every column of `matrix`, shape (n, m)."""
        return _project(matrix, self.bases, self.root_weights)

    def explained(self, rows: Increments) -> float:
        """Return the share of variance that the driver explains, slow terms aside."""
        fitted = _fast(self.signal, rows)
        explained = float(np.sum(self.weights * fitted**2))
        left = float(np.sum(self.weights * self.residuals**2))
        return explained / (explained + left + 1e-30)

    def gain(self, rows: Increments) -> float:
        """Return the size of the fitted signal over that of the driver (see `DelayFit`)."""
        m = self.signal.shape[1]
        k = self.n_signals
        if m == k:
            driven = float(np.sum(_fast(self.change, rows) ** 2))
            return float(np.sqrt(np.sum(_fast(self.signal, rows) ** 2) / (driven + 1e-30)))
        gains = []
        for j in range(m):
            both = np.column_stack([self.signal[:, j] + self.residuals[:, j], self.change[:, :k]])
            fast = _fast(both, rows)
            noise = mad_std(self.residuals[:, j] * np.sqrt(rows.weights[:, j]))
            gains.append(_shrunken_norm(fast * np.sqrt(rows.weights[:, [j]]), noise))
        return max(gains)

    @classmethod
    def at(
        cls,
        rows: Increments,
        driver: RunningIntegral,
        delays_s: Floats,
        robust: Floats,
        known: Floats,
        before: _Linearised | None,
    ) -> _Linearised | None:
        begin = np.clip(rows.start_s + delays_s, driver.start_s, driver.stop_s)
        end = np.clip(rows.stop_s + delays_s, driver.start_s, driver.stop_s)
        change = driver.at(end) - driver.at(begin)
        rate_begin, rate_end = driver.rate_at(begin), driver.rate_at(end)
        bend = rate_end - rate_begin
        values = rows.values - known
        span_s = float(np.ptp(rows.mid_s))
        slow = slow_basis(rows.mid_s, span_s) * rows.width_s[:, None]
        n, m = rows.values.shape
        k = driver.n_channels
        root = np.sqrt(rows.weights * robust)
        residuals = np.empty((n, m))
        signal = np.empty((n, m))
        raw = np.empty((n, m))
        bases: list[Floats] = []
        mixing = np.empty((m, k))
        scale = np.empty(m)
        both = np.concatenate([change, slow], axis=1)
        for j in range(m):
            design = both * root[:, j, None]
            if driver.coupling_std is not None:
                ridge = _ridge(driver.coupling_std, before, j, design.shape[1])
                design = np.concatenate([design, ridge])
            norm = np.sqrt(np.sum(design**2, axis=0)) + 1e-30
            left, singular, right = np.linalg.svd(design / norm, full_matrices=False)
            keep = singular > 1e-7 * singular[0]
            basis = left[:n, keep]
            target = values[:, j] * root[:, j]
            beta = (right[keep].T @ ((basis.T @ target) / singular[keep])) / norm
            mixing[j] = beta[:k]
            residuals[:, j] = values[:, j] - both @ beta
            signal[:, j] = change @ beta[:k]
            raw[:, j] = bend @ beta[:k]
            bases.append(basis)
            scale[j] = mad_std(residuals[:, j] * np.sqrt(rows.weights[:, j])) + 1e-15
        sensitivity = _project(raw, tuple(bases), root)
        scaled_scale = scale[None, :] / np.sqrt(rows.weights)
        weights = root**2 / scale[None, :] ** 2
        if not np.any(sensitivity):
            return None
        return cls(
            bases=tuple(bases),
            root_weights=root,
            residuals=residuals,
            raw_sensitivity=raw,
            sensitivity=sensitivity,
            weights=weights,
            scale=scaled_scale,
            noise=scale,
            signal=signal,
            change=change,
            bend=bend,
            rate=0.5 * (rate_begin + rate_end),
            mixing=mixing,
            n_signals=k if driver.n_signals is None else driver.n_signals,
            n_params=sum(basis.shape[1] for basis in bases) + 1,
        )


def _ridge(coupling_std: Floats, before: _Linearised | None, column: int, n_terms: int) -> Floats:
    """Return the rows that tell the fit how strongly channels may leak in.

    Before anything is known of noise and gain, they may not at all.
    """
    leaking = np.flatnonzero(np.isfinite(coupling_std))
    rows = np.zeros((leaking.size, n_terms))
    if before is None:
        strength = np.full(leaking.size, 1e9)
    else:
        gain = float(np.max(np.abs(before.mixing[column, np.isinf(coupling_std)])))
        strength = before.noise[column] / (coupling_std[leaking] * gain + 1e-30)
    rows[np.arange(leaking.size), leaking] = strength
    return rows


def _shrunken_norm(columns: Floats, noise: float) -> float:
    """Norm of the regression of column 0 on the others, shrunk where the noise rules.

    Plain least squares would let axes that hardly move blow the norm up; the ridge is that of a
    unit prior on every coefficient. Signals without any noise (made up, or constant but for one
    damaged value) may leave it none: the shortest solution is taken then.
    """
    target, design = columns[:, 0], columns[:, 1:]
    gram = design.T @ design + noise**2 * np.eye(design.shape[1])
    return float(np.linalg.norm(np.linalg.lstsq(gram, design.T @ target, rcond=None)[0]))


def _correlated_shift(columns: Floats, weights: Floats) -> float:
    """Return how far the anchor lies from where offset and drift are uncorrelated."""
    normal = np.einsum("nmp,nm,nmq->pq", columns, weights, columns)
    covariance = np.linalg.inv(normal)
    return float(-covariance[0, 1] / covariance[1, 1])


def _project(matrix: Floats, bases: tuple[Floats, ...], root: Floats) -> Floats:
    out = np.empty_like(matrix)
    for j, basis in enumerate(bases):
        weighted = matrix[:, j] * root[:, j]
        weighted = weighted - basis @ (basis.T @ weighted)
        out[:, j] = weighted / np.maximum(root[:, j], 1e-12)
    return out


def _fast(columns: Floats, rows: Increments) -> Floats:
    """Take the slow terms out of every column, shape (n, m)."""
    slow = slow_basis(rows.mid_s, float(np.ptp(rows.mid_s))) * rows.width_s[:, None]
    basis, _ = np.linalg.qr(slow)
    fast: Floats = columns - basis @ (basis.T @ columns)
    return fast


def _covariance(
    scores: Floats, normal: Floats, n_values: int, n_params: int
) -> tuple[Floats, float]:
    inverse = np.linalg.inv(normal)
    n_lags = max(2, int(1.5 * scores.shape[0] ** (1.0 / 3.0)))
    finite = n_values / max(1, n_values - n_params)
    independent = inverse @ (scores.T @ scores) @ inverse * finite
    hac = inverse @ hac_covariance(scores, n_lags=n_lags) @ inverse * finite
    block = inverse @ block_covariance(scores, n_blocks=N_BLOCKS) @ inverse
    # Per parameter the largest of the three variances; the correlation is that of the sandwich.
    std = np.sqrt(np.maximum(np.diag(independent), np.maximum(np.diag(hac), np.diag(block))))
    base = np.sqrt(np.diag(hac))
    covariance: Floats = hac * np.outer(std / base, std / base)
    return covariance, float(max(1.0, hac[0, 0] / independent[0, 0]))
