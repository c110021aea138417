"""Reduce a frame to the brightness of its rows in column blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from syncaudit.decode import Frame

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
    image : Frame
        The frame itself, kept.
    """

    frame: Frame

    @property
    def index(self) -> int:
        """Position of the frame in file order."""
        return self.frame.index

    @cached_property
    def levels(self) -> Singles:
        """Mean luma of each row in each column block, shape (h, b); odd columns are omitted."""
        return _block_means(self.frame, N_BLOCKS)

    @cached_property
    def is_clean(self) -> NDArray[np.bool_]:
        """Where at most 2 % of the pixels are clipped, shape (h, b)."""
        limit = self.frame.white - NEAR_WHITE
        clipped = cv2.threshold(self.frame.luma, limit, 1, cv2.THRESH_BINARY)[1]
        if not cv2.countNonZero(clipped):
            return np.ones(self.levels.shape, dtype=np.bool_)
        share = _block_means(Frame(0, np.asarray(clipped, dtype=np.uint8)), N_BLOCKS)
        return share <= CLIPPED_SHARE


def row_sums(frame: Frame) -> NDArray[np.int32]:
    """Return sums along about 120 evenly spaced rows of an image, in column blocks."""
    height, width = frame.shape
    return frame.block_sums(min(N_BLOCKS, width), max(1, height // N_STRIP_ROWS))


def strips_of(levels: Singles) -> Singles:
    """Return the mean brightness in up to four strips, shape (m, n, s), of blocks (m, n, b)."""
    m, n, n_blocks = levels.shape
    if n_blocks % N_STRIPS:
        return levels
    strips: Singles = levels.reshape(m, n, N_STRIPS, -1).mean(axis=3)
    return strips


def _block_means(frame: Frame, n_blocks: int) -> Singles:
    width = frame.shape[1]
    n_blocks = min(n_blocks, width)
    sums = frame.block_sums(n_blocks).astype(np.float32)
    return sums / np.float32(width // n_blocks)
