"""Tables with columns by name, and rows described the way people count them.

Arrow columns become numbers and timestamps; integers never pass through float.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError, nearest_name, one_line
from syncaudit.limits import TABLE_COLUMNS
from syncaudit.model import Finding
from syncaudit.model.units import NS_PER_UNIT, stamps_of_seconds

STAMPS = "timestamp_ns"

_ELEMENT = re.compile(r"^(.+)\[[0-9]+\]$")

_INTEGER = r"^[+-]?[0-9]+$"
_FLOAT = re.compile(r"^[+-]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][+-]?\d+)?$")
_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}|^\d{1,2}:\d{2}:")

# Nanoseconds as signed 64-bit integers, with room for rounding.
_MOST_NS = 9.2e18
_MOST_LOST_NS = 1e4

_T = TypeVar("_T", bound=np.generic)
_ZERO = np.uint8(ord("0"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Columns as stored in the file, with exact conversions."""

    uri: str  # where it was read from, for messages
    data: pa.Table  # columns under their stripped header names
    first_row: int  # number of the first data row for people: its line in a CSV, else 0
    findings: tuple[Finding, ...] = ()  # faults of the file that leave the rest usable
    unread: tuple[str, ...] = ()  # columns that were not asked for
    skipped_rows: int = 0  # rows of the file before these

    @property
    def names(self) -> list[str]:
        """Column names in file order."""
        return list(self.data.column_names)

    @property
    def n_rows(self) -> int:
        """Rows of data."""
        return int(self.data.num_rows)

    def where(self, index: int) -> str:
        """Describe row `index`: as the line of a CSV, the row of a Parquet file."""
        place = index + self.first_row + self.skipped_rows
        return f"line {place}" if self.first_row else f"row {place}"

    def has(self, name: str) -> bool:
        """Return whether there is a column `name`, or a column of lists for ``name[2]``."""
        return self._holds(name) or self._holds(base_column(name))

    def _holds(self, name: str) -> bool:
        # 30 times as fast as a search in `names`, which Arrow rebuilds each time.
        try:
            return bool(self.data.schema.get_field_index(name) >= 0)
        except UnicodeEncodeError:  # half a surrogate pair cannot name a column
            return False

    def only(self, names: Iterable[str]) -> Table:
        """Return the table restricted to the columns `names`; ``name[2]`` keeps ``name``."""
        kept = {*names, *map(base_column, names)}
        return replace(self, data=self.data.select([name for name in self.names if name in kept]))

    def require(self, names: Iterable[str], *, purpose: str, hint: str = "") -> None:
        """Check that columns exist; the error lists the existing ones and the nearest name."""
        for name in names:
            if not self.has(name):
                if self.names and all(map(_is_number, self.names)):
                    raise StreamReadError(
                        f"begins with a row of numbers, not with the names of its columns; '{name}'"
                        f" is needed ({purpose})",
                        path=self.uri,
                        hint="Write the names as the first row, separated like the numbers.",
                    )
                found = ", ".join((*self.names, *self.unread))
                raise StreamReadError(
                    f"has no column '{name}' ({purpose}); found: {found or 'none'}",
                    path=self.uri,
                    hint=f"{nearest_name(name, (*self.names, *self.unread))} "
                    + (hint or "Rename the column, or export the table with it."),
                )

    def stamps(
        self,
        name: str | None = STAMPS,
        *,
        may_be_seconds: bool = False,
        unit: str | None = None,
        purpose: str = "timestamps in integer nanoseconds",
    ) -> NDArray[np.int64]:
        """Return integer nanoseconds (or other integers) exactly as written, shape (n,).

        `name` None is ``timestamp_ns``; `purpose` is for messages. Floats are rejected unless they
        `may_be_seconds` since some start, or the manifest states their `unit`, a key of
        `syncaudit.model.units.NS_PER_UNIT`. StreamReadError if the column is missing, or a cell is
        blank, not an integer, or too large for int64.
        """
        name = STAMPS if name is None else name
        self.require([name], purpose=purpose)
        cells = self._cells(name)
        if unit is not None and unit != "ns":
            return _stamps_in(cells, unit)
        is_in_seconds = may_be_seconds and _is_fraction(cells.column)
        return _stamps_from_seconds(cells) if is_in_seconds else _stamps_of(cells)

    def _cells(self, name: str) -> Cells:
        column = _without_dictionary(self.data.column(name))
        return Cells(column=column, name=name, uri=self.uri, where=self.where)

    def numbers(self, name: str, *, purpose: str = "numbers") -> NDArray[np.float64]:
        """Return a column of numbers, shape (n,), or (n, d) for lists; blank cells are NaN.

        ``name[2]`` is the third element of a column of lists. StreamReadError if the column is
        missing or a cell is not a number.
        """
        self.require([name], purpose=purpose)
        if not self._holds(name):
            return self._element(name, purpose)
        return _numbers_of(self._cells(name))

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
        return matrix[:, place] if place < width else np.empty(0)

    def is_blank(self, name: str) -> NDArray[np.bool_]:
        """Return where cells of a column are empty (not even NaN), shape (n,)."""
        return _as_array(
            pc.is_null(self.data.column(name if self._holds(name) else base_column(name))),
            np.bool_,
        )


