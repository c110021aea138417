"""Integer features of a luma plane, defined so that every device computes the same bits.

Planes are numpy arrays or torch tensors, on the host or on a GPU; so are the results.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

__all__ = ["column_sums", "half", "row_sums"]


def row_sums(luma: Any) -> Any:
    """Return the sum of every row.

    Parameters
    ----------
    luma : array of uint8, shape (height, width)
        Luma plane.

    Returns
    -------
    array of int32, shape (height,)
        Exact up to 8.4 million pixels a row.
    """
    return luma.sum(1, dtype=_int32(luma))


def column_sums(luma: Any) -> Any:
    """Return the sum of every column: int32, shape (width,)."""
    return luma.sum(0, dtype=_int32(luma))


def half(luma: Any) -> Any:
    """Return the plane at half the size: ``(a + b + c + d + 2) >> 2`` of each 2 x 2 pixels.

    Parameters
    ----------
    luma : array of uint8, shape (height, width)
        Luma plane; a last odd row or column is left out.

    Returns
    -------
    array of uint8, shape (height // 2, width // 2)
    """
    wide = luma[: luma.shape[0] // 2 * 2, : luma.shape[1] // 2 * 2]
    wide = wide.astype(np.int32) if isinstance(luma, np.ndarray) else wide.to(_int32(luma))
    rows = wide[0::2] + wide[1::2]
    small = (rows[:, 0::2] + rows[:, 1::2] + 2) >> 2
    return small.astype(np.uint8) if isinstance(luma, np.ndarray) else small.to(luma.dtype)


def _int32(luma: Any) -> Any:
    return np.int32 if isinstance(luma, np.ndarray) else sys.modules["torch"].int32
