"""Cut windows around edges out of lit frames, and stack them for one fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.flash_background import LitFrame
from syncaudit.detectors.flash_shape import PulseShape

__all__ = ["Cells", "EdgeWindow", "stack_cells"]

Floats = NDArray[np.float64]

# Rows are averaged by as many as leave ten in a ramp, at most this many.
MAX_BIN_ROWS = 4
BINS_PER_RAMP = 10.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EdgeWindow:
    """Neighbouring edges of a frame that are fitted together.

    Parameters
    ----------
    lit : LitFrame
        The frame.
    rows : tuple of float
        First guesses.
    is_upper : tuple of bool
        Whether light begins below each.
    start, stop : int
        The rows that are used.
    lit_share : float
        Share of the frame that is lit.
    """

    lit: LitFrame
    rows: tuple[float, ...]
    is_upper: tuple[bool, ...]
    start: int
    stop: int
    lit_share: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """Cells of w windows of one number of edges, padded to n bins of rows.

    Parameters
    ----------
    bin_rows : int
        Rows in a bin.
    n_bins : ndarray, shape (w,)
        Bins that are not padding.
    is_known : ndarray of bool, shape (w, n)
        Those of them whose background is known.
    rows : ndarray, shape (w, n)
        Middle of each bin.
    excess, texture : ndarray, shape (w, b, n)
        Light above the background in luma levels; the background in deviations from its mean.
    clean : ndarray, shape (w, b, n)
        1 where a cell is used, else 0.
    """

    bin_rows: int
    n_bins: Floats
    is_known: NDArray[np.bool_]
    rows: Floats
    excess: Floats
    texture: Floats
    clean: Floats


def stack_cells(windows: Sequence[EdgeWindow], shape: PulseShape) -> Cells:
    """Return the cells of windows, binned as finely as the ramps of the pulse ask for."""
    rows = int(np.clip((shape.ramp_px + 0.5 * shape.tail_px) / BINS_PER_RAMP, 1.0, MAX_BIN_ROWS))
    n = max((window.stop - window.start) // rows for window in windows)
    n_blocks = windows[0].lit.excess.shape[1]
    middle = np.zeros((len(windows), n))
    is_known = np.zeros((len(windows), n), dtype=np.bool_)
    excess, background, clean = np.zeros((3, len(windows), n_blocks, n))
    for i, window in enumerate(windows):
        lit, start = window.lit, window.start
        count = (window.stop - start) // rows
        stop = start + count * rows
        middle[i] = start + 0.5 * (rows - 1) + rows * np.arange(n)

        parts = (lit.excess[start:stop], lit.background[start:stop], lit.is_clean[start:stop])
        cells = np.concatenate(parts, axis=1, dtype=np.float64).reshape(count, rows, -1)
        binned = (np.add.reduce(cells, axis=1) / rows).T.reshape(3, n_blocks, count)
        excess[i, :, :count], background[i, :, :count] = binned[0], binned[1]
        clean[i, :, :count] = binned[2] > 1.0 - 1e-6
        is_known[i, :count] = lit.is_known[start:stop].reshape(count, rows).all(axis=1)
    used = np.maximum(clean.sum(axis=2, keepdims=True), 1.0)
    centred = (background - (background * clean).sum(axis=2, keepdims=True) / used) * clean
    spread = np.sqrt(np.sum(centred**2, axis=2, keepdims=True) / used)
    # A texture below one level tells nothing of how the light scales with brightness.
    return Cells(
        bin_rows=rows,
        n_bins=np.array([(w.stop - w.start) // rows for w in windows], dtype=np.float64),
        is_known=is_known,
        rows=middle,
        excess=excess,
        texture=centred / np.maximum(spread, 1.0),
        clean=clean,
    )
