"""Tables with columns by name, and rows described the way people count them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError, nearest_name
from syncaudit.limits import TABLE_COLUMNS
from syncaudit.model import Finding
from syncaudit.readers.arrow_columns import (
    Cells,
    as_array,
    is_fraction,
    numbers_of,
    stamps_from_seconds,
    stamps_in,
    stamps_of,
    without_dictionary,
)

STAMPS = "timestamp_ns"

_ELEMENT = re.compile(r"^(.+)\[[0-9]+\]$")


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
            return stamps_in(cells, unit)
        is_in_seconds = may_be_seconds and is_fraction(cells.column)
        return stamps_from_seconds(cells) if is_in_seconds else stamps_of(cells)

    def _cells(self, name: str) -> Cells:
        column = without_dictionary(self.data.column(name))
        return Cells(column=column, name=name, uri=self.uri, where=self.where)

    def numbers(self, name: str, *, purpose: str = "numbers") -> NDArray[np.float64]:
        """Return a column of numbers, shape (n,), or (n, d) for lists; blank cells are NaN.

        ``name[2]`` is the third element of a column of lists. StreamReadError if the column is
        missing or a cell is not a number.
        """
        self.require([name], purpose=purpose)
        if not self._holds(name):
            return self._element(name, purpose)
        return numbers_of(self._cells(name))

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
        return as_array(
            pc.is_null(self.data.column(name if self._holds(name) else base_column(name))),
            np.bool_,
        )


def base_column(name: str) -> str:
    """Return the column that ``name[2]`` is an element of, or `name` itself."""
    found = _ELEMENT.match(name)
    return found[1] if found else name


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
