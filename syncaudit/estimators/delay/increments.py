"""Convert both sides of a pair to increments, which can be compared directly.

A camera gives its rotation between two frames; a gyro, an accelerometer or a CAN signal gives the
change of its running integral between any two instants. Increments over the same interval are equal
(up to mounting and scale) when the clocks agree, whatever the sample rates: nothing is resampled,
and a lost frame is just a longer increment.

The driver's change over each increment, and the regression on it, are computed at every lag.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.model import RotationIncrements
from syncaudit.model.arrays import Bools, Floats

# Neighbouring increments count as evenly spaced if they differ by less than this part.
EVEN_SHARE = 0.25


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RollingShutter:
    """Effect of the rows of tracked points on a camera's increments.

    To first order in the row times, points read out ``row * T`` after the middle row see the
    rotation at that instant: the increment changes by ``T (M R dw + V R w)`` with the row moments
    M, the moved rows V, the mounting R, the angular rate w and its change dw over the increment.
    """

    # shape (n, 3, 3): M and V of `RotationIncrements`
    moments_px: Floats
    moves_px: Floats
    line_delay_s: float | None  # t where stated; None: it is estimated along with the delay
    mean_row_px: float  # plain mean row of the points, to which the delay refers if T is not stated

    def rows(self, keep: Bools | NDArray[np.intp]) -> RollingShutter:
        """Return the shutter terms of the selected increments."""
        return replace(self, moments_px=self.moments_px[keep], moves_px=self.moves_px[keep])

    def change_per_line_delay(self, bend: Floats, rate: Floats, mixing: Floats) -> Floats:
        """Return the derivative of the increments with respect to T, shape (n, 3).

        Parameters
        ----------
        bend, rate : ndarray, shape (n, k)
            Change and mean of the driving rate over each increment.
        mixing : ndarray, shape (3, k)
            Fitted mounting and scale.
        """
        change: Floats = np.einsum("nij,nj->ni", self.moments_px, bend @ mixing.T)
        change += np.einsum("nij,nj->ni", self.moves_px, rate @ mixing.T)
        return change


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Increments:
    """Changes of a signal over intervals of its source's clock."""

    # shape (n,): interval of each increment
    start_s: Floats
    stop_s: Floats
    values: Floats  # shape (n, m): increments
    weights: Floats  # shape (n, m): relative weights (inverse variance up to a factor per column)
    shutter: RollingShutter | None = None  # row times of a camera's increments
    # Sample period of the signal they were integrated from; zero: angles at single instants.
    period_s: float = 0.0
    # Whether errors are as large at rest as in motion (see `noise_of_motion`).
    is_noise_even: bool = False

    @property
    def mid_s(self) -> Floats:
        """Middle of each increment, shape (n,)."""
        return 0.5 * (self.start_s + self.stop_s)

    @property
    def width_s(self) -> Floats:
        """Length of each increment, shape (n,)."""
        return self.stop_s - self.start_s

    def bent(self, changes: Floats) -> Floats:
        """Return the second differences of values of these increments, shape (n, m).

        To first order, that is the effect of a wider filter on a signal: a variance of v adds
        ``v / 2`` times the second derivative. Zero where the neighbours are unevenly spaced.
        """
        bent = np.zeros_like(changes)
        if changes.shape[0] > 2:
            apart, width = np.diff(self.mid_s), self.width_s
            is_even = np.abs(np.diff(apart)) < EVEN_SHARE * apart[1:]
            is_even &= np.abs(width[2:] - width[1:-1]) < EVEN_SHARE * width[1:-1]
            is_even &= np.abs(width[:-2] - width[1:-1]) < EVEN_SHARE * width[1:-1]
            bent[1:-1] = np.diff(changes, 2, axis=0) * is_even[:, None]
        return bent

    def turned(self, axes: Floats) -> Increments:
        """Return the increments about other axes: the columns of `axes`, orthogonal, (m, m)."""
        shutter = self.shutter
        if shutter is not None:
            shutter = replace(
                shutter,
                moments_px=axes.T @ shutter.moments_px @ axes,
                moves_px=axes.T @ shutter.moves_px @ axes,
            )
        return replace(
            self,
            values=self.values @ axes,
            weights=1.0 / ((1.0 / np.maximum(self.weights, 1e-12)) @ axes**2),
            shutter=shutter,
        )

    def rows(self, keep: Bools | NDArray[np.intp]) -> Increments:
        """Return the increments selected by `keep`."""
        return replace(
            self,
            start_s=self.start_s[keep],
            stop_s=self.stop_s[keep],
            values=self.values[keep],
            weights=self.weights[keep],
            shutter=None if self.shutter is None else self.shutter.rows(keep),
        )


def from_integral(
    signal: RunningIntegral, *, width_s: float, stride_s: float | None = None
) -> Increments:
    """Cut a running integral into increments of equal width, those that touch no gap.

    Parameters
    ----------
    signal : RunningIntegral
        Signal of m channels.
    width_s : float
        Width of one increment; several sample periods, so that interpolation noise does not
        depend on the sub-sample phase.
    stride_s : float, optional
        Distance of neighbouring increments; by default they adjoin. Overlapping increments even out
        the steps of coarsely quantised signals, but their errors are correlated.
    """
    stride_s = width_s if stride_s is None else stride_s
    n = max(0, math.floor((signal.stop_s - signal.start_s - width_s) / stride_s) + 1)
    begin: Floats = signal.start_s + stride_s * np.arange(n, dtype=np.float64)
    end: Floats = np.minimum(begin + width_s, signal.stop_s)
    values: Floats = signal.at(end) - signal.at(begin)
    increments = Increments(
        start_s=begin,
        stop_s=end,
        values=values,
        weights=np.ones_like(values),
        period_s=signal.period_s,
    )
    return increments.rows(signal.covers(begin, end))


def from_rotation(rotation: RotationIncrements) -> Increments:
    """Weight a camera's rotation increments by their stated errors.

    Errors far below the typical one are an accident of few points: the weights are limited to four
    times the median weight of the axis.
    """
    variance = rotation.std_rad**2
    typical = np.median(variance, axis=0, keepdims=True)
    weights = np.minimum(1.0 / np.maximum(variance, 1e-16), 4.0 / np.maximum(typical, 1e-16))
    return Increments(
        start_s=rotation.start_s,
        stop_s=rotation.stop_s,
        values=rotation.angles_rad,
        weights=weights * np.maximum(typical, 1e-16),
        shutter=RollingShutter(
            moments_px=rotation.row_moments_px,
            moves_px=rotation.row_moves_px,
            line_delay_s=rotation.line_delay_s,
            mean_row_px=rotation.mean_row_px,
        ),
    )


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
