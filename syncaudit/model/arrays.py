"""Check arrays on entry of a model type and make them read-only."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

_T = TypeVar("_T", bound=np.generic)
MOST_VALUE = 1e30
"""No quantity in any unit reaches this: larger numbers are damaged bytes, a wrong type or a marker
for "no value" (such as the largest float32, 3.4e38). Fourth powers of smaller ones stay finite."""


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

    ValueError if shape, length or finiteness is wrong.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or (n is not None and array.shape[0] != n):
        raise ValueError(f"{name} must have shape ({'n' if n is None else n},), got {array.shape}")
    return _frozen(_finite(name, array))


def finite_matrix(
    name: str, values: ArrayLike, *, n: int | None = None, width: int | None = None
) -> NDArray[np.float64]:
    """Return `values` as a read-only finite float64 matrix of shape (n, width).

    ValueError if shape or finiteness is wrong.
    """
    array = np.asarray(values, dtype=np.float64)
    if (
        array.ndim != 2
        or (n is not None and array.shape[0] != n)
        or (width is not None and array.shape[1] != width)
    ):
        raise ValueError(f"{name} must have shape ({n or 'n'}, {width or 'd'}), got {array.shape}")
    return _frozen(_finite(name, array))


def freeze_columns(record: object, *names: str, n: int | None = None) -> None:
    """Check columns of a frozen record, except those that are None, and make them read-only."""
    for name in names:
        if (values := getattr(record, name)) is not None:
            object.__setattr__(record, name, finite_column(name, values, n=n))


def freeze_matrices(
    record: object, *names: str, n: int | None = None, width: int | None = None
) -> None:
    """Check matrices of a frozen record and make them read-only."""
    for name in names:
        checked = finite_matrix(name, getattr(record, name), n=n, width=width)
        object.__setattr__(record, name, checked)


def freeze_stamps(record: object, *names: str, n: int | None = None) -> None:
    """Check integer columns of a frozen record and make them read-only."""
    for name in names:
        object.__setattr__(record, name, stamps(name, getattr(record, name), n=n))


def _finite(name: str, array: NDArray[np.float64]) -> NDArray[np.float64]:
    bad = int(np.count_nonzero(~np.isfinite(array)))
    if bad:
        raise ValueError(f"{name} holds {bad} non-finite values")
    return array


def _frozen(array: NDArray[_T]) -> NDArray[_T]:
    view = array.view()
    view.flags.writeable = False
    return view


def is_usable(values: ArrayLike) -> NDArray[np.bool_]:
    """Return where `values` are neither NaN nor too large to calculate with.

    Parameters
    ----------
    values : array_like of float, any shape

    Returns
    -------
    ndarray of bool, of the same shape
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(np.abs(values) <= MOST_VALUE)
