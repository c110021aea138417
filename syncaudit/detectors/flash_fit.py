"""Fit one edge of a band, or a short band as a whole, over all column blocks at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.flash_background import LitFrame
from syncaudit.detectors.flash_shape import EdgeProfile
from syncaudit.dsp.robust import cauchy_weights, hac_covariance

__all__ = ["EdgeFit", "Profile", "fit_edge"]

Floats = NDArray[np.float64]
Profile = Callable[[Floats], Floats]
"""Light as a function of the rows below an edge."""

N_ITERATIONS = 12
CONVERGED_ROWS = 0.003
MIN_ROWS = 10
# Rows over which residuals hang together: blocks of the encoder, texture of the background.
CORRELATED_ROWS = 12
# Column blocks agree within this, and count where they know their edge better than that.
AGREE_ROWS = 3.0
KNOWN_ROWS = 1.5
MIN_KNOWN_BLOCKS = 4
# Least error: interlocking of rows, transform blocks and pulse shape that no residual shows.
FLOOR_ROWS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EdgeFit:
    """Where an edge lies and how well it is known.

    Parameters
    ----------
    row, row_std : float
        Row of the picture (0 is the first) and its one-sigma error.
    step : float
        Mean height of the edge in luma levels, negative where the fitted profile is inverted.
    significance : float
        Step in units of its own error.
    contrast : float
        Step in units of the residual's deviation, median of the blocks.
    n_usable, n_agreeing : int
        Column blocks that are not clipped, and those of them that know the edge by themselves
        and agree with the others.
    profile : EdgeProfile
        What the shape of the pulse is pooled from.
    """

    row: float
    row_std: float
    step: float
    significance: float
    contrast: float
    n_usable: int
    n_agreeing: int
    profile: EdgeProfile
    block_shift: Floats
    block_info: Floats
    block_step: Floats


def fit_edge(
    lit: LitFrame, row: float, window: tuple[int, int], profile: Profile, slope: Profile
) -> EdgeFit | None:
    """Return the row at which the profile fits best, or None where it does not converge.

    Model, in block b and row r of the window::

        excess = n0_b + n1_b * background + (a_b + c_b * background) * profile(r - row)

    The flash lights surfaces as their brightness says (c) and, by another direction or through the
    black level, not only (a); n takes up what the background misses. The four linear coefficients
    of each block are eliminated, the row is found by Gauss-Newton steps (variable projection with
    Kaufman's approximation, "A variable projection method for solving separable nonlinear least
    squares problems", BIT 15, 1975, doi:10.1007/BF01932995), with Cauchy weights on cells and on
    blocks. The error is the larger of a HAC estimate along the rows and of the scatter over the
    blocks: background that moved is correlated both ways.

    Parameters
    ----------
    lit : LitFrame
        Frame.
    row : float
        First guess.
    window : tuple of int
        First row and stop of the rows that are used.
    profile, slope : callable
        Light below the edge, and its derivative by rows.
    """
    start, stop = window
    if stop - start < MIN_ROWS:
        return None
    data = _Window(lit, start, stop)
    low, high = start + 1.0, stop - 2.0
    for _ in range(N_ITERATIONS):
        step = data.linearise(row, profile, slope)
        if step is None:
            return None
        row += float(np.clip(step, -0.25 * (stop - start), 0.25 * (stop - start)))
        if not low < row < high:
            return None
        if abs(step) < CONVERGED_ROWS:
            break
    return data.result(row)


class _Window:
    """Rows of a frame around an edge, block by block: arrays of shape (b, n)."""

    def __init__(self, lit: LitFrame, start: int, stop: int) -> None:
        self.rows = np.arange(start, stop, dtype=np.float64)
        self.excess = lit.excess[start:stop].T.astype(np.float64)
        background = lit.background[start:stop].T.astype(np.float64)
        centred = background - background.mean(axis=1, keepdims=True)
        # A texture below one level tells nothing of how the light scales with brightness.
        self.texture = centred / np.maximum(centred.std(axis=1, keepdims=True), 1.0)
        self.clean = lit.is_clean[start:stop].T.astype(np.float64)
        self.weights = self.clean.copy()
        self.block_weights = np.ones(self.excess.shape[0])

    def linearise(self, row: float, profile: Profile, slope: Profile) -> float | None:
        """Solve the linear part at `row`; return the step to a better row."""
        light = profile(self.rows - row)
        ones = np.ones_like(self.texture)
        columns = np.stack((ones, self.texture, ones * light, self.texture * light), axis=-1)
        weighted = (columns * self.weights[..., None]).transpose(0, 2, 1)
        normal = weighted @ columns
        normal += 1e-6 * (np.trace(normal, axis1=1, axis2=2)[:, None, None] + 1e-3) * np.eye(4)
        inverse = np.linalg.inv(normal)

        def projected(values: Floats) -> tuple[Floats, Floats]:
            found = inverse @ (weighted @ values[..., None])
            return values - (columns @ found)[..., 0], found[..., 0]

        residual, linear = projected(self.excess)
        self.height = linear[:, 2:3] + linear[:, 3:4] * self.texture
        jacobian, _ = projected(-self.height * slope(self.rows - row))
        self.nuisance = linear[:, 0:1] + linear[:, 1:2] * self.texture
        self.step, self.step_var = linear[:, 2], inverse[:, 2, 2]
        n_cells = self.clean.sum(axis=1)
        spread = np.sum(self.weights * residual**2, axis=1) / np.maximum(
            self.weights.sum(axis=1) * (1.0 - 4.5 / np.maximum(n_cells, 5.0)), 1e-9
        )
        usable = n_cells >= MIN_ROWS
        if np.count_nonzero(usable) == 0:
            return None
        floor = 0.25 * float(np.median(spread[usable])) + 1e-4
        self.variance = spread + floor
        info = self._share(usable)
        self.scores = info[:, None] * self.weights * jacobian * residual
        self.info = info * np.sum(self.weights * jacobian**2, axis=1)
        total = float(self.info.sum())
        if total <= 0.0:
            return None
        shift = float(self.scores.sum()) / total
        self._reweigh(residual, shift)
        return shift

    def _share(self, usable: NDArray[np.bool_]) -> Floats:
        return np.where(usable, self.block_weights / self.variance, 0.0)

    def _reweigh(self, residual: Floats, shift: float) -> None:
        self.weights = self.clean * cauchy_weights(residual / np.sqrt(self.variance)[:, None])
        self.block_shift = self.scores.sum(axis=1) / np.maximum(self.info, 1e-12)
        self.block_std = 1.0 / np.sqrt(np.maximum(self.info, 1e-12))
        apart = self.block_shift - shift
        known = self.block_std < KNOWN_ROWS
        if np.count_nonzero(known) >= MIN_KNOWN_BLOCKS:
            spread = 1.4826 * float(np.median(np.abs(apart[known])))
            self.block_weights = cauchy_weights(apart / np.hypot(self.block_std, spread))

    def result(self, row: float) -> EdgeFit:
        """Return the fit at the row of the last step."""
        total = float(self.info.sum())
        n_rows = self.rows.size
        along = hac_covariance(self.scores.sum(axis=0)[:, None], n_lags=CORRELATED_ROWS)
        n_blocks = max(2.0, float(self.info.sum()) ** 2 / float(np.sum(self.info**2)))
        across = float(np.sum(self.scores.sum(axis=1) ** 2)) * n_blocks / (n_blocks - 1.0)
        variance = max(float(along[0, 0]) * n_rows / max(n_rows - 5.0, 1.0), across) / total**2
        variance = max(variance, 1.0 / total)
        step_precision = np.where(self.info > 0.0, 1.0 / (self.variance * self.step_var), 0.0)
        precision = float(step_precision.sum())
        step = float(np.dot(step_precision, self.step)) / max(precision, 1e-12)
        known = self.block_std < KNOWN_ROWS
        agreeing = known & (np.abs(self.block_shift) < AGREE_ROWS) & (self.step * step > 0.0)
        weights = self.weights * (self.block_weights / self.variance)[:, None]
        power = np.sum(weights * self.height**2, axis=0) + 1e-12
        light = np.sum(weights * self.height * (self.excess - self.nuisance), axis=0) / power
        return EdgeFit(
            row=row,
            row_std=float(np.hypot(np.sqrt(variance), FLOOR_ROWS)),
            step=step,
            significance=abs(step) * float(np.sqrt(precision)),
            contrast=float(
                np.median((np.abs(self.step) / np.sqrt(self.variance))[self.info > 0.0])
            ),
            n_usable=int(np.count_nonzero(self.info > 0.0)),
            n_agreeing=int(np.count_nonzero(agreeing)),
            profile=EdgeProfile(self.rows - row, light, power),
            block_shift=self.block_shift,
            block_info=self.info,
            block_step=self.step,
        )
