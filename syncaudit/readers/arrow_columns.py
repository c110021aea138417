"""Convert Arrow columns to plain values, and describe their cells in messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError

__all__ = ["Cells", "as_array", "first_of", "is_digits", "is_text", "without_dictionary"]

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
