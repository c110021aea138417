"""Read encoded images one by one: from files, and from a column of a Parquet file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syncaudit.decode.spans import ContainerFrames
from syncaudit.errors import StreamReadError, one_line
from syncaudit.limits import IMAGE_BYTES, IMAGE_PIXELS
from syncaudit.model import FrameFiles

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

# Images passed on at a time, and bytes read from the file: row groups may be large.
_BATCH = 4
_BUFFER_BYTES = 1 << 20
# Maximum number of images checked for their size.
_TRIED = 20


def list_stored(files: FrameFiles) -> ContainerFrames:
    """Return the number of images, and the size of the first one that can be decoded."""
    import cv2
    import numpy as np

    with _opened(files) as file:
        first, stop = files.rows or (0, file.metadata.num_rows)
        n_frames = max(0, min(stop, file.metadata.num_rows) - first)
        height_px = width_px = 0
        flags = cv2.IMREAD_GRAYSCALE | cv2.IMREAD_IGNORE_ORIENTATION
        for data in islice(_images(file, files), _TRIED):
            image = cv2.imdecode(np.frombuffer(data, np.uint8), flags) if data else None
            if image is not None:
                height_px, width_px = image.shape[:2]
                break
    return ContainerFrames(
        n_frames=n_frames,
        pts=None,
        time_base=Fraction(1),
        width_px=width_px,
        height_px=height_px,
    )


def stored_images(files: FrameFiles) -> Iterator[bytes]:
    """Yield the encoded images of `files` in row order; b"" where a row has none.

    Memory holds one page of the column, compressed and decompressed; the number of images in it
    depends on the writer (pyarrow: at most 1024, and no more than a row group).
    """
    with _opened(files) as file:
        yield from _images(file, files)


def _opened(files: FrameFiles) -> ParquetFile:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = files.paths[0]
    try:
        file = pq.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False)
    except FileNotFoundError as error:
        raise StreamReadError(
            "file not found", code="missing_file", path=path, hint="Check the uri."
        ) from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise broken_parquet(path, error) from error
    names = file.schema_arrow.names
    kind: Any = None
    if names.count(files.column) == 1:
        kind = file.schema_arrow.field(files.column).type
    if kind is not None and pa.types.is_struct(kind) and kind.get_field_index("bytes") >= 0:
        kind = kind.field("bytes").type
    if kind is None or not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        file.close()
        raise StreamReadError(
            f"has no column '{files.column}' of images",
            code="manifest",
            path=path,
            hint="Expected one of bytes, or of objects with 'bytes'.",
        )
    return file


def _images(file: ParquetFile, files: FrameFiles) -> Iterator[bytes]:
    import pyarrow as pa

    first, stop = files.rows or (0, file.metadata.num_rows)
    try:
        for begin, column in _columns(file, files.column, first, stop):
            part = column.slice(max(0, first - begin), max(0, stop - max(first, begin)))
            if pa.types.is_struct(part.type):
                part = part.field("bytes") if not part.null_count else part.flatten()[0]
            for cell in part:
                yield cell.as_py() or b""
    except (pa.ArrowException, OSError, ValueError) as error:
        raise broken_parquet(files.paths[0], error) from error


def _columns(
    file: ParquetFile, name: str | None, first: int, stop: int
) -> Iterator[tuple[int, Any]]:
    """Yield (first row, cells) of the batches that overlap a range of rows."""
    at = 0
    for number in range(file.metadata.num_row_groups):
        size = file.metadata.row_group(number).num_rows
        if at < stop and at + size > first:
            begin = at
            for batch in file.iter_batches(
                _BATCH, row_groups=[number], columns=[name], use_threads=False
            ):
                if begin >= stop:
                    return
                if begin + batch.num_rows > first:
                    yield begin, batch.column(0)
                begin += batch.num_rows
        at += size


def broken_parquet(path: str, error: Exception) -> StreamReadError:
    """Return the error for a Parquet file that Arrow cannot read."""
    return StreamReadError(
        f"is not an intact Parquet file ({one_line(error)})",
        code="corrupt",
        path=path,
        hint="Write or copy it again.",
    )


def image_bytes(path: str) -> bytes:
    """Return the content of a file.

    Raises OSError if it cannot be read, is not a regular file (a pipe or device may never end), or
    is too large.
    """
    status = os.stat(path)  # noqa: PTH116  # for every image of every clip
    if not stat.S_ISREG(status.st_mode):
        raise OSError("is not a regular file")
    if status.st_size > IMAGE_BYTES:
        raise OSError(f"holds {status.st_size >> 20} MiB, too large for an image")
    return Path(path).read_bytes()


def image_error(error: Exception) -> str:
    """Describe why OpenCV does not decode an image."""
    if "CV_IO_MAX_IMAGE" in str(error):  # checked before memory is allocated
        return (
            f"it claims more than {IMAGE_PIXELS >> 20} million pixels, the most that are "
            "decoded; if it has them, store it smaller"
        )
    return one_line(error)
