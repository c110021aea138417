"""Columns of a table and their exact conversion: integers never pass through float."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError, nearest_name
from syncaudit.model import Finding
from syncaudit.model.time import stamps_of_seconds

__all__ = ["STAMPS", "Table", "base_column", "check_names"]

STAMPS = "timestamp_ns"

_T = TypeVar("_T", bound=np.generic)

_INTEGER = r"^[+-]?[0-9]+$"
_FLOAT = re.compile(r"^[+-]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][+-]?\d+)?$")
_ELEMENT = re.compile(r"^(.+)\[[0-9]+\]$")
_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}|^\d{1,2}:\d{2}:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Columns as the file holds them, with exact conversions.

    Parameters
    ----------
    uri : str
        Where it was read from, for messages.
    data : pyarrow.Table
        Columns under their stripped header names.
    first_row : int
        Number that people count the first data row as: the line in a CSV, else 0.
    findings : tuple of Finding
        What is wrong with the file and leaves the rest usable.
    unread : tuple of str
        Columns that were not asked for.
    skipped_rows : int
        Rows of the file before these.
    """

    uri: str
    data: pa.Table
    first_row: int
    findings: tuple[Finding, ...] = ()
    unread: tuple[str, ...] = ()
    skipped_rows: int = 0

    @property
    def names(self) -> list[str]:
        """Column names in file order."""
        return list(self.data.column_names)

    @property
    def n_rows(self) -> int:
        """Rows of data."""
        return int(self.data.num_rows)

    def where(self, index: int) -> str:
        """Return the words for row `index`: the line of a CSV, the row of a Parquet file."""
        place = index + self.first_row + self.skipped_rows
        return f"line {place}" if self.first_row else f"row {place}"

    def has(self, name: str) -> bool:
        """Return whether there is a column `name`, or a column of lists for ``name[2]``."""
        return name in self.names or base_column(name) in self.names

    def require(self, names: Iterable[str], *, purpose: str, hint: str = "") -> None:
        """Check that columns exist.

        Raises
        ------
        StreamReadError
            If one is missing; lists those found and the nearest name.
        """
        for name in names:
            if not self.has(name):
                found = ", ".join((*self.names, *self.unread))
                raise StreamReadError(
                    f"has no column '{name}' ({purpose}); found: {found or 'none'}",
                    path=self.uri,
                    hint=" ".join(
                        part
                        for part in (
                            nearest_name(name, (*self.names, *self.unread)),
                            hint or "Rename the column, or export the table with it.",
                        )
                        if part
                    ),
                )

    def stamps(
        self,
        name: str | None = STAMPS,
        *,
        may_be_seconds: bool = False,
        purpose: str = "stamps in integer nanoseconds",
    ) -> NDArray[np.int64]:
        """Return a column of integer nanoseconds (or other integers), exactly as written.

        Parameters
        ----------
        name : str, optional
            Column; None is ``timestamp_ns``.
        may_be_seconds : bool
            Whether floats are seconds since some start; else they are refused.
        purpose : str
            What it is for, in messages.

        Returns
        -------
        ndarray of int64, shape (n,)

        Raises
        ------
        StreamReadError
            If the column is missing, or a cell is blank, no integer, or too large for int64.
        """
        name = STAMPS if name is None else name
        self.require([name], purpose=purpose)
        column = self.data.column(name)
        kind = column.type
        if pa.types.is_dictionary(kind):
            column = column.cast(kind.value_type)
            kind = column.type
        if may_be_seconds and self._is_fraction(column):
            return self._stamps_from_seconds(name)
        if self.n_rows == 0:
            return np.empty(0, np.int64)
        if pa.types.is_null(kind) or column.null_count:
            index = _first(pc.is_null(column))
            raise StreamReadError(
                f"{self.where(index)}: '{name}' is blank",
                code="corrupt",
                path=self.uri,
                hint="Every row needs its stamp in integer nanoseconds.",
            )
        if pa.types.is_timestamp(kind):
            column = _checked_cast(column, pa.timestamp("ns", tz=kind.tz), self.uri, name)
            return _numpy(column.cast(pa.int64()), np.int64)
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return self._stamps_from_text(name, column)
        if not pa.types.is_integer(kind):
            raise StreamReadError(
                f"column '{name}' is of type {kind}, expected int64 nanoseconds"
                + (": floats cannot hold unix nanoseconds" if pa.types.is_floating(kind) else ""),
                path=self.uri,
                hint="Write the stamps as 64-bit integers from the start; a cast now would keep "
                "the rounding (about 128 ns to 256 ns).",
            )
        return _numpy(_checked_cast(column, pa.int64(), self.uri, name), np.int64)

    @staticmethod
    def _is_fraction(column: pa.ChunkedArray) -> bool:
        """Return whether a column holds floats, or texts of which one is no integer."""
        kind = column.type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            return bool(pa.types.is_floating(kind))
        cells = pc.utf8_trim_whitespace(column).drop_null()
        return not pc.all(pc.match_substring_regex(cells, _INTEGER)).as_py()

    def _stamps_from_seconds(self, name: str) -> NDArray[np.int64]:
        times_s = self.numbers(name, purpose="stamps")
        try:
            return stamps_of_seconds(times_s)
        except ValueError as error:
            index = int(np.argmin(np.isfinite(times_s)))
            raise StreamReadError(
                f"{self.where(index)}: '{name}' is {times_s[index]}, expected seconds",
                code="corrupt",
                path=self.uri,
                hint="Every row needs its stamp.",
            ) from error
        except OverflowError as error:
            raise StreamReadError(
                f"'{name}' holds floats up to {np.max(np.abs(times_s)):.4g}, which are no seconds "
                "since a start (more than 30 days)",
                path=self.uri,
                hint="Unix seconds as floats have steps of 0.24 us or worse: write integer "
                "nanoseconds.",
            ) from error

    def _stamps_from_text(self, name: str, column: pa.ChunkedArray) -> NDArray[np.int64]:
        column = pc.utf8_trim_whitespace(column)
        is_integer = pc.match_substring_regex(column, _INTEGER)
        if not pc.all(is_integer).as_py():
            index = _first(pc.invert(is_integer))
            raise self._bad_stamp(name, index, str(column[index].as_py()))
        try:
            return _numpy(pc.utf8_ltrim(column, "+").cast(pa.int64()), np.int64)
        except pa.ArrowInvalid as error:
            limit = 2**63
            for index, cell in enumerate(column.to_pylist()):
                if not -limit <= int(cell) < limit:
                    raise StreamReadError(
                        f"{self.where(index)}: '{name}' is {cell}, too large for int64",
                        code="corrupt",
                        path=self.uri,
                        hint="Stamps are nanoseconds as signed 64-bit integers; is the unit "
                        "finer than nanoseconds?",
                    ) from error
            raise StreamReadError(
                f"column '{name}' cannot be read as int64 ({error})", path=self.uri
            ) from error

    def _bad_stamp(self, name: str, index: int, cell: str) -> StreamReadError:
        message = f"{self.where(index)}: '{name}' is '{cell}', expected integer nanoseconds"
        code = "unreadable"
        if _FLOAT.match(cell):
            hint = (
                "Write stamps as integers (unix seconds as float have steps of 0.24 us): "
                "convert at the recorder, e.g. seconds * 10**9 + nanoseconds."
            )
        elif _DATE.match(cell):
            hint = "Dates and clock times are not read; write nanoseconds since 1970 as integers."
        else:
            hint = "Correct the cell, or export the table again."
            code = "corrupt"
        return StreamReadError(message, code=code, path=self.uri, hint=hint)

    def numbers(self, name: str, *, purpose: str = "numbers") -> NDArray[np.float64]:
        """Return a column of numbers; blank cells are NaN.

        ``name[2]`` is the third element of a column of lists.

        Returns
        -------
        ndarray of float64, shape (n,), or (n, d) for a column of lists

        Raises
        ------
        StreamReadError
            If the column is missing or a cell is no number.
        """
        self.require([name], purpose=purpose)
        if name not in self.names:
            return self._element(name, purpose)
        column = self.data.column(name)
        kind = column.type
        if pa.types.is_dictionary(kind):
            column = column.cast(kind.value_type)
            kind = column.type
        if (
            pa.types.is_list(kind)
            or pa.types.is_large_list(kind)
            or pa.types.is_fixed_size_list(kind)
        ):
            return self._matrix(name, column)
        if pa.types.is_null(kind):
            return np.full(self.n_rows, np.nan)
        if pa.types.is_boolean(kind):
            column = column.cast(pa.uint8())
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            column = pc.utf8_trim_whitespace(column)
        try:
            return _numpy(column.cast(pa.float64(), safe=False), np.float64)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise self._bad_number(name, column) from error

    def _element(self, name: str, purpose: str) -> NDArray[np.float64]:
        base = base_column(name)
        place = int(name[len(base) + 1 : -1])
        matrix = self.numbers(base, purpose=purpose)
        width = 0 if matrix.ndim == 1 else matrix.shape[1]
        if self.n_rows and place >= width:
            what = f"lists of {width}" if width else "single numbers"
            raise StreamReadError(
                f"column '{base}' holds {what}, so there is no '{name}' ({purpose})",
                path=self.uri,
                hint="Elements are counted from 0.",
            )
        return matrix[:, place] if width else np.empty(0)

    def _bad_number(self, name: str, column: pa.ChunkedArray) -> StreamReadError:
        for index, cell in enumerate(column.to_pylist()):
            try:
                float(cell if cell is not None else "nan")
            except (TypeError, ValueError):
                text = str(cell)
                return StreamReadError(
                    f"{self.where(index)}: '{name}' is '{text[:60]}', expected a number",
                    code="corrupt",
                    path=self.uri,
                    hint="Write decimals with a point, as in 0.25."
                    if re.fullmatch(r"[+-]?\d+,\d+", text)
                    else "Correct the cell, or export the table again.",
                )
        return StreamReadError(
            f"column '{name}' is of type {column.type}, expected numbers", path=self.uri
        )

    def _matrix(self, name: str, column: pa.ChunkedArray) -> NDArray[np.float64]:
        lengths = pc.list_value_length(column)
        widths = pc.unique(lengths.drop_null()).to_pylist()
        if len(widths) > 1:
            raise StreamReadError(
                f"column '{name}' holds lists of different lengths ({min(widths)} to "
                f"{max(widths)})",
                code="corrupt",
                path=self.uri,
                hint="Write the same number of values in every row.",
            )
        width = int(widths[0]) if widths else 1
        matrix = np.full((self.n_rows, width), np.nan)
        is_set = ~_numpy(pc.is_null(column), np.bool_)
        try:
            flat = pc.list_flatten(column.filter(pa.array(is_set))).cast(pa.float64(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise StreamReadError(
                f"column '{name}' is of type {column.type}, expected lists of numbers",
                path=self.uri,
            ) from error
        matrix[is_set] = _numpy(flat, np.float64).reshape(-1, width)
        return matrix

    def is_blank(self, name: str) -> NDArray[np.bool_]:
        """Return where cells of a column hold nothing (not even NaN), shape (n,)."""
        return _numpy(
            pc.is_null(self.data.column(name if name in self.names else base_column(name))),
            np.bool_,
        )


def base_column(name: str) -> str:
    """Return the column that ``name[2]`` is an element of, or `name` itself."""
    found = _ELEMENT.match(name)
    return found[1] if found else name


def _checked_cast(
    column: pa.ChunkedArray, kind: pa.DataType, uri: str, name: str
) -> pa.ChunkedArray:
    try:
        return column.cast(kind)
    except pa.ArrowInvalid as error:
        raise StreamReadError(
            f"column '{name}' of type {column.type} does not fit int64 nanoseconds "
            f"({' '.join(str(error).split())[:120]})",
            code="corrupt",
            path=uri,
            hint="Stamps are nanoseconds as signed 64-bit integers.",
        ) from error


def _numpy(column: pa.ChunkedArray | pa.Array, kind: type[_T]) -> NDArray[_T]:
    """Return a column as an array; missing numbers become NaN."""
    is_plain = isinstance(column, pa.Array)
    array = column.to_numpy(zero_copy_only=False) if is_plain else column.to_numpy()
    return np.asarray(array).astype(kind, copy=False)


def _first(mask: pa.ChunkedArray) -> int:
    return int(pc.index(mask, pa.scalar(True)).as_py())


def check_names(uri: str, names: list[str]) -> None:
    """Refuse a table whose column names repeat.

    Raises
    ------
    StreamReadError
        Naming one that is there most often.
    """
    name, n_times = max(Counter(names).items(), key=lambda item: item[1], default=("", 0))
    if n_times > 1:
        raise StreamReadError(
            f"the column '{name[:80]}' appears {n_times} times in the header",
            path=uri,
            hint="Give every column a name of its own.",
        )
