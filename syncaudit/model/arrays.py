"""Check arrays on entry of a model type and make them read-only."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

_T = TypeVar("_T", bound=np.generic)

__all__ = ["finite_column", "finite_matrix", "stamps"]


def stamps(name: str, values: ArrayLike, *, n: int | None = None) -> NDArray[np.int64]:
    """Return `values` as a read-only int64 column of length `n`; order is not checked.

    Raises
    ------
    TypeError
        If the values are not integers.
    ValueError
        If they are not one column, or of another length.
    """
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integer nanoseconds, got {array.dtype}")
    if array.ndim != 1 or (n is not None and array.shape[0] != n):
        raise ValueError(f"{name} must have shape ({'n' if n is None else n},), got {array.shape}")
    return _frozen(array.astype(np.int64, copy=False))


def finite_column(name: str, values: ArrayLike, *, n: int | None = None) -> NDArray[np.float64]:
    """Return `values` as a read-only finite float64 column of length `n`.

    Raises
    ------
    ValueError
        If shape, length or finiteness is wrong.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or (n is not None and array.shape[0] != n):
        raise ValueError(f"{name} must have shape ({'n' if n is None else n},), got {array.shape}")
    return _frozen(_finite(name, array))


def finite_matrix(
    name: str, values: ArrayLike, *, n: int | None = None, width: int | None = None
) -> NDArray[np.float64]:
    """Return `values` as a read-only finite float64 matrix of shape (n, width).

    Raises
    ------
    ValueError
        If shape or finiteness is wrong.
    """
    array = np.asarray(values, dtype=np.float64)
    if (
        array.ndim != 2
        or (n is not None and array.shape[0] != n)
        or (width is not None and array.shape[1] != width)
    ):
        raise ValueError(f"{name} must have shape ({n or 'n'}, {width or 'd'}), got {array.shape}")
    return _frozen(_finite(name, array))


def _finite(name: str, array: NDArray[np.float64]) -> NDArray[np.float64]:
    bad = int(np.count_nonzero(~np.isfinite(array)))
    if bad:
        raise ValueError(f"{name} holds {bad} non-finite values")
    return array


def _frozen(array: NDArray[_T]) -> NDArray[_T]:
    view = array.view()
    view.flags.writeable = False
    return view
