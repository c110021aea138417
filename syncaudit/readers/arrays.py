"""Read NumPy arrays as a table: a `.npy` file is one column, a folder holds several."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from tokenize import TokenError
from typing import Any, BinaryIO, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError, one_line
from syncaudit.limits import ARRAY_BYTES
from syncaudit.readers.columns import Table
from syncaudit.readers.faults import reworded
from syncaudit.readers.parquet import too_short
from syncaudit.readers.uris import holds_data, list_folder, local_path, open_file, read_bytes

NPY_MAGIC = b"\x93NUMPY"
_MANY_ROWS = 1 << 20


def list_arrays(uri: str) -> dict[str, str] | None:
    """Return the array files of a folder by column name; None if it is not an array folder."""
    if holds_data(uri):
        return None
    path = local_path(uri)
    if path is not None:
        with reworded(uri):  # the name may be too long for the file system
            if not path.is_dir():
                return None
    if path is None and PurePosixPath(uri.split("::")[0]).suffix:
        return None  # remote queries are slow
    listed = sorted(list_folder(uri) or ())
    if not any(_is_array(name) for name in listed):
        return None
    # A damaged file beside valid ones is reported when it is read.
    suffixes = {name: PurePosixPath(name.split("::")[0]).suffix.lower() for name in listed}
    return {array_name(name): name for name in listed if suffixes[name] in ("", ".npy")}


def _is_array(uri: str) -> bool:
    if uri.lower().endswith(".npy"):
        return True
    path = local_path(uri)
    if path is None:
        return not PurePosixPath(uri.split("::")[0]).suffix and read_bytes(uri)[:6] == NPY_MAGIC
    with path.open("rb") as file:
        return file.read(6) == NPY_MAGIC


def array_name(uri: str) -> str:
    """Return the column name of an array file: its name without ``.npy``."""
    return Path(uri.split("::")[0]).name.removesuffix(".npy")


def read_arrays(
    uri: str,
    files: Mapping[str, str],
    wanted: set[str] | None,
    rows: Sequence[int] | None = None,
) -> Table:
    """Read arrays of one length as the columns of a table; `files` is column name to URI.

    StreamReadError if one is not an array of numbers in 1 or 2 dimensions, or lengths differ.
    """
    read = {name: place for name, place in files.items() if wanted is None or name in wanted}
    found = {name: _read(place, rows) for name, place in read.items()}
    lengths = {name: length for name, (_, length) in found.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise StreamReadError(
            f"its arrays differ in length ({listed})",
            code="length_mismatch",
            path=uri,
            hint="Which sample belongs to which timestamp is unknown: export both again.",
        )
    n_rows = next(iter(lengths.values()), 0)
    return Table(
        uri=uri,
        data=pa.table({name: _column(array) for name, (array, _) in found.items()}),
        first_row=0,
        unread=tuple(name for name in files if name not in read),
        skipped_rows=0 if rows is None else rows[0],
        findings=() if rows is None else too_short(uri, rows, n_rows),
    )


def array_parts(files: Mapping[str, str], column: str) -> Iterator[Table]:
    """Yield an array of a large recording in parts; nothing if it is small or missing."""
    if column not in files:
        return
    at, n_rows = 0, _MANY_ROWS
    while at < n_rows:
        array, n_rows = _read(files[column], (at, at + _MANY_ROWS))
        if n_rows <= _MANY_ROWS:
            return
        yield Table(uri=files[column], data=pa.table({column: _column(array)}), first_row=0)
        at += _MANY_ROWS


def _read(uri: str, rows: Sequence[int] | None) -> tuple[NDArray[np.generic], int]:
    """Return some rows of an array, and its number of rows."""
    try:
        with open_file(uri) as file:
            shape, is_fortran, dtype = array_header(file)
            if dtype.hasobject:
                raise _no_array(uri, ValueError("it holds Python objects"))
            if dtype.kind not in "fiub" or not shape:
                raise StreamReadError(
                    "is not an array of numbers", path=uri, hint="Save it as a column."
                )
            if len(shape) > 2:
                raise StreamReadError(
                    f"has {len(shape)} dimensions, expected rows or rows of lists", path=uri
                )
            start = file.tell()
            size = file.seek(0, os.SEEK_END) - start
            n_bytes = math.prod(shape) * dtype.itemsize
            if min(shape) < 0 or n_bytes > size:
                raise StreamReadError(
                    f"its header states {' x '.join(map(str, shape))} numbers, which take "
                    f"{n_bytes} bytes, and {size} follow",
                    code="corrupt",
                    path=uri,
                    hint="Copy it again, or save it with numpy.save.",
                )
            is_column_wise = is_fortran and len(shape) == 2
            first, stop = (0, shape[0]) if rows is None or is_column_wise else rows
            first, stop = min(first, shape[0]), min(stop, shape[0])
            width = math.prod(shape[1:])
            if (stop - first) * width * dtype.itemsize > ARRAY_BYTES:
                raise StreamReadError(
                    f"holds more than {ARRAY_BYTES >> 30} GiB",
                    path=uri,
                    hint="Split the recording into parts of a few hours.",
                )
            file.seek(start + first * width * dtype.itemsize)
            data = file.read((stop - first) * width * dtype.itemsize)
    except (ValueError, EOFError, OSError, MemoryError, TypeError, SyntaxError) as error:
        if isinstance(error, StreamReadError):
            raise
        raise _no_array(uri, error) from error
    except (TokenError, RecursionError) as error:
        raise _no_array(uri, error) from error
    if len(data) < (stop - first) * width * dtype.itemsize:
        raise _no_array(uri, ValueError("it became shorter while it was read"))
    array = np.frombuffer(data, dtype)
    if len(shape) == 2:
        order: Literal["F", "C"] = "F" if is_column_wise else "C"
        array = array.reshape((stop - first, shape[1]), order=order)
    if is_column_wise and rows is not None:
        array = array[rows[0] : rows[1]]
    return array.astype(dtype.newbyteorder("="), copy=False), shape[0]


def array_header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return the shape, whether the order is column-major, and the type of a NumPy file."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    return np.lib.format.read_array_header_2_0(file)


def _no_array(uri: str, error: Exception) -> StreamReadError:
    return StreamReadError(
        f"is not an intact NumPy array ({one_line(error)})",
        code="corrupt",
        path=uri,
        hint="Save it with numpy.save, without Python objects in it.",
    )


def _column(array: NDArray[np.generic]) -> pa.Array:
    if array.ndim == 1:
        return pa.array(array)
    return pa.FixedSizeListArray.from_arrays(pa.array(array.reshape(-1)), array.shape[1])
