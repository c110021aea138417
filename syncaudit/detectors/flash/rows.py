"""Reduce a frame to the brightness of its rows in column blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from syncaudit.decode import Picture

__all__ = ["FrameRows", "row_sums", "strips_of"]

Singles = NDArray[np.float32]

N_BLOCKS = 16
# Four strips of about 120 rows suffice to decide whether a frame needs a closer look.
N_STRIPS = 4
N_STRIP_ROWS = 120
# Pixels this close to white count as clipped (encoders ripple by two levels); a cell with a larger
# share of them than this is not used.
NEAR_WHITE = 3
CLIPPED_SHARE = 0.02


@dataclass(eq=False)
class FrameRows:
    """One frame, reduced to rows in column blocks on demand.

    Parameters
    ----------
    picture : Picture
        The frame itself, kept.
    """

    picture: Picture

    @property
    def index(self) -> int:
        """Position of the frame in file order."""
        return self.picture.index

    @cached_property
    def levels(self) -> Singles:
        """Mean luma of each row in each column block, shape (h, b); odd columns are omitted."""
        return _block_means(self.picture, N_BLOCKS)

    @cached_property
    def is_clean(self) -> NDArray[np.bool_]:
        """Where at most 2 % of the pixels are clipped, shape (h, b)."""
        limit = self.picture.white - NEAR_WHITE
        clipped = cv2.threshold(self.picture.luma, limit, 1, cv2.THRESH_BINARY)[1]
        if not cv2.countNonZero(clipped):
            return np.ones(self.levels.shape, dtype=np.bool_)
        share = _block_means(Picture(0, np.asarray(clipped, dtype=np.uint8)), N_BLOCKS)
        return share <= CLIPPED_SHARE


def row_sums(picture: Picture) -> NDArray[np.int32]:
    """Return sums along about 120 evenly spaced rows of an image, in column blocks."""
    height, width = picture.shape
    return picture.block_sums(min(N_BLOCKS, width), max(1, height // N_STRIP_ROWS))


def strips_of(levels: Singles) -> Singles:
    """Return the mean brightness in up to four strips, shape (m, n, s), of blocks (m, n, b)."""
    m, n, n_blocks = levels.shape
    if n_blocks % N_STRIPS:
        return levels
    strips: Singles = levels.reshape(m, n, N_STRIPS, -1).mean(axis=3)
    return strips


def _block_means(picture: Picture, n_blocks: int) -> Singles:
    width = picture.shape[1]
    n_blocks = min(n_blocks, width)
    sums = picture.block_sums(n_blocks).astype(np.float32)
    return sums / np.float32(width // n_blocks)
