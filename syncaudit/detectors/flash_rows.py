"""Reduce a picture to the brightness of its rows in column blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["FrameRows", "frame_rows"]

Singles = NDArray[np.float32]

N_BLOCKS = 16
# Four strips of about 120 rows tell whether a frame is worth a look.
N_STRIPS = 4
N_STRIP_ROWS = 120
# Luma above which a pixel may be clipped, and the share of such pixels that spoils a cell.
CLIPPED_LUMA = 245
CLIPPED_SHARE = 0.02


@dataclass(frozen=True, eq=False)
class FrameRows:
    """One frame: coarse strips at once, rows in column blocks when they are asked for.

    Parameters
    ----------
    index : int
        Position of the frame in file order.
    luma : ndarray of uint8, shape (h, w)
        A copy of the picture, contiguous.
    strips : ndarray of float32, shape (n, s)
        Mean luma of about 120 of the rows, evenly spread, in up to four strips of columns.
    """

    index: int
    luma: NDArray[np.uint8]
    strips: Singles

    @cached_property
    def levels(self) -> Singles:
        """Mean luma of each row in each column block, shape (h, b); odd columns are left out."""
        size = max(1, self.luma.shape[1] // N_BLOCKS)
        return _block_means(self.luma, min(N_BLOCKS, self.luma.shape[1]), size)

    @cached_property
    def is_clean(self) -> NDArray[np.bool_]:
        """Where no more than a fiftieth of the pixels is clipped, shape (h, b)."""
        clipped = cv2.threshold(self.luma, CLIPPED_LUMA, 1, cv2.THRESH_BINARY)[1]
        if not cv2.countNonZero(clipped):
            return np.ones(self.levels.shape, dtype=np.bool_)
        size = max(1, self.luma.shape[1] // N_BLOCKS)
        share = _block_means(np.asarray(clipped, dtype=np.uint8), self.levels.shape[1], size)
        return share <= CLIPPED_SHARE

    @cached_property
    def row_levels(self) -> Singles:
        """Mean luma of each row over all blocks, shape (h,)."""
        n_blocks = self.levels.shape[1]
        return self.levels @ np.full(n_blocks, 1.0 / n_blocks, dtype=np.float32)


def frame_rows(index: int, luma: NDArray[np.uint8]) -> FrameRows:
    """Return a luma picture of shape (h, w) with its strips, by one copy and one `cv2.reduce`."""
    height, width = luma.shape
    n_strips = min(N_STRIPS, width)
    every = max(1, height // N_STRIP_ROWS)
    return FrameRows(
        index, np.array(luma, order="C"), _block_means(luma[::every], n_strips, width // n_strips)
    )


def _block_means(picture: NDArray[np.uint8], n_blocks: int, size: int) -> Singles:
    inner = np.ascontiguousarray(picture[:, : n_blocks * size])
    cells = inner.reshape(inner.shape[0] * n_blocks, size)
    sums = cv2.reduce(cells, 1, cv2.REDUCE_SUM, dtype=cv2.CV_32S)
    means: Singles = np.asarray(sums, dtype=np.float32).reshape(-1, n_blocks) / np.float32(size)
    return means
