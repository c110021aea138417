"""Reduce a picture to the brightness of its rows in sixteen column blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["FrameRows", "frame_rows"]

N_BLOCKS = 16
# Luma above which a pixel may be clipped, and the share of such pixels that spoils a cell.
CLIPPED_LUMA = 245
CLIPPED_SHARE = 0.02


@dataclass(frozen=True, eq=False)
class FrameRows:
    """Rows of one frame.

    Parameters
    ----------
    index : int
        Position of the frame in file order.
    levels : ndarray of float32, shape (h, b)
        Mean luma of each row in each column block.
    is_clean : ndarray of bool, shape (h, b)
        Where no more than a fiftieth of the pixels is clipped.
    """

    index: int
    levels: NDArray[np.float32]
    is_clean: NDArray[np.bool_]

    @cached_property
    def row_levels(self) -> NDArray[np.float32]:
        """Mean luma of each row over all blocks, shape (h,)."""
        return np.asarray(self.levels.mean(axis=1), dtype=np.float32)


def frame_rows(index: int, luma: NDArray[np.uint8]) -> FrameRows:
    """Return the rows of a luma picture of shape (h, w).

    Columns beyond the last whole block are left out. One copy and one `cv2.reduce`: a fortieth of
    decoding H.264; pixels are counted for clipping only where some are clipped at all.
    """
    height, width = luma.shape
    n_blocks = min(N_BLOCKS, width)
    size = width // n_blocks
    inner = np.ascontiguousarray(luma[:, : n_blocks * size])
    sums = _block_sums(inner, n_blocks)
    is_clean = np.ones((height, n_blocks), dtype=np.bool_)
    clipped = cv2.threshold(inner, CLIPPED_LUMA, 1, cv2.THRESH_BINARY)[1]
    if cv2.countNonZero(clipped):
        counts = _block_sums(np.asarray(clipped, dtype=np.uint8), n_blocks)
        is_clean = counts <= CLIPPED_SHARE * size
    return FrameRows(index, sums.astype(np.float32) / np.float32(size), is_clean)


def _block_sums(picture: NDArray[np.uint8], n_blocks: int) -> NDArray[np.int32]:
    height, width = picture.shape
    cells = picture.reshape(height * n_blocks, width // n_blocks)
    sums = cv2.reduce(cells, 1, cv2.REDUCE_SUM, dtype=cv2.CV_32S)
    return np.asarray(sums, dtype=np.int32).reshape(height, n_blocks)
