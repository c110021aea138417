"""The stamps of one source, and what they are held against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["StampColumn"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StampColumn:
    """The stamps of one source and what they are held against.

    Parameters
    ----------
    time_ns : ndarray of int64, shape (n,)
        In file order.
    n_expected : int, optional
        Frames that the container holds.
    pts_s : ndarray of float64, shape (m,), optional
        Presentation times of the container in seconds.
    """

    time_ns: NDArray[np.int64]
    n_expected: int | None = None
    pts_s: NDArray[np.float64] | None = None
