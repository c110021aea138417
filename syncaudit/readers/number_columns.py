"""Convert columns of numbers, or of lists of numbers."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError
from syncaudit.readers.arrow_columns import Cells, as_array, is_text

__all__ = ["numbers_of"]


def numbers_of(cells: Cells) -> NDArray[np.float64]:
    """Return a column of numbers, shape (n,), or (n, d) for lists; blank cells are NaN."""
    column, kind = cells.column, cells.column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _matrix(cells)
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    if is_text(kind):
        column = pc.utf8_trim_whitespace(column)
    try:
        return as_array(column.cast(pa.float64(), safe=False), np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise _bad_number(cells, column) from error


def _bad_number(cells: Cells, column: pa.ChunkedArray) -> StreamReadError:
    for index, cell in enumerate(column.to_pylist()):
        try:
            float(cell if cell is not None else "nan")
        except (TypeError, ValueError):
            text = str(cell)
            hint = (
                "Write decimals with a point, as in 0.25."
                if re.fullmatch(r"[+-]?\d+,\d+", text)
                else "Correct the cell, or export the table again."
            )
            return cells.fault(index, f"'{text[:60]}', expected a number", hint)
    return StreamReadError(
        f"column '{cells.name}' is of type {column.type}, expected numbers", path=cells.uri
    )


def _matrix(cells: Cells) -> NDArray[np.float64]:
    column, name = cells.column, cells.name
    widths = pc.unique(pc.list_value_length(column).drop_null()).to_pylist()
    if len(widths) > 1:
        raise StreamReadError(
            f"column '{name}' holds lists of different lengths ({min(widths)} to {max(widths)})",
            code="corrupt",
            path=cells.uri,
            hint="Write the same number of values in every row.",
        )
    width = int(widths[0]) if widths else 1
    matrix = np.full((len(column), width), np.nan)
    is_set = ~as_array(pc.is_null(column), np.bool_)
    try:
        flat = pc.list_flatten(column.filter(pa.array(is_set))).cast(pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise StreamReadError(
            f"column '{name}' is of type {column.type}, expected lists of numbers", path=cells.uri
        ) from error
    matrix[is_set] = as_array(flat, np.float64).reshape(-1, width)
    return matrix
