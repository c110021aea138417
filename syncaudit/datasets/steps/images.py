"""Write the images of an array to a file, a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from syncaudit.datasets.images import ImageError, ImageFile, codec_of, raw_image
from syncaudit.datasets.steps.roles import READ_ERRORS, StepArray, encoded_image
from syncaudit.errors import one_line
from syncaudit.model.arrays import Ints

__all__ = ["is_blank", "write_images"]

_BLOCK_BYTES = 1 << 25


def is_blank(array: StepArray, rows: tuple[int, int]) -> bool:
    """Return whether the first, middle and last row are the same image of a single colour."""
    first, stop = rows
    if stop <= first:
        return False
    try:
        seen = [array[row] for row in (first, (first + stop) // 2, stop - 1)]
        if len(array.shape) >= 3:
            return len(np.unique(np.concatenate([image.ravel() for image in seen]))) == 1
        data = {encoded_image(image) for image in seen}
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
            yield from map(encoded_image, block)
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
