"""The model of a delay at one point: linear parts solved and projected out.

Increments of the source against those of the target's running integral at the delays given, with
a free mixing matrix and slow terms. What is left depends on the delay alone (variable projection;
see `delay_fit`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.dsp.robust import mad_std
from syncaudit.estimators.delay_search import slow_basis
from syncaudit.estimators.increments import Increments

__all__ = ["Linearised"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Linearised:
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
        before: Linearised | None,
    ) -> Linearised | None:
        """Return the model at delays, shape (n,); None where the delay changes nothing."""
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


def _ridge(coupling_std: Floats, before: Linearised | None, column: int, n_terms: int) -> Floats:
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
