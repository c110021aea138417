"""Determine the role of an episode's array, with one row per step, by name, type and shape."""

from __future__ import annotations

import zipfile
import zlib
from enum import StrEnum
from typing import Any, Protocol

import numpy as np

__all__ = ["READ_ERRORS", "Role", "StepArray", "encoded_image", "role_of"]

READ_ERRORS = (
    *(OSError, ValueError, RuntimeError, KeyError, TypeError, IndexError, EOFError, MemoryError),
    *(AttributeError, OverflowError, zlib.error, zipfile.BadZipFile),
)
"""Exceptions that h5py, zarr and their codecs raise for damaged data."""

# First bytes of stills: JPEG, PNG, WebP.
_MAGICS = (b"\xff\xd8\xff", b"\x89PNG", b"RIFF")
# The widest motion vectors, of humanoids and hands, have about 100 numbers; embeddings over 300.
_MOST_NUMBERS = 256
_STAMPS = frozenset({"timestamp", "timestamps", "time_stamp", "time"})
_BOOKKEEPING = (
    *("reward", "done", "discount", "terminal", "is_first", "is_last", "truncat", "success"),
    *("index", "stage", "mask", "step_id", "compress"),
)


class StepArray(Protocol):
    """The common interface of NumPy, h5py and zarr arrays."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of steps, then the shape of each."""
        ...

    @property
    def dtype(self) -> Any:
        """Type of its items."""
        ...

    def __getitem__(self, rows: Any, /) -> Any:
        """Return some rows."""
        ...


class Role(StrEnum):
    """Role of an array."""

    ENCODED = "camera (encoded images)"
    IMAGES = "camera"
    STATE = "state"
    ACTION = "action"
    STAMPS = "timestamps"
    NONE = "none"


def role_of(name: str, array: StepArray) -> tuple[Role, str]:
    """Return the role of an array called `name` (with ``/`` between groups), or why it has none."""
    words = name.lower()
    last = words.rpartition("/")[2]
    kind, shape = array.dtype.kind, array.shape
    if "depth" in words:
        return Role.NONE, "depth: distances show no light"
    if "point" in words and "cloud" in words:
        return Role.NONE, "a point cloud has no texture to follow"
    if last in _STAMPS and len(shape) == 1 and kind in "fiu":
        return Role.STAMPS, ""
    if kind in "OSV" or (array.dtype == np.uint8 and len(shape) == 2):
        return _encoded(array)
    if len(shape) > 2:
        return _images(array)
    if any(word in last for word in _BOOKKEEPING):
        return Role.NONE, "bookkeeping"
    if kind != "f":
        return Role.NONE, f"{array.dtype} is not a vector of motion"
    if len(shape) == 2 and shape[1] > _MOST_NUMBERS:
        return Role.NONE, f"{shape[1]} numbers per step are an embedding"
    parts = words.split("/")
    return (Role.ACTION if any("action" in part for part in parts) else Role.STATE), ""


def _images(array: StepArray) -> tuple[Role, str]:
    """Accept byte images, grey or with three channels on any axis, and float images with three."""
    dtype, *size = array.dtype, *array.shape[1:]
    n_channels = {size[0], size[-1]} if len(size) == 3 else {1} if len(size) == 2 else set()
    if (dtype == np.uint8 and n_channels & {1, 3}) or (dtype == np.float32 and 3 in n_channels):
        return Role.IMAGES, ""
    return Role.NONE, f"{dtype} of {' x '.join(map(str, size))} is not an image"


def _encoded(array: StepArray) -> tuple[Role, str]:
    first = encoded_image(array[0]) if array.shape[0] else b""
    if first.startswith(_MAGICS):
        return Role.ENCODED, ""
    return Role.NONE, "neither numbers nor images (JPEG, PNG, WebP)"


def encoded_image(row: Any) -> bytes:
    """Return the bytes of one encoded image, without the zeros that pad rows to one length."""
    if isinstance(row, np.ndarray | np.bytes_ | np.void) and np.asarray(row).dtype.kind in "uSV":
        row = np.asarray(row).tobytes()
    return row.rstrip(b"\0") if isinstance(row, bytes) else b""
