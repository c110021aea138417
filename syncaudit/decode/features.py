"""Compute features of luma planes, defined so that every device computes the same bits.

Planes are numpy arrays, which OpenCV reduces, or torch tensors on the host or a GPU, optionally
stacked into batches; so are the results. Sums are integers. Means are rounded as in OpenCV: 2 x 2
pixels half up, larger blocks to the nearest even.
"""

from __future__ import annotations

import sys
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray


def block_sums(luma: Any, n_blocks: int, every: int = 1) -> Any:
    """Return sums of every n-th row of planes (..., height, width), in blocks of columns.

    Blocks have equal width; left-over columns are not summed. The sums are int32, shape
    (..., ceil(height / every), n_blocks): exact up to 8.4 million pixels per block.
    """
    width = luma.shape[-1] // n_blocks
    chosen = luma[..., ::every, : n_blocks * width]
    if isinstance(luma, np.ndarray):
        return _block_sums(chosen, n_blocks, width)
    return chosen.unflatten(-1, (n_blocks, width)).sum(-1, dtype=_torch().int32)


def _block_sums(luma: NDArray[np.uint8], n_blocks: int, width: int) -> NDArray[np.int32]:
    n_rows = luma.shape[0]
    if n_blocks > 1:
        luma = np.ascontiguousarray(luma).reshape(n_rows * n_blocks, width)
    sums = cv2.reduce(luma, 1, cv2.REDUCE_SUM, dtype=cv2.CV_32S)
    return np.asarray(sums, dtype=np.int32).reshape(n_rows, n_blocks)


def reduced(luma: Any, factor: int) -> Any:
    """Return planes (..., height, width) at 1 / `factor` of their size, the means of squares.

    Trailing rows and columns that do not fill a square are left out; factor 1 returns the planes.
    """
    if factor == 1:
        return luma
    height, width = luma.shape[-2] // factor, luma.shape[-1] // factor
    cut = luma[..., : height * factor, : width * factor]
    if isinstance(luma, np.ndarray):
        if not cut.size:
            return np.empty((height, width), np.uint8)
        small = cv2.resize(cut, (width, height), interpolation=cv2.INTER_AREA)
        return np.asarray(small, dtype=np.uint8)
    torch = _torch()
    squares = cut.unflatten(-1, (width, factor)).unflatten(-3, (height, factor))
    sums = squares.sum((-3, -1), dtype=torch.int32)
    if factor == 2:
        return ((sums + 2) >> 2).to(luma.dtype)
    return torch.round(sums.to(torch.float32) * np.float32(1.0 / factor**2)).to(luma.dtype)


def rows(luma: Any, first: int, every: int) -> Any:
    """Return every n-th row (n is `every`) from row `first` on, contiguous, as a copy."""
    chosen = luma[..., first::every, :]
    return chosen.copy() if isinstance(luma, np.ndarray) else chosen.clone()


def _torch() -> Any:
    return sys.modules["torch"]
