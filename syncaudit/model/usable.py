"""Tell which samples are numbers that a sensor can give."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["MOST_VALUE", "is_usable"]

MOST_VALUE = 1e30
"""No quantity in any unit reaches it: larger numbers are damaged bytes, a wrong type, or a mark for
"no value" (the largest float32, 3.4e38, is one). Fourth powers of smaller ones stay finite."""


def is_usable(values: ArrayLike) -> NDArray[np.bool_]:
    """Return where `values` are neither NaN nor beyond what can be calculated with.

    Parameters
    ----------
    values : array_like of float, any shape

    Returns
    -------
    ndarray of bool, of the same shape
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(np.abs(values) <= MOST_VALUE)
