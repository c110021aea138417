"""Read NumPy arrays as a table: a `.npy` file is one column, a folder of them several."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from tokenize import TokenError

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError
from syncaudit.readers.columns import Table
from syncaudit.readers.folders import list_folder
from syncaudit.readers.uris import holds_data, local_path, read_bytes, reworded

__all__ = ["NPY_MAGIC", "array_name", "list_arrays", "read_arrays"]

NPY_MAGIC = b"\x93NUMPY"


def list_arrays(uri: str) -> dict[str, str] | None:
    """Return the array files of a folder by column name; None if `uri` is no folder of arrays."""
    if holds_data(uri):
        return None
    path = local_path(uri)
    if path is not None:
        with reworded(uri):  # a name may be too long to ask for
            if not path.is_dir():
                return None
    if path is None and PurePosixPath(uri.split("::")[0]).suffix:
        return None  # asking remote systems costs time
    listed = sorted(list_folder(uri) or ())
    if not any(_is_array(name) for name in listed):
        return None
    # A damaged one beside others is told when it is read.
    return {array_name(name): name for name in listed if _is_column(name)}


def _is_column(uri: str) -> bool:
    return PurePosixPath(uri.split("::")[0]).suffix.lower() in ("", ".npy")


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


def read_arrays(uri: str, files: Mapping[str, str], wanted: set[str] | None) -> Table:
    """Read arrays of one length as the columns of a table.

    Parameters
    ----------
    uri : str
        The folder or file, for messages.
    files : mapping of str to str
        Column name to URI.
    wanted : set of str, optional
        Columns to read.

    Raises
    ------
    StreamReadError
        If one is no array of numbers in one or two dimensions, or the lengths differ.
    """
    read = {name: place for name, place in files.items() if wanted is None or name in wanted}
    arrays = {name: _read(place) for name, place in read.items()}
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise StreamReadError(
            f"its arrays are not of one length ({listed})",
            code="length_mismatch",
            path=uri,
            hint="Which sample belongs to which stamp is unknown: export both again.",
        )
    return Table(
        uri=uri,
        data=pa.table({name: _column(array) for name, array in arrays.items()}),
        first_row=0,
        unread=tuple(name for name in files if name not in read),
    )


def _read(uri: str) -> NDArray[np.generic]:
    try:
        array = np.load(io.BytesIO(read_bytes(uri)), allow_pickle=False)
    except (
        ValueError,
        EOFError,
        OSError,
        MemoryError,
        TypeError,
        SyntaxError,
        TokenError,
    ) as error:
        if isinstance(error, StreamReadError):
            raise
        raise StreamReadError(
            f"is no intact NumPy array ({' '.join(str(error).split())[:120]})",
            code="corrupt",
            path=uri,
            hint="Save it with numpy.save, without Python objects in it.",
        ) from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiub" or array.ndim < 1:
        raise StreamReadError("is no array of numbers", path=uri, hint="Save it as a column.")
    if array.ndim > 2:
        raise StreamReadError(
            f"has {array.ndim} dimensions, expected rows or rows of lists", path=uri
        )
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _column(array: NDArray[np.generic]) -> pa.Array:
    if array.ndim == 1:
        return pa.array(array)
    return pa.FixedSizeListArray.from_arrays(pa.array(array.reshape(-1)), array.shape[1])
