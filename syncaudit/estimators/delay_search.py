"""Find the delay of one set of increments against another signal over a wide search range.

For every lag the increments are regressed on those of the driving signal (free mixing matrix, so
that mounting and scale need not be known) and the log-likelihood ratio against "no relation" is
taken. Normalising each lag by its own energy is what makes the curve comparable over lags
(Lewis, "Fast normalized cross-correlation", 1995).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.dsp.robust import mad_std_of_columns
from syncaudit.estimators.increments import Increments

__all__ = ["DelayCurve", "DelaySearch", "search_delay", "slow_basis"]

Floats = NDArray[np.float64]

# Rows used for the coarse search; more only cost time.
MAX_ROWS = 300
# Period of the fastest nuisance term: slower changes (gyro bias, translation that leaks into
# the rotation) are not evidence of a delay.
NUISANCE_PERIOD_S = 8.0
# Log-likelihood by which a valley must separate two lobes.
MIN_VALLEY = 4.0
# Changes looked at together: arrays that the system need not fetch anew each time.
CHUNK_VALUES = 40_000
# Fraction of the rows that must overlap at a lag.
MIN_OVERLAP = 0.4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DelayCurve:
    """Log-likelihood ratio over the delay.

    Parameters
    ----------
    delays_s : ndarray, shape (l,)
        Candidates, evenly spaced.
    log_likelihood : ndarray, shape (l,)
        Gain of log-likelihood over "no relation"; -inf where too little overlaps.
    """

    delays_s: Floats
    log_likelihood: Floats

    def best(self) -> int:
        """Return the index of the best delay."""
        return int(np.argmax(self.log_likelihood))

    def runner_up(self, index: int, *, apart_s: float = 0.0) -> float:
        """Return the log-likelihood of the best lobe other than the one at `index`.

        Another lobe is what lies beyond a valley at least `MIN_VALLEY` deeper than itself: ripples
        on the flank of a lobe are part of it. Only lobes farther than `apart_s` count.
        """
        curve = np.where(np.isfinite(self.log_likelihood), self.log_likelihood, 0.0)
        best = 0.0
        distance_s = np.abs(self.delays_s - self.delays_s[index])
        for side, far in (
            (curve[index + 1 :], distance_s[index + 1 :]),
            (curve[:index][::-1], distance_s[:index][::-1]),
        ):
            if side.size:
                valley = np.minimum.accumulate(np.minimum(side, curve[index]))
                apart = (side - valley >= MIN_VALLEY) & (far >= apart_s)
                if apart.any():
                    best = max(best, float(side[apart].max()))
        return best

    def is_at_edge(self, index: int) -> bool:
        """Tell whether the best delay lies at the end of what could be searched."""
        usable = np.flatnonzero(np.isfinite(self.log_likelihood))
        return bool(index <= usable[0] + 1 or index >= usable[-1] - 1)


def slow_basis(mid_s: Floats, span_s: float) -> Floats:
    """Return slow cosines over the clip, shape (n, k): the rate of nuisance that is fitted away."""
    n_terms = 1 + int(2.0 * span_s / NUISANCE_PERIOD_S)
    phase = np.pi * (mid_s - mid_s.min()) / max(span_s, 1e-9)
    basis: Floats = np.cos(
        phase[:, None] * np.arange(min(n_terms, max(1, mid_s.size // 8)))[None, :]
    )
    return basis


def search_delay(
    increments: Increments,
    driver: RunningIntegral,
    *,
    lowest_s: float,
    highest_s: float,
    step_s: float,
) -> DelayCurve:
    """Return the likelihood curve over delays from `lowest_s` to `highest_s`.

    Parameters
    ----------
    increments : Increments
        Of the source, m columns.
    driver : RunningIntegral
        Signal of the target, k channels.
    lowest_s, highest_s, step_s : float
        Delays to try, ``t_target = t_source + delay``.

    Returns
    -------
    DelayCurve
        One value a delay.
    """
    search = DelaySearch.of(
        increments, driver, lowest_s=lowest_s, highest_s=highest_s, step_s=step_s
    )
    return search.curve(lowest_s, highest_s, step_s)


@dataclass(frozen=True, slots=True, eq=False)
class DelaySearch:
    """What all searches of one pair share.

    Parameters
    ----------
    increments : Increments
        Of the source, thinned to n rows of m columns.
    values : ndarray, shape (n, m)
        Increments without slow terms and outliers.
    basis : ndarray, shape (n, b)
        Slow terms, orthonormal.
    driver : RunningIntegral
        Signal of the target, k channels.
    """

    increments: Increments
    values: Floats
    basis: Floats
    driver: RunningIntegral
    _table: _Table

    @classmethod
    def of(
        cls,
        increments: Increments,
        driver: RunningIntegral,
        *,
        lowest_s: float,
        highest_s: float,
        step_s: float,
    ) -> DelaySearch:
        """Prepare for delays in a range, in multiples of a step."""
        n = increments.values.shape[0]
        if n > MAX_ROWS:
            increments = increments.rows(np.linspace(0, n - 1, MAX_ROWS).astype(np.intp))
        values, basis = _without_nuisance(increments)
        table = _Table.of(
            driver,
            start_s=float(increments.start_s.min()) + lowest_s,
            stop_s=float(increments.stop_s.max()) + highest_s,
            lag_s=step_s,
        )
        return cls(increments, values, basis, driver, table)

    def curve(self, lowest_s: float, highest_s: float, step_s: float) -> DelayCurve:
        """Return the likelihood curve over delays, one value a delay."""
        increments, driver = self.increments, self.driver
        n = self.values.shape[0]
        delays_s = np.arange(lowest_s, highest_s + 0.5 * step_s, step_s)
        parts: list[_Normal] = []
        searched: list[NDArray[np.intp]] = []
        is_enough = np.zeros(delays_s.size, dtype=np.bool_)
        n_chunks = max(1, delays_s.size * n * driver.n_channels // CHUNK_VALUES)
        for chunk in np.array_split(np.arange(delays_s.size), n_chunks):
            begin = increments.start_s[:, None] + delays_s[chunk]
            end = increments.stop_s[:, None] + delays_s[chunk]
            covered = driver.covers(begin, end)
            is_enough[chunk] = covered.mean(axis=0) >= MIN_OVERLAP
            if is_enough[chunk].any():
                change = self._table.change(begin[:, 0], end[:, 0], chunk.size, step_s)
                parts.append(
                    _Normal.of(self.values, increments.weights, self.basis, change, covered)
                )
                searched.append(chunk)
        curve = np.full(delays_s.size, -np.inf)
        if parts:
            normal, lags = _Normal.joined(parts), np.concatenate(searched)
            curve[lags] = normal.log_likelihood(n)
            curve[~is_enough] = -np.inf
            if driver.coupling_std is not None:
                best = int(np.searchsorted(lags, np.argmax(curve)))
                curve[lags] = normal.log_likelihood(n, normal.ridge(best, n, driver.coupling_std))
                curve[~is_enough] = -np.inf
        return DelayCurve(delays_s=delays_s, log_likelihood=curve)


def _without_nuisance(increments: Increments) -> tuple[Floats, Floats]:
    mid_s = increments.mid_s
    span_s = float(np.ptp(mid_s)) if mid_s.size else 0.0
    basis, _ = np.linalg.qr(slow_basis(mid_s, span_s) * increments.width_s[:, None])
    values = increments.values - basis @ (basis.T @ increments.values)
    # One bad increment must not decide: clip at six robust standard deviations.
    most = 6.0 * mad_std_of_columns(values) + 1e-15
    return np.minimum(np.maximum(values, -most), most), basis


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """A driver's integral on an even grid, of which a lag is a whole number of steps.

    A time and the same time some lags later then lie alike between two nodes: what they need is
    cut from the table in one piece.
    """

    nodes: Floats  # (2, k, g): the integral, and its rise to the next node
    start_s: float
    step_s: float

    @classmethod
    def of(cls, driver: RunningIntegral, *, start_s: float, stop_s: float, lag_s: float) -> _Table:
        """Tabulate the driver from `start_s` to `stop_s`; outside its range it stands still."""
        step_s = lag_s / math.ceil(lag_s / max(driver.period_s, 1e-3) - 1e-6)
        grid_s = start_s + step_s * np.arange(math.ceil((stop_s - start_s) / step_s) + 3)
        nodes = driver.at(np.clip(grid_s, driver.start_s, driver.stop_s)).T.copy()
        return cls(np.stack([nodes[:, :-1], np.diff(nodes)]), start_s, step_s)

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
        """Return the share of the step that is gone, shape (n, 1), and the node before it."""
        position = np.maximum(times_s - self.start_s, 0.0) / self.step_s
        node = position.astype(np.intp)
        return (position - node)[:, None], node


@dataclass(frozen=True, slots=True, eq=False)
class _Normal:
    """Normal equations of the regression at each of l lags, for m columns and k channels."""

    gram: Floats
    cross: Floats
    energy: Floats

    @classmethod
    def of(
        cls,
        values: Floats,
        weights: Floats,
        basis: Floats,
        change: Floats,
        covered: NDArray[np.bool_],
    ) -> _Normal:
        """Set up the equations.

        Parameters
        ----------
        values, weights : ndarray, shape (n, m)
            Increments of the source.
        basis : ndarray, shape (n, b)
            Slow terms, orthonormal.
        change : ndarray, shape (k, n, l)
            What the driver does over the same intervals, at each lag; overwritten.
        covered : ndarray of bool, shape (n, l)
            Whether the driver holds there.
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
    def joined(cls, parts: Sequence[_Normal]) -> _Normal:
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
        # Every lag counts as if all rows overlapped: a recurring motion is not told from its
        # repetitions by the longer overlap of the nearer one.
        return np.asarray(-0.5 * n_rows * np.log1p(-share).sum(axis=1))

    def ridge(self, lag: int, n_rows: int, coupling_std: Floats) -> Floats:
        """Return what keeps channels from entering stronger than they may, shape (m, k).

        Noise and gain are those of the lag that fits best without it.
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
