"""Reduce a picture to the brightness of its rows in column blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from syncaudit.decode import Picture

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
    picture : Picture
        The frame itself, kept.
    strips : ndarray of float32, shape (n, s)
        Mean luma of about 120 of the rows, evenly spread, in up to four strips of columns.
    """

    picture: Picture
    strips: Singles

    @property
    def index(self) -> int:
        """Position of the frame in file order."""
        return self.picture.index

    @cached_property
    def levels(self) -> Singles:
        """Mean luma of each row in each column block, shape (h, b); odd columns are left out."""
        return _block_means(self.picture, N_BLOCKS)

    @cached_property
    def is_clean(self) -> NDArray[np.bool_]:
        """Where no more than a fiftieth of the pixels is clipped, shape (h, b)."""
        clipped = cv2.threshold(self.picture.luma, CLIPPED_LUMA, 1, cv2.THRESH_BINARY)[1]
        if not cv2.countNonZero(clipped):
            return np.ones(self.levels.shape, dtype=np.bool_)
        share = _block_means(Picture(0, np.asarray(clipped, dtype=np.uint8)), N_BLOCKS)
        return share <= CLIPPED_SHARE

    @cached_property
    def row_levels(self) -> Singles:
        """Mean luma of each row over all blocks, shape (h,)."""
        n_blocks = self.levels.shape[1]
        return self.levels @ np.full(n_blocks, 1.0 / n_blocks, dtype=np.float32)


def frame_rows(picture: Picture) -> FrameRows:
    """Return a picture with its strips; no other row is looked at."""
    every = max(1, picture.shape[0] // N_STRIP_ROWS)
    return FrameRows(picture, _block_means(picture, N_STRIPS, every))


def _block_means(picture: Picture, n_blocks: int, every: int = 1) -> Singles:
    width = picture.shape[1]
    n_blocks = min(n_blocks, width)
    sums = picture.block_sums(n_blocks, every).astype(np.float32)
    return sums / np.float32(width // n_blocks)