def base_column(name: str) -> str:
    """Return the column that ``name[2]`` is an element of, or `name` itself."""
    found = _ELEMENT.match(name)
    return found[1] if found else name


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def check_names(uri: str, names: list[str]) -> None:
    """Reject a table whose column names repeat, or that has more columns than any recording."""
    if len(names) > TABLE_COLUMNS:
        raise StreamReadError(
            f"has {len(names)} columns; at most {TABLE_COLUMNS} are read",
            path=uri,
            hint="Write one row per sample.",
        )
    name, n_times = max(Counter(names).items(), key=lambda item: item[1], default=("", 0))
    if n_times > 1:
        raise StreamReadError(
            f"the column '{name[:80]}' appears {n_times} times in the header",
            path=uri,
            hint="Give every column a unique name.",
        )


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


def _without_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _as_array(column: pa.ChunkedArray | pa.Array, kind: type[_T]) -> NDArray[_T]:
    """Return a column as an array; missing numbers become NaN."""
    is_plain = isinstance(column, pa.Array)
    array = column.to_numpy(zero_copy_only=False) if is_plain else column.to_numpy()
    return np.asarray(array).astype(kind, copy=False)


def _first_of(mask: pa.ChunkedArray) -> int:
    return int(pc.index(mask, pa.scalar(True)).as_py())


def is_digits(column: pa.ChunkedArray) -> bool:
    """Return whether strings hold digits only: the usual case, and ten times as fast to check."""
    if not _is_text(column.type):
        return False
    texts = [chunk.buffers()[2] for chunk in column.chunks]
    return all(
        text is not None and not np.count_nonzero(np.frombuffer(text, np.uint8) - _ZERO > 9)
        for text in texts
    )


