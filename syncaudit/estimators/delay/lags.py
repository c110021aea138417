"""Compute, at every lag, the driver's change over each increment and the regression on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.model.arrays import Bools, Floats


@dataclass(frozen=True, slots=True, eq=False)
class LagTable:
    """A driver's integral on an even grid, of which a lag is a whole number of steps.

    A time and the same time some lags later then have the same position between two nodes, so the
    values at all lags are one slice of the table.
    """

    nodes: Floats  # shape (2, k, g): the integral, and its rise to the next node
    # Of the grid.
    start_s: float
    step_s: float

    def change(self, begin_s: Floats, end_s: Floats, n_lags: int, lag_s: float) -> Floats:
        """Interpolate the change over intervals and those some lags later, shape (k, n, l)."""
        per_lag = round(lag_s / self.step_s)
        size = (n_lags - 1) * per_lag + 1
        nodes, rises = sliding_window_view(self.nodes, size, axis=2)[..., ::per_lag]
        (begin, first), (end, last) = self._position(begin_s), self._position(end_s)
        change: Floats = nodes[:, last]
        change -= nodes[:, first]
        change += rises[:, last] * end
        change -= rises[:, first] * begin
        return change

    def _position(self, times_s: Floats) -> tuple[Floats, NDArray[np.intp]]:
        """Return the fraction of the step passed, shape (n, 1), and the node before it."""
        position = np.maximum(times_s - self.start_s, 0.0) / self.step_s
        node = position.astype(np.intp)
        return (position - node)[:, None], node


@lru_cache(maxsize=1)  # signals of one message have the same times, and often the same driver
def tabulated(driver: RunningIntegral, start_s: float, stop_s: float, lag_s: float) -> LagTable:
    """Tabulate a driver from `start_s` to `stop_s`; outside its range it is constant."""
    step_s = lag_s / math.ceil(lag_s / max(driver.period_s, 1e-3) - 1e-6)
    grid_s = start_s + step_s * np.arange(math.ceil((stop_s - start_s) / step_s) + 3)
    nodes = driver.at(np.clip(grid_s, driver.start_s, driver.stop_s)).T.copy()
    return LagTable(np.stack([nodes[:, :-1], nodes[:, 1:] - nodes[:, :-1]]), start_s, step_s)


@dataclass(frozen=True, slots=True, eq=False)
class LagEquations:
    """Normal equations of the regression at each of l lags, for m columns and k channels."""

    gram: Floats  # shape (l, m, k, k): products of channels
    cross: Floats  # shape (l, m, k): products of channels and columns
    energy: Floats  # shape (l, m): squares of columns

    @classmethod
    def of(
        cls, values: Floats, weights: Floats, basis: Floats, change: Floats, covered: Bools
    ) -> LagEquations:
        """Set up the equations.

        Parameters
        ----------
        values, weights : ndarray, shape (n, m)
            Increments of the source.
        basis : ndarray, shape (n, b)
            Slow terms, orthonormal.
        change : ndarray, shape (k, n, l)
            Change of the driver over the same intervals, at each lag; overwritten.
        covered : ndarray of bool, shape (n, l)
            Whether the driver covers the interval.
        """
        held = covered.astype(np.float64)
        change *= held
        change -= basis @ (basis.T @ change)
        change *= held
        k, _, n_lags = change.shape
        gram = np.empty((n_lags, values.shape[1], k, k))
        for a in range(k):
            products = (weights.T @ (change[a] * change[: a + 1])).T
            gram[:, :, a, : a + 1] = gram[:, :, : a + 1, a] = products
        weighted = weights * values
        return cls(
            gram=gram,
            cross=(weighted.T @ change).T,
            energy=held.T @ (weighted * values),
        )

    @classmethod
    def joined(cls, parts: Sequence[LagEquations]) -> LagEquations:
        """Return the equations of several sets of lags as one."""
        return cls(
            gram=np.concatenate([part.gram for part in parts]),
            cross=np.concatenate([part.cross for part in parts]),
            energy=np.concatenate([part.energy for part in parts]),
        )

    def log_likelihood(self, n_rows: int, ridge: Floats | None = None) -> Floats:
        """Return the gain of log-likelihood over "no relation", shape (l,)."""
        solution = _solution(self.gram, self.cross, ridge)
        explained = np.sum(self.cross * solution, axis=-1)
        share = np.clip(explained / np.maximum(self.energy, 1e-30), 0.0, 1.0 - 1e-12)
        # Every lag counts as if all rows overlapped: otherwise a recurring motion would be
        # preferred to its repetitions merely for its longer overlap.
        return np.asarray(-0.5 * n_rows * np.log1p(-share).sum(axis=1))

    def ridge(self, lag: int, n_rows: int, coupling_std: Floats) -> Floats:
        """Return the ridge that limits how strongly channels may enter, shape (m, k).

        Noise and gain are those of the lag that fits best without a ridge.
        """
        cross = self.cross[lag]
        solution = _solution(self.gram[lag], cross, None)
        left = self.energy[lag] - np.sum(cross * solution, axis=-1)
        noise = np.maximum(left, 0.0) / n_rows
        is_free = np.isinf(coupling_std)
        gain = np.abs(solution[:, is_free]).max(axis=1)
        ridge = np.zeros_like(solution)
        ridge[:, ~is_free] = noise[:, None] / (coupling_std[~is_free] * gain[:, None] + 1e-30) ** 2
        return np.asarray(ridge)


def _solution(gram: Floats, cross: Floats, ridge: Floats | None) -> Floats:
    normal = gram.copy()
    diagonal = np.einsum("...kk->...k", normal)
    diagonal += 1e-9 * diagonal.sum(axis=-1, keepdims=True) + 1e-30
    if ridge is not None:
        diagonal += ridge
    return np.asarray(np.linalg.solve(normal, cross[..., None])[..., 0])
