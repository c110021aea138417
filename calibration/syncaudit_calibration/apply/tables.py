"""Copy CSV and Parquet tables with one column of stamps corrected, all else as it was."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError
from syncaudit.model import ClockMap
from syncaudit.readers.csv_table import decode_text
from syncaudit.readers.tables import STAMPS, read_table
from syncaudit.readers.uris import read_bytes
from syncaudit_calibration.apply.task import Task, put

__all__ = ["Restamped", "restamp_table"]

# As the reader: the one that the header holds most of.
_DELIMITERS = (b",", b";", b"\t")
_STAMP = re.compile(rb'^([ \t]*"?[ \t]*)([+-]?[0-9]{1,19})([ \t]*"?[ \t]*\r?)$')


@dataclass(frozen=True, slots=True, kw_only=True)
class Restamped:
    """A corrected copy of a table.

    Parameters
    ----------
    path : Path
        The copy.
    correction : ClockMap
        What was added.
    remarks : tuple of str
        Of the correction, and of rows that stayed as they were.
    """

    path: Path
    correction: ClockMap
    remarks: tuple[str, ...]


def restamp_table(task: Task, uri: str, *, column: str = STAMPS, ending: str = "") -> Restamped:
    """Write a copy of a table with its stamps corrected.

    CSV keeps every other byte; rows that are cut off and cells that hold no stamp stay as they
    are. Parquet keeps every other column; its stamps are written as int64, or as nanoseconds
    where they were of a timestamp type.

    Parameters
    ----------
    task : Task
        The source.
    uri : str
        Resolved path or URL of the table.
    column : str
        Column of stamps.
    ending : str
        Put before ``.csv`` or ``.parquet``.

    Raises
    ------
    StreamReadError
        If it cannot be read or holds no stamps; in the words of the reader.
    """
    data = read_bytes(uri)
    if data[:4] == b"PAR1" or uri.lower().endswith((".parquet", ".pq")):
        return _restamp_parquet(task, uri, data, column, f"{ending}.parquet")
    return _restamp_csv(task, uri, data, column, f"{ending}.csv")


def _restamp_csv(task: Task, uri: str, data: bytes, column: str, ending: str) -> Restamped:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = decode_text(uri, data).encode("utf-8")
    lines = data.split(b"\n")
    header = lines[0].removeprefix(b"\xef\xbb\xbf").strip(b"\r")
    delimiter = max(_DELIMITERS, key=header.count)
    names = [
        name.decode("utf-8", "replace").strip().strip('"').strip()
        for name in header.split(delimiter)
    ]
    if names.count(column) != 1:
        raise _refusal(uri, column)
    place = names.index(column)
    cells = _Cells(delimiter)
    found: list[tuple[int, list[bytes], re.Match[bytes]]] = []
    n_kept = 0
    for number, line in enumerate(lines[1:], start=1):
        if not line.strip():
            continue
        row = cells.split(line)
        match = _STAMP.match(row[place]) if len(row) == len(names) else None
        if match is None or not -(2**63) <= int(match[2]) < 2**63:
            n_kept += 1
        else:
            found.append((number, row, match))
    if not found:
        raise _refusal(uri, column)
    stamps = np.array([int(match[2]) for _, _, match in found], dtype=np.int64)
    correction, remarks = task.settled(int(stamps[0]))
    for (number, row, match), stamp in zip(found, correction.apply(stamps).tolist(), strict=True):
        row[place] = match[1] + str(stamp).encode("ascii") + match[3]
        lines[number] = delimiter.join(row)
    path = put(task.beside(ending), b"\n".join(lines))
    return Restamped(path=path, correction=correction, remarks=(*remarks, *_kept(n_kept)))


class _Cells:
    """Cells of a line, as the reader parts them: delimiters within quotes do not count."""

    def __init__(self, delimiter: bytes) -> None:
        self._delimiter = delimiter
        mark = re.escape(delimiter)
        self._cell = re.compile(rb'((?:"(?:[^"]|"")*")?[^' + mark + rb"]*)(" + mark + rb"|$)")

    def split(self, line: bytes) -> list[bytes]:
        if b'"' not in line:
            return line.split(self._delimiter)
        found: list[bytes] = []
        start = 0
        while match := self._cell.match(line, start):
            found.append(match[1])
            start = match.end()
            if not match[2]:
                break
        return found


def _kept(n_kept: int) -> tuple[str, ...]:
    if not n_kept:
        return ()
    if n_kept == 1:
        return ("1 row without a readable stamp stayed as it was",)
    return (f"{n_kept} rows without a readable stamp stayed as they were",)


def _refusal(uri: str, column: str) -> StreamReadError:
    """Return the error that the reader raises for this table, or one for a table of no rows."""
    try:
        read_table(uri, text_columns=(column,)).stamps(column)
    except StreamReadError as error:
        return error
    return StreamReadError("holds no stamps", code="empty", path=uri, hint="Record it again.")


def _restamp_parquet(task: Task, uri: str, data: bytes, column: str, ending: str) -> Restamped:
    import pyarrow.parquet as pq

    names = read_table(uri).names  # damage and missing columns in the words of the reader
    if names.count(column) != 1:
        raise _refusal(uri, column)
    table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
    place = names.index(column)
    stamps, is_stamp, kind = _parquet_stamps(uri, column, table.column(place))
    good = stamps[is_stamp]
    if not good.size:
        raise _refusal(uri, column)
    correction, remarks = task.settled(int(good[0]))
    stamps[is_stamp] = correction.apply(good)
    corrected = pa.array(stamps, mask=~is_stamp).cast(kind)
    field = pa.field(
        table.field(place).name, kind, nullable=True, metadata=table.field(place).metadata
    )
    sink = io.BytesIO()
    pq.write_table(table.set_column(place, field, corrected), sink, compression="zstd")
    path = put(task.beside(ending), sink.getvalue())
    n_kept = int(np.count_nonzero(~is_stamp))
    return Restamped(path=path, correction=correction, remarks=(*remarks, *_kept(n_kept)))


def _parquet_stamps(
    uri: str, column: str, found: pa.ChunkedArray
) -> tuple[NDArray[np.int64], NDArray[np.bool_], pa.DataType]:
    """Return stamps, where they are, and the type to write them as."""
    kind = found.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
        found = found.cast(kind)
    as_type = pa.timestamp("ns", tz=kind.tz) if pa.types.is_timestamp(kind) else pa.int64()
    try:
        if pa.types.is_timestamp(kind):
            found = found.cast(as_type).cast(pa.int64())
        elif pa.types.is_integer(kind):
            found = found.cast(pa.int64())
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
            found = pc.utf8_trim_whitespace(found).cast(pa.int64())
        else:
            raise _refusal(uri, column)
    except pa.ArrowInvalid as error:
        raise _refusal(uri, column) from error
    is_stamp = np.asarray(found.is_valid().to_numpy(), dtype=np.bool_)
    stamps = np.asarray(found.fill_null(0).to_numpy(), dtype=np.int64).copy()
    return stamps, is_stamp, as_type
