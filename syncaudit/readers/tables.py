"""Read CSV and Parquet tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError
from syncaudit.model import (
    CanSpec,
    EventsSpec,
    Finding,
    StateSpec,
)
from syncaudit.model.units import STAMPS_KEY
from syncaudit.readers.arrays import NPY_MAGIC, array_name, array_parts, list_arrays, read_arrays
from syncaudit.readers.columns import STAMPS, Table, base_column
from syncaudit.readers.csv_table import large_csv, read_csv, read_large_csv
from syncaudit.readers.faults import empty_stream
from syncaudit.readers.parquet import parquet_parts, read_parquet, too_short
from syncaudit.readers.uris import holds_data, local_path, read_bytes, resolve


def read_table(
    uri: str,
    *,
    text_columns: Iterable[str] = (STAMPS,),
    rows: Sequence[int] | None = None,
    columns: Iterable[str] | None = None,
) -> Table:
    """Read a CSV or Parquet table, or NumPy arrays: a file, or a folder with one per column.

    CSV may have a byte order mark, CRLF, ``,`` ``;`` or tab between cells, and blanks around
    header names. A truncated last line is a finding; a faulty line before it is an error. The
    `text_columns` of CSV stay text, so that integers stay exact and messages can quote them.
    `rows` are the first and the one after the last; of Parquet files only their row groups are
    read. Of Parquet and arrays only `columns` are read; ``name[2]`` belongs to ``name``.
    StreamReadError if the file is missing, empty or not a table.
    """
    wanted = None if columns is None else {*columns, *map(base_column, columns)}
    is_parquet = uri.split("::")[0].lower().endswith((".parquet", ".pq"))
    if is_parquet:
        return read_parquet(uri, rows, wanted)
    texts = set(text_columns)
    arrays = _arrays_of(uri)
    if arrays is not None:
        return read_arrays(uri, arrays, wanted, rows)
    large = large_csv(uri)
    table = None if large is None else read_large_csv(uri, large, texts, rows, wanted)
    if table is not None:
        return table
    data = read_bytes(uri)
    if data[:6] == NPY_MAGIC:
        return read_arrays(uri, {array_name(uri): uri}, wanted, rows)
    is_parquet = data[:4] == b"PAR1"  # whatever its name
    table = read_parquet(uri, None, None) if is_parquet else read_csv(uri, data, texts)
    if rows is None:
        return table
    return replace(
        table,
        data=table.data.slice(rows[0], rows[1] - rows[0]),
        skipped_rows=rows[0],
        findings=(*table.findings, *too_short(uri, rows, table.n_rows)),
    )


def read_samples(
    spec: CanSpec | EventsSpec | StateSpec,
    base_uri: str,
    columns: Iterable[str] | None = (),
    *,
    what: str,
) -> tuple[Table, NDArray[np.int64], list[Finding]]:
    """Read the table of a source: timestamps, other columns (None: all), and findings.

    `what` describes its rows in messages.
    """
    uri, stamps = resolve(spec.uri, base_uri), spec.stamps or STAMPS
    wanted = None if columns is None else (stamps, *columns)
    table = read_table(uri, text_columns=(stamps,), rows=spec.rows, columns=wanted)
    time_ns = table.stamps(
        stamps, may_be_seconds=spec.stamps is not None, unit=spec.units.get(STAMPS_KEY)
    )
    return table, time_ns, [*table.findings, *(() if table.n_rows else empty_stream(uri, what))]


def rows_near(
    uri: str, stamps: str, near_ns: tuple[int, int], *, may_be_seconds: bool, unit: str | None
) -> tuple[int, int] | None:
    """Return the rows from the first in ``[low, high)`` to the last, reading only timestamps.

    Absurd timestamps between them stay: the audit is there to find them. None if the table is
    small or irregular, or no row lies in the window: then it must be read as a whole.
    """
    low, high = near_ns
    at, first, last = 0, None, 0
    try:
        for part in _stamp_parts(uri, stamps):
            time_ns = part.stamps(stamps, may_be_seconds=may_be_seconds, unit=unit)
            inside = np.flatnonzero((time_ns >= low) & (time_ns < high))
            if inside.size:
                first = at + int(inside[0]) if first is None else first
                last = at + int(inside[-1])
            at += part.n_rows
    except StreamReadError:
        return None  # the reader of whole tables reports the fault
    return None if first is None else (first, last + 1)


def _stamp_parts(uri: str, stamps: str) -> Iterator[Table]:
    """Yield a column of a large table in parts; nothing if it is small or not a table.

    Of remote tables only Parquet: in other formats a column costs as much as the whole.
    """
    is_local = local_path(uri) is not None
    if is_local and not holds_data(uri) and not Path(uri).is_dir():
        return
    if uri.split("::")[0].lower().endswith((".parquet", ".pq")):
        yield from parquet_parts(uri, stamps)
        return
    if not is_local:
        return
    arrays = _arrays_of(uri)
    if arrays is not None:
        yield from array_parts(arrays, stamps)
        return
    large = large_csv(uri)
    if large is not None and stamps in large.names:
        for block in large.read({stamps}, [stamps]):
            yield Table(uri=uri, data=block, first_row=2)


def _arrays_of(uri: str) -> dict[str, str] | None:
    """Return the arrays of a table by column name; None if it does not consist of arrays."""
    is_array = uri.split("::")[0].lower().endswith(".npy")
    return {array_name(uri): uri} if is_array and holds_data(uri) else list_arrays(uri)