def _numbers_of(cells: Cells) -> NDArray[np.float64]:
    """Return a column of numbers, shape (n,), or (n, d) for lists; blank cells are NaN."""
    column, kind = cells.column, cells.column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _matrix(cells)
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    if _is_text(kind):
        column = pc.utf8_trim_whitespace(column)
    try:
        return _as_array(column.cast(pa.float64(), safe=False), np.float64)
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
    is_set = ~_as_array(pc.is_null(column), np.bool_)
    try:
        flat = pc.list_flatten(column.filter(pa.array(is_set))).cast(pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise StreamReadError(
            f"column '{name}' is of type {column.type}, expected lists of numbers", path=cells.uri
        ) from error
    matrix[is_set] = _as_array(flat, np.float64).reshape(-1, width)
    return matrix


def _is_fraction(column: pa.ChunkedArray) -> bool:
    """Return whether a column holds floats, or strings of which one is not an integer."""
    if not _is_text(column.type):
        return bool(pa.types.is_floating(column.type))
    cells = pc.utf8_trim_whitespace(column).drop_null()
    return not pc.all(pc.match_substring_regex(cells, _INTEGER)).as_py()


def _stamps_of(cells: Cells) -> NDArray[np.int64]:
    """Return the integers of a column exactly as written, shape (n,).

    Cells are integers, timestamps or strings; StreamReadError if one is blank, not an integer, or
    too large for int64.
    """
    column, kind = cells.column, cells.column.type
    if len(column) == 0:
        return np.empty(0, np.int64)
    if pa.types.is_null(kind) or column.null_count:
        index = _first_of(pc.is_null(column))
        raise cells.fault(index, "blank", "Every row needs its timestamp in integer nanoseconds.")
    if pa.types.is_timestamp(kind):
        column = _checked_cast(cells, pa.timestamp("ns", tz=kind.tz))
        return _as_array(column.cast(pa.int64()), np.int64)
    if _is_text(kind):
        return _stamps_from_text(cells)
    if not pa.types.is_integer(kind):
        raise StreamReadError(
            f"column '{cells.name}' is of type {kind}, expected int64 nanoseconds"
            + (": floats cannot hold unix nanoseconds" if pa.types.is_floating(kind) else ""),
            path=cells.uri,
            hint=(
                "Write the timestamps as 64-bit integers from the start, or state the unit of "
                "the floats: 'units': {'stamps': 's'}."
            ),
        )
    return _as_array(_checked_cast(cells, pa.int64()), np.int64)


def _stamps_from_seconds(cells: Cells) -> NDArray[np.int64]:
    """Return seconds since a start as nanoseconds, shape (n,)."""
    times_s = _numbers_of(cells)
    try:
        return stamps_of_seconds(times_s)
    except ValueError as error:
        index = int(np.argmin(np.isfinite(times_s)))
        what = f"{times_s[index]}, expected seconds"
        raise cells.fault(index, what, "Every row needs its timestamp.") from error
    except OverflowError as error:
        raise StreamReadError(
            f"'{cells.name}' holds floats up to {np.max(np.abs(times_s)):.4g}, which are not "
            "seconds since a start (more than 30 days)",
            path=cells.uri,
            hint=(
                "If they are unix seconds, state it: 'units': {'stamps': 's'} (they have steps "
                "of 0.24 us or worse)."
            ),
        ) from error


def _stamps_in(cells: Cells, unit: str) -> NDArray[np.int64]:
    """Return timestamps in a unit (a key of `NS_PER_UNIT`) as nanoseconds, shape (n,).

    Integers are exact. Floats lose what they cannot represent: 0.24 us for Unix seconds. 32-bit
    floats lose two minutes of those and are rejected if they lose more than 10 us.
    """
    factor = NS_PER_UNIT[unit]
    if not _is_fraction(cells.column):
        counts = _stamps_of(cells)
        beyond = np.abs(counts.astype(np.float64)) > _MOST_NS / factor
        if beyond.any():
            raise _out_of_range(cells, counts, int(np.argmax(beyond)), unit)
        return counts * factor
    numbers = _numbers_of(cells)
    for is_bad in (~np.isfinite(numbers), np.abs(numbers) > _MOST_NS / factor):
        if is_bad.any():
            raise _out_of_range(cells, numbers, int(np.argmax(is_bad)), unit)
    largest = float(np.abs(numbers).max(initial=0.0))
    lost_ns = factor * float(np.spacing(np.float32(largest)))
    if pa.types.is_float32(cells.column.type) and lost_ns > _MOST_LOST_NS:
        raise StreamReadError(
            f"column '{cells.name}' holds floats of 32 bits, which round {largest:.9g} {unit} by "
            f"up to {0.5e-9 * lost_ns:.2g} s",
            path=cells.uri,
            hint="Export the timestamps as integers, or as floats of 64 bits.",
        )
    return np.rint(numbers * factor).astype(np.int64)


def _out_of_range(
    cells: Cells, values: NDArray[np.int64] | NDArray[np.float64], index: int, unit: str
) -> StreamReadError:
    what = f"{values[index]} {unit}, which is out of range for int64 nanoseconds"
    return cells.fault(index, what, "Correct the cell, or the unit that the manifest states.")


def _stamps_from_text(cells: Cells) -> NDArray[np.int64]:
    if is_digits(cells.column):
        with suppress(pa.ArrowInvalid):  # reported below
            return _as_array(cells.column.cast(pa.int64()), np.int64)
    column = pc.utf8_trim_whitespace(cells.column)
    is_integer = pc.match_substring_regex(column, _INTEGER)
    if not pc.all(is_integer).as_py():
        index = _first_of(pc.invert(is_integer))
        raise _bad_stamp(cells, index, str(column[index].as_py()))
    try:
        return _as_array(pc.utf8_ltrim(column, "+").cast(pa.int64()), np.int64)
    except pa.ArrowInvalid as error:
        limit = 2**63
        for index, cell in enumerate(column.to_pylist()):
            if not -limit <= int(cell) < limit:
                raise cells.fault(
                    index,
                    f"{cell}, too large for int64",
                    "Timestamps are nanoseconds as signed 64-bit integers; is the unit finer than "
                    "nanoseconds?",
                ) from error
        raise StreamReadError(
            f"column '{cells.name}' cannot be read as int64 ({error})", path=cells.uri
        ) from error


def _bad_stamp(cells: Cells, index: int, cell: str) -> StreamReadError:
    code = "unreadable"
    if _FLOAT.match(cell):
        hint = (
            "State their unit, such as 'units': {'stamps': 's'}, or write integers (unix "
            "seconds as float have steps of 0.24 us)."
        )
    elif _DATE.match(cell):
        hint = "Dates and clock times are not read; write nanoseconds since 1970 as integers."
    else:
        hint = "Correct the cell, or export the table again."
        code = "corrupt"
    return cells.fault(index, f"'{cell}', expected integer nanoseconds", hint, code=code)


def _checked_cast(cells: Cells, kind: pa.DataType) -> pa.ChunkedArray:
    try:
        return cells.column.cast(kind)
    except pa.ArrowInvalid as error:
        raise StreamReadError(
            f"column '{cells.name}' of type {cells.column.type} does not fit int64 nanoseconds "
            f"({one_line(error)})",
            code="corrupt",
            path=cells.uri,
            hint="Timestamps are nanoseconds as signed 64-bit integers.",
        ) from error
