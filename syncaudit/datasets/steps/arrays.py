"""Arrays of an episode, with one row per step: their roles, and files made of their images."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from syncaudit.datasets.images import ImageError, ImageFile, codec_of, raw_image
from syncaudit.errors import one_line
from syncaudit.model.arrays import Ints

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
_BLOCK_BYTES = 1 << 25


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
    if last in _STAMPS and shape[1:] in ((), (1,)) and kind in "fiu":
        return Role.STAMPS, ""
    if "timestamp" in words:
        return Role.NONE, "a time, but not an array called 'timestamp'"
    if kind in "OSV" or (array.dtype == np.uint8 and len(shape) == 2):
        return _role_of_encoded(array)
    if len(shape) > 2:
        return _role_of_images(array)
    if any(word in last for word in _BOOKKEEPING):
        return Role.NONE, "bookkeeping"
    if kind != "f":
        return Role.NONE, f"{array.dtype} is not a vector of motion"
    if len(shape) == 2 and shape[1] > _MOST_NUMBERS:
        return Role.NONE, f"{shape[1]} numbers per step are an embedding"
    parts = words.split("/")
    return (Role.ACTION if any("action" in part for part in parts) else Role.STATE), ""


def _role_of_images(array: StepArray) -> tuple[Role, str]:
    """Accept byte images, grey or with three channels on any axis, and float images with three."""
    dtype, *size = array.dtype, *array.shape[1:]
    n_channels = {size[0], size[-1]} if len(size) == 3 else {1} if len(size) == 2 else set()
    if (dtype == np.uint8 and n_channels & {1, 3}) or (dtype == np.float32 and 3 in n_channels):
        return Role.IMAGES, ""
    return Role.NONE, f"{dtype} of {' x '.join(map(str, size))} is not an image"


def _role_of_encoded(array: StepArray) -> tuple[Role, str]:
    first = _encoded_image(array[0]) if array.shape[0] else b""
    if first.startswith(_MAGICS):
        return Role.ENCODED, ""
    return Role.NONE, "neither numbers nor images (JPEG, PNG, WebP)"


def _encoded_image(row: Any) -> bytes:
    """Return the bytes of one encoded image, without the zeros that pad rows to one length."""
    if isinstance(row, np.ndarray | np.bytes_ | np.void) and np.asarray(row).dtype.kind in "uSV":
        row = np.asarray(row).tobytes()
    return row.rstrip(b"\0") if isinstance(row, bytes) else b""


def is_blank(array: StepArray, rows: tuple[int, int]) -> bool:
    """Return whether the first, middle and last row are the same image of a single colour."""
    first, stop = rows
    if stop <= first:
        return False
    try:
        seen = [array[row] for row in (first, (first + stop) // 2, stop - 1)]
        if len(array.shape) >= 3:
            return len(np.unique(np.concatenate([image.ravel() for image in seen]))) == 1
        data = {_encoded_image(image) for image in seen}
        image = cv2.imdecode(np.frombuffer(data.pop(), np.uint8), cv2.IMREAD_COLOR)
    except (*READ_ERRORS, cv2.error):
        return False  # reported when they are written
    return not data and image is not None and int(np.ptp(image)) == 0


def write_images(
    path: Path, array: StepArray, rows: tuple[int, int], time_ns: Ints
) -> tuple[ImageFile, str]:
    """Write rows of an array as a video or folder at `path`, which has no suffix.

    Encoded images are copied byte by byte, others stored losslessly. `time_ns`, one per row,
    becomes the clock of the container. Return the file, and the fault of the first image that
    could not be written, which ended it.
    """
    file = ImageFile(path)
    fault = ""
    try:
        for image, at_ns in zip(_images(array, rows), time_ns.tolist(), strict=False):
            if isinstance(image, bytes):
                file.add(image, codec_of(image, "unknown"), at_ns)
            else:
                file.add_raw(image, at_ns)
    except ImageError as error:
        fault = str(error)
    finally:
        file.close()
    return file, fault


def _images(array: StepArray, rows: tuple[int, int]) -> Iterator[Any]:
    """Yield encoded images as bytes, others as frames."""
    is_plain = len(array.shape) >= 3
    scale = 0.0
    for block in _blocks(array, rows):
        if not is_plain:
            yield from map(_encoded_image, block)
            continue
        if block.dtype.kind == "f":  # range 0 to 255, or 0 to 1
            scale = scale or (255.0 if block.size and block.max() <= 1.0 else 1.0)
            block = np.clip(np.rint(block * scale), 0, 255).astype(np.uint8)
        if block.ndim == 3:
            block = block[..., None]
        if block.shape[-1] not in (1, 3):
            block = block.transpose(0, 2, 3, 1)
        _, height, width, n_channels = block.shape
        for image in np.ascontiguousarray(block):
            yield raw_image(
                image.tobytes(),
                "rgb8" if n_channels == 3 else "mono8",
                width=width,
                height=height,
                step=width * n_channels,
                is_big=False,
            )


def _blocks(array: StepArray, rows: tuple[int, int]) -> Iterator[NDArray[Any]]:
    """Yield rows in blocks of whole chunks of the file, up to some tens of megabytes."""
    first, stop = rows
    row_bytes = max(1, int(np.prod(array.shape[1:], dtype=np.int64)) * array.dtype.itemsize)
    chunk = (getattr(array, "chunks", None) or (1,))[0]
    size = max(chunk, _BLOCK_BYTES // row_bytes // chunk * chunk)
    at = first
    while at < stop:
        after = min(stop, (at // size + 1) * size)
        try:
            block = np.asarray(array[at:after])
        except READ_ERRORS as error:
            raise ImageError(one_line(error)) from error
        yield block
        at = after
