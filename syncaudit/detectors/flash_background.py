"""Predict what a frame would look like without a flash, from frames on both sides of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import minimum_filter1d, uniform_filter1d

from syncaudit.detectors.flash_rows import FrameRows
from syncaudit.detectors.flash_screen import (
    CLIPPED_LEVEL,
    GUARD,
    MAX_GAIN_CHANGE,
    MIN_LIT_LEVELS,
    MIN_LIT_ROWS,
    MIN_LIT_SHARE,
    RADIUS,
)

__all__ = ["LitFrame", "find_lit"]

Floats = NDArray[np.float64]

# A neighbour is unlit in a row where it has less than this share of the frame's own excess.
UNLIT_SHARE = 0.15
# Neighbours that must be alike unlit in a row: in an endless strobe the darkest is lit as well.
MIN_DARK = 2
# At least as many rows are looked at to see how many blocks a frame is lit in.
N_LOOK_ROWS = 120
# Share of the column blocks in which a lit row must be lit.
MIN_LIT_BLOCKS = 0.6
# Median change between the frames before and after up to which a picture counts as still.
STILL_LEVELS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LitFrame:
    """A frame that is brighter, in some rows, than frames before and after it.

    Parameters
    ----------
    index : int
        Position of the frame in file order.
    excess, background : ndarray of float32, shape (h, b)
        Light above the background, and the background, in luma levels.
    is_clean : ndarray of bool, shape (h, b)
        Cells that are not clipped and lie in a known row.
    is_known : ndarray of bool, shape (h,)
        Rows that are unlit in some neighbours.
    clipped_share : float
        Share of the lit rows' cells that the light drives into clipping.
    """

    index: int
    excess: NDArray[np.float32]
    background: NDArray[np.float32]
    is_clean: NDArray[np.bool_]
    is_known: NDArray[np.bool_]
    clipped_share: float


def find_lit(frames: Sequence[FrameRows], at: int) -> LitFrame | None:
    """Return frame `at` if some of its rows are lit, else None.

    A row is lit where it is brighter than the darkest frame before and the darkest frame after:
    a lasting change of light is brighter than one side only. Its background is the mean of the
    neighbours that are about as dark in that row (not lit, and not from before or after a lasting
    change), weighted by the inverse square of their distance in frames, after whole-frame gains
    are removed.

    Parameters
    ----------
    frames : sequence of FrameRows
        Up to `RADIUS` frames on either side, in order.
    at : int
        Place in `frames` of the frame that is looked at.
    """
    if not 0 < at < len(frames) - 1:
        return None
    frame = frames[at]
    near = range(max(0, at - RADIUS), min(len(frames), at + RADIUS + 1))
    others = [j for j in near if j != at]
    rows = frame.row_levels.astype(np.float64)
    height = rows.size
    raw = np.stack([frames[j].row_levels for j in others]).astype(np.float64)
    gains = _gains(rows, raw)
    levels = gains[:, None] * raw
    is_before = np.array([j < at for j in others])
    floor = np.maximum(levels[is_before].min(axis=0), levels[~is_before].min(axis=0))
    excess = uniform_filter1d(rows - floor, max(1, round(0.01 * height)), mode="nearest")
    limit = np.maximum(MIN_LIT_SHARE * floor, MIN_LIT_LEVELS)
    is_lit = excess > limit
    if np.count_nonzero(is_lit) < max(3.0, MIN_LIT_ROWS * height):
        return None
    if not _is_lit_across(frames, at, others, gains):
        return None
    share = UNLIT_SHARE * np.maximum(excess, 0.0)
    is_dark = (levels < floor + share + 0.5 * limit) & (levels > floor - share - 2.0 * limit)
    # The faint ends of a neighbour's ramps are left out with its lit rows.
    guard = 2 * round(GUARD * height) + 1
    is_dark = np.asarray(minimum_filter1d(is_dark.astype(np.uint8), guard, axis=1)) > 0
    distance = np.array([abs(j - at) for j in others], dtype=np.float64)
    weights = is_dark / distance[:, None] ** 2
    total = weights.sum(axis=0)
    weights = np.where(total > 0.0, weights / np.maximum(total, 1e-9), 0.0) * gains[:, None]
    stack = np.stack([frames[j].levels for j in others])
    background = np.einsum("jr,jrb->rb", weights.astype(np.float32), stack)
    n_dark = np.count_nonzero(is_dark, axis=0)
    is_known = n_dark >= min(MIN_DARK, len(others) - 1)
    return LitFrame(
        index=frame.index,
        excess=frame.levels - background,
        background=background,
        is_clean=frame.is_clean & is_known[:, None],
        is_known=is_known,
        clipped_share=float(np.mean((~frame.is_clean & (background < CLIPPED_LEVEL))[is_lit])),
    )


def _is_lit_across(
    frames: Sequence[FrameRows], at: int, others: Sequence[int], gains: Floats
) -> bool:
    """Tell whether whole rows are brighter than anything near them before and after.

    Near means a thirtieth of the height up or down and one column block left or right: a horizon
    that bumps and a bright object that passes are no flash. In still pictures it means the cell
    itself, so that faint flashes count.
    """
    every = max(1, frames[at].levels.shape[0] // N_LOOK_ROWS)
    levels, is_clean = frames[at].levels[::every], frames[at].is_clean[::every]
    neighbours = np.stack([frames[j].levels[::every] for j in others])
    scaled = gains.astype(np.float32)[:, None, None] * neighbours
    is_before = np.array([j < at for j in others])
    floor = np.maximum(scaled[is_before].min(axis=0), scaled[~is_before].min(axis=0))
    height = floor.shape[0]
    change = np.abs(scaled[is_before][-1] - scaled[~is_before][0])
    if float(np.median(change[::2])) > STILL_LEVELS:
        kernel = np.ones((2 * round(GUARD * height) + 1, 3), dtype=np.uint8)
        near = np.asarray(cv2.dilate(floor, kernel)).reshape(floor.shape)
    else:
        near = floor
    is_lit = (levels > (1.0 + MIN_LIT_SHARE) * near + MIN_LIT_LEVELS) | ~is_clean
    lit_blocks = np.count_nonzero(is_lit, axis=1)
    n_rows = np.count_nonzero(lit_blocks >= MIN_LIT_BLOCKS * floor.shape[1])
    return bool(n_rows >= max(3.0 / every, MIN_LIT_ROWS * height))


def _gains(rows: Floats, others: Floats) -> Floats:
    """Return what each neighbour is multiplied with, 1 where the difference is more than gain."""
    ratios = (rows[::4] + 1.0) / (others[:, ::4] + 1.0)
    middle = ratios.shape[1] // 2
    ratio = np.partition(ratios, middle, axis=1)[:, middle]
    return np.where(np.abs(ratio - 1.0) < MAX_GAIN_CHANGE, ratio, 1.0)
