"""Columns of numbers, or of lists of them."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError
from syncaudit.readers.arrow_columns import as_array, is_text, without_dictionary

__all__ = ["numbers_of"]


def numbers_of(
    column: pa.ChunkedArray, name: str, *, uri: str, where: Callable[[int], str]
) -> NDArray[np.float64]:
    """Return a column of numbers, shape (n,), or (n, d) of lists; blank cells are NaN.

    `name`, `uri` and `where`, which words a row, are for messages.
    """
    column = without_dictionary(column)
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _matrix(column, name, uri=uri)
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    if is_text(kind):
        column = pc.utf8_trim_whitespace(column)
    try:
        return as_array(column.cast(pa.float64(), safe=False), np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise _bad_number(column, name, uri=uri, where=where) from error


def _bad_number(
    column: pa.ChunkedArray, name: str, *, uri: str, where: Callable[[int], str]
) -> StreamReadError:
    for index, cell in enumerate(column.to_pylist()):
        try:
            float(cell if cell is not None else "nan")
        except (TypeError, ValueError):
            text = str(cell)
            return StreamReadError(
                f"{where(index)}: '{name}' is '{text[:60]}', expected a number",
                code="corrupt",
                path=uri,
                hint="Write decimals with a point, as in 0.25."
                if re.fullmatch(r"[+-]?\d+,\d+", text)
                else "Correct the cell, or export the table again.",
            )
    return StreamReadError(f"column '{name}' is of type {column.type}, expected numbers", path=uri)


def _matrix(column: pa.ChunkedArray, name: str, *, uri: str) -> NDArray[np.float64]:
    lengths = pc.list_value_length(column)
    widths = pc.unique(lengths.drop_null()).to_pylist()
    if len(widths) > 1:
        raise StreamReadError(
            f"column '{name}' holds lists of different lengths ({min(widths)} to {max(widths)})",
            code="corrupt",
            path=uri,
            hint="Write the same number of values in every row.",
        )
    width = int(widths[0]) if widths else 1
    matrix = np.full((len(column), width), np.nan)
    is_set = ~as_array(pc.is_null(column), np.bool_)
    try:
        flat = pc.list_flatten(column.filter(pa.array(is_set))).cast(pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise StreamReadError(
            f"column '{name}' is of type {column.type}, expected lists of numbers",
            path=uri,
        ) from error
    matrix[is_set] = as_array(flat, np.float64).reshape(-1, width)
    return matrix
