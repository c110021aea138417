"""Solve for the rows of edges, over all column blocks and many windows at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.flash_cells import Cells, EdgeWindow
from syncaudit.detectors.flash_shape import PulseShape
from syncaudit.dsp.robust import cauchy_weights

__all__ = ["KNOWN_ROWS", "MIN_KNOWN_BLOCKS", "EdgeSolver"]

Floats = NDArray[np.float64]

MIN_BINS = 8
# Rows over which residuals hang together: blocks of the encoder, texture of the background.
CORRELATED_ROWS = 12
KNOWN_ROWS = 1.5
MIN_KNOWN_BLOCKS = 4
# Share of its dark and of its lit bins, and of all, that a block needs clean.
MIN_CLEAN_SHARE = 0.9
# Share of the blocks that are clean before the edge that must be clean throughout.
MIN_USABLE_SHARE = 1.0 / 3.0


class EdgeSolver:
    """Gauss-Newton steps of the model of `fit_windows`, for all windows at once.

    Attributes
    ----------
    x, move : ndarray, shape (w, j)
        Row of each edge, and the last step towards it.
    signs : ndarray, shape (w, j)
        +1 for upper, -1 for lower edges.
    is_inside : ndarray of bool, shape (w,)
        Windows whose edges never left them.
    curves : ndarray, shape (w, j, n)
        Signed share of light of each edge.
    step, step_var, variance, usable : ndarray, shape (w, b)
        Height of each block's edges in levels and its variance, variance of the block's residuals,
        and whether it counts.
    shift, std, info : ndarray, shape (w, j, b)
        How many rows lower each block sees an edge, its error, and the inverse variance.
    """

    def __init__(self, cells: Cells, windows: Sequence[EdgeWindow], shape: PulseShape) -> None:
        self.cells, self.shape = cells, shape
        self.signs = np.where([window.is_upper for window in windows], 1.0, -1.0)
        self.x = np.array([window.rows for window in windows], dtype=np.float64)
        self.reach = 0.25 * np.array([[w.stop - w.start] for w in windows], dtype=np.float64)
        self.start = np.array([[w.start] for w in windows], dtype=np.float64)
        self.stop = np.array([[w.stop] for w in windows], dtype=np.float64)
        self.weights = cells.clean
        self.block_weights = np.ones(cells.clean.shape[:2])
        self.is_inside = np.ones(len(windows), dtype=np.bool_)

    def improve(self) -> None:
        """Solve for all linear coefficients and move the rows by one Gauss-Newton step."""
        below = self.cells.rows[:, None, :] - self.x[:, :, None]
        self.curves = self.signs[:, :, None] * self.shape.cdf(below)
        slopes = -self.signs[:, :, None] * self.shape.slope(below)
        texture, clean = self.cells.texture, self.cells.clean
        light = np.broadcast_to(self.curves.sum(axis=1)[:, None], texture.shape)
        x = np.stack((np.ones_like(texture), texture, light, texture * light), axis=2)
        n_edges = slopes.shape[1]
        moved = np.broadcast_to(slopes[:, None], (*texture.shape[:2], *slopes.shape[1:]))
        y = np.concatenate(
            (self.cells.excess[:, :, None], moved, texture[:, :, None] * moved), axis=2
        )
        xw = x * self.weights[:, :, None]
        normal = xw @ x.swapaxes(2, 3)
        trace = np.trace(normal, axis1=2, axis2=3)[..., None, None]
        inverse = np.linalg.inv(normal + 1e-6 * (trace + 1e-3) * np.eye(4))
        found = inverse @ (xw @ y.swapaxes(2, 3))
        y = y - found.swapaxes(2, 3) @ x
        self.linear = found[..., 0]
        slope = self.linear[:, :, 2, None, None] * y[:, :, 1 : n_edges + 1]
        slope += self.linear[:, :, 3, None, None] * y[:, :, n_edges + 1 :]
        self.step, self.step_var = self.linear[:, :, 2], inverse[:, :, 2, 2]
        self._weigh(y[:, :, 0], slope, clean)

    def _weigh(self, residual: Floats, slope: Floats, clean: Floats) -> None:
        n_cells = clean.sum(axis=2)
        spread = np.sum(self.weights * residual**2, axis=2) / np.maximum(
            self.weights.sum(axis=2) * (1.0 - 4.5 / np.maximum(n_cells, 5.0)), 1e-9
        )
        usable = self._usable(clean)
        self.variance = spread + 0.25 * _medians(spread, usable) + 1e-4
        self.usable = usable
        info = np.where(usable, self.block_weights / self.variance, 0.0)
        weighted = (info[..., None] * self.weights)[:, :, None] * slope
        self.scores = weighted * residual[:, :, None]  # (w, b, j, n)
        block_normal = weighted @ slope.swapaxes(2, 3)
        normal = block_normal.sum(axis=1)
        self.info = np.einsum("wbjj->wjb", block_normal)
        trace = np.trace(normal, axis1=1, axis2=2)[:, None, None]
        self.inverse = np.linalg.inv(normal + (1e-9 * trace + 1e-12) * np.eye(normal.shape[1]))
        pulls = self.scores.sum(axis=3)
        self.move = np.clip(
            (self.inverse @ pulls.sum(axis=1)[..., None])[..., 0], -self.reach, self.reach
        )
        x = self.x + self.move
        low, high = self.start + 1.0, self.stop - 2.0
        self.is_inside &= ((x > low) & (x < high)).all(axis=1) & usable.any(axis=1)
        self.x = np.clip(x, low, high)
        self.shift = pulls.swapaxes(1, 2) / np.maximum(self.info, 1e-12)
        self.std = 1.0 / np.sqrt(np.maximum(self.info, 1e-12))
        self.weights = clean * cauchy_weights(residual / np.sqrt(self.variance)[..., None])
        self._weigh_blocks()

    def _usable(self, clean: Floats) -> NDArray[np.bool_]:
        """Return the blocks that are clean where light has hardly and where it has mostly come.

        None where the light clips most of the blocks that it finds clean.
        """
        light = self.curves.sum(axis=1)
        low, high = light.min(axis=1, keepdims=True), light.max(axis=1, keepdims=True)
        share = (light - low) / np.maximum(high - low, 1e-9)
        is_clean = []
        for chosen in (share < 0.2, share > 0.8, share >= 0.0):
            here = (chosen & self.cells.is_known).astype(np.float64)
            n_here = here.sum(axis=1, keepdims=True)
            n_clean = (clean @ here[..., None])[..., 0]
            is_clean.append((n_clean >= MIN_CLEAN_SHARE * n_here) & (n_here > 1.0))
        usable: NDArray[np.bool_] = is_clean[0] & is_clean[1] & is_clean[2]
        usable &= clean.sum(axis=2) >= MIN_BINS
        enough = usable.sum(axis=1) >= MIN_USABLE_SHARE * is_clean[0].sum(axis=1)
        return np.asarray(usable & enough[:, None])

    def _weigh_blocks(self) -> None:
        apart = self.shift - self.move[:, :, None]
        known = self.std < KNOWN_ROWS
        is_judged = known.sum(axis=2) >= MIN_KNOWN_BLOCKS
        spread = 1.4826 * _medians(np.abs(apart), known)
        weights = np.where(
            is_judged[..., None], cauchy_weights(apart / np.hypot(self.std, spread)), 1.0
        )
        self.block_weights = weights.min(axis=1)

    def variances(self) -> Floats:
        """Return the larger of three estimates of each row's variance, shape (w, j)."""
        along = self.inverse @ self.scores.sum(axis=1)  # (w, j, n)
        n_lags = max(1, CORRELATED_ROWS // self.cells.bin_rows)
        total = np.sum(along**2, axis=2)
        for lag in range(1, min(n_lags, along.shape[2] - 1) + 1):
            share = 2.0 * (1.0 - lag / (n_lags + 1.0))
            total += share * np.sum(along[..., lag:] * along[..., :-lag], axis=2)
        n_bins = self.cells.n_bins[:, None]
        total *= n_bins / np.maximum(n_bins - 5.0, 1.0)
        across = self.inverse @ self.scores.sum(axis=3).swapaxes(1, 2)  # (w, j, b)
        power = np.maximum(np.sum(self.info**2, axis=2), 1e-30)
        n_blocks = np.maximum(2.0, np.sum(self.info, axis=2) ** 2 / power)
        scatter = np.sum(across**2, axis=2) * n_blocks / (n_blocks - 1.0)
        model = np.einsum("wjj->wj", self.inverse)
        return np.asarray(np.maximum(np.maximum(total, scatter), model))

    def lights(self) -> tuple[Floats, Floats]:
        """Return the light of each bin over all blocks, and its inverse variance, shape (w, n)."""
        texture = self.cells.texture
        height = self.linear[:, :, 2, None] + self.linear[:, :, 3, None] * texture
        nuisance = self.linear[:, :, 0, None] + self.linear[:, :, 1, None] * texture
        info = np.where(self.usable, self.block_weights / self.variance, 0.0)
        weights = self.weights * info[..., None]
        power = np.sum(weights * height**2, axis=1)
        light = np.sum(weights * height * (self.cells.excess - nuisance), axis=1)
        return light / np.maximum(power, 1e-12), power


def _medians(values: Floats, is_value: NDArray[np.bool_]) -> Floats:
    """Return the upper medians along the last axis, which stays, of the values that are any."""
    ordered = np.sort(np.where(is_value, values, np.inf), axis=-1)
    middle = np.count_nonzero(is_value, axis=-1, keepdims=True) // 2
    medians = np.take_along_axis(ordered, np.minimum(middle, values.shape[-1] - 1), axis=-1)
    return np.where(np.isfinite(medians), medians, 0.0)
