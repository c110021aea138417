"""Convert Arrow columns to plain values, and describe their cells in messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError

_T = TypeVar("_T", bound=np.generic)
_ZERO = np.uint8(ord("0"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """A column of a table, without dictionary encoding, with its name and file."""

    column: pa.ChunkedArray
    name: str
    uri: str
    where: Callable[[int], str]  # describes a row by its index

    def fault(self, index: int, what: str, hint: str, *, code: str = "corrupt") -> StreamReadError:
        """Return the error for one cell: "line 118: 'timestamp_ns' is blank"."""
        message = f"{self.where(index)}: '{self.name}' is {what}"
        return StreamReadError(message, code=code, path=self.uri, hint=hint)


def without_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without dictionary encoding."""
    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column


def is_text(kind: pa.DataType) -> bool:
    """Return whether cells of a type are strings."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def as_array(column: pa.ChunkedArray | pa.Array, kind: type[_T]) -> NDArray[_T]:
    """Return a column as an array; missing numbers become NaN."""
    is_plain = isinstance(column, pa.Array)
    array = column.to_numpy(zero_copy_only=False) if is_plain else column.to_numpy()
    return np.asarray(array).astype(kind, copy=False)


def first_of(mask: pa.ChunkedArray) -> int:
    """Return the index of the first true cell."""
    return int(pc.index(mask, pa.scalar(True)).as_py())


def is_digits(column: pa.ChunkedArray) -> bool:
    """Return whether strings hold digits only: the usual case, and ten times as fast to check."""
    if not is_text(column.type):
        return False
    texts = [chunk.buffers()[2] for chunk in column.chunks]
    return all(
        text is not None and not np.count_nonzero(np.frombuffer(text, np.uint8) - _ZERO > 9)
        for text in texts
    )


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
