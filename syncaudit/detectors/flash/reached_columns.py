"""Find which columns of an image a light reaches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.flash.rows import strips_of
from syncaudit.detectors.flash.screen import is_lit_across, lit_candidates

__all__ = ["lit_half"]

# Halves of the width that are looked at, as parts of it: left, middle and right.
HALF = 0.5
STARTS = 0.0, 0.25, 0.5
# Minimum number of frames that a half shows lit, and how many times as many as the whole width
# does: moving objects light a half now and then.
MIN_FRAMES = 3
MORE = 1.25


def lit_half(levels: NDArray[np.float32], width_px: int) -> slice | None:
    """Return the half of the width that light reaches, or None where it reaches most of it.

    A lamp beside a camera lights what is near it: most of the blocks of a row stay dark at every
    flash, so no row of the whole width counts as lit.

    Parameters
    ----------
    levels : ndarray of float32, shape (n, r, b)
        Brightness of r rows in b column blocks of n frames.
    width_px : int
        Columns of the image.
    """
    n_blocks = levels.shape[2]
    size = round(HALF * n_blocks)
    if size == 0:
        return None
    starts = [round(start * n_blocks) for start in STARTS]
    n_lit = [_n_lit(levels[:, :, start : start + size]) for start in starts]
    most = max(n_lit)
    if most < max(MIN_FRAMES, MORE * _n_lit(levels)):
        return None
    first = starts[n_lit.index(most)]
    return slice(first * width_px // n_blocks, (first + size) * width_px // n_blocks)


def _n_lit(levels: NDArray[np.float32]) -> int:
    """Return how many frames have lit rows."""
    strips = strips_of(levels)
    return sum(is_lit_across(levels, at) for at in lit_candidates(strips, 0, strips.shape[0]))
