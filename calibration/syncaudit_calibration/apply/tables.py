"""Copy tables with the timestamp column corrected: whole, or the part that a clip uses."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from syncaudit.errors import StreamReadError
from syncaudit.formatting import word_count
from syncaudit.model import CanSpec, ClockMap, EventsSpec, ImuSpec, StateSpec
from syncaudit.model.arrays import Bools, Ints
from syncaudit.model.units import STAMPS_KEY
from syncaudit.readers.columns import STAMPS, base_column
from syncaudit.readers.csv_table import decode_text
from syncaudit.readers.tables import read_table
from syncaudit.readers.uris import read_bytes
from syncaudit_calibration.apply.task import Task, Written, no_stamps, parquet_bytes, put

TableSpec = CanSpec | EventsSpec | ImuSpec | StateSpec
# As in the reader: the most frequent one in the header.
_DELIMITERS = (b",", b";", b"\t")
_STAMP = re.compile(rb'^([ \t]*"?[ \t]*)([+-]?[0-9]{1,19})([ \t]*"?[ \t]*\r?)$')
# The table, the number of unchanged rows, and what was added to the others with remarks.
_Copy = tuple[bytes, int, tuple[ClockMap, tuple[str, ...]]]


def restamp_table(task: Task, uri: str, *, key: str = "uri", column: str = STAMPS) -> Written:
    """Write a copy of a table with its timestamps corrected.

    In CSV, all other bytes are kept; truncated rows and cells without a timestamp stay unchanged.
    In Parquet, all other columns are kept; timestamps are written as int64, or as nanosecond
    timestamps if the column has a timestamp type.

    `uri`: resolved path or URL of the table. `key`: manifest field that names it; any but ``uri``
    becomes part of the copy's name. `column`: column of timestamps. StreamReadError if it cannot be
    read or holds no timestamps, with the message of the reader.
    """
    data = read_bytes(uri)
    is_parquet = data[:4] == b"PAR1" or uri.lower().endswith((".parquet", ".pq"))
    restamp, ending = (_restamp_parquet, ".parquet") if is_parquet else (_restamp_csv, ".csv")
    content, n_kept, (correction, remarks) = restamp(task, uri, data, column)
    path = put(task.beside(ending if key == "uri" else f".{key}{ending}"), content)
    return Written(correction=correction, files={key: path}, remarks=(*remarks, *_kept(n_kept)))


def _restamp_csv(task: Task, uri: str, data: bytes, column: str) -> _Copy:
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
    settled = task.settled(int(stamps[0]))
    for (number, row, match), stamp in zip(found, settled[0].apply(stamps).tolist(), strict=True):
        row[place] = match[1] + str(stamp).encode("ascii") + match[3]
        lines[number] = delimiter.join(row)
    return b"\n".join(lines), n_kept, settled


class _Cells:
    """Split lines into cells as the reader does: delimiters within quotes do not count."""

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
    verb = "was" if n_kept == 1 else "were"
    return (f"{word_count(n_kept, 'row')} without a readable timestamp {verb} kept unchanged",)


def _refusal(uri: str, column: str) -> StreamReadError:
    """Return the error that the reader raises for this table, or the one for an empty table."""
    try:
        read_table(uri, text_columns=(column,)).stamps(column)
    except StreamReadError as error:
        return error
    return no_stamps(uri)


def _restamp_parquet(task: Task, uri: str, data: bytes, column: str) -> _Copy:
    import pyarrow.parquet as pq

    names = read_table(uri).names  # the reader reports damage and missing columns
    if names.count(column) != 1:
        raise _refusal(uri, column)
    table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
    place = names.index(column)
    stamps, is_stamp, kind = _parquet_stamps(uri, column, table.column(place))
    good = stamps[is_stamp]
    if not good.size:
        raise _refusal(uri, column)
    settled = task.settled(int(good[0]))
    stamps[is_stamp] = settled[0].apply(good)
    corrected = pa.array(stamps, mask=~is_stamp).cast(kind)
    field = pa.field(
        table.field(place).name, kind, nullable=True, metadata=table.field(place).metadata
    )
    content = parquet_bytes(table.set_column(place, field, corrected))
    return content, int(np.count_nonzero(~is_stamp)), settled


def _parquet_stamps(
    uri: str, column: str, found: pa.ChunkedArray
) -> tuple[Ints, Bools, pa.DataType]:
    """Return the timestamps, a mask of valid ones, and the type to write them as."""
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


def restamp_part(task: Task, spec: TableSpec) -> Written:
    """Write a Parquet table with only the rows and columns that the clip uses.

    Used if the manifest gives `stamps`, `rows` or a unit for the timestamps. The timestamps become
    integer nanoseconds, and these keys are removed, since the copy holds nothing else.
    StreamReadError if the table cannot be read or holds no timestamps.
    """
    uri = task.resolve(spec.uri)
    renamed = dict(spec.columns) if isinstance(spec, ImuSpec) else {}
    column = spec.stamps or renamed.pop(STAMPS, STAMPS)
    used = _used_columns(spec)
    columns = None if used is None else (column, *used)
    table = read_table(uri, text_columns=(column,), rows=spec.rows, columns=columns)
    units = dict(spec.units)
    stamps = table.stamps(
        column, may_be_seconds=spec.stamps is not None, unit=units.pop(STAMPS_KEY, None)
    )
    if not stamps.size:
        raise no_stamps(uri)
    correction, remarks = task.settled(int(stamps[0]))
    data = {STAMPS: pa.array(correction.apply(stamps))}
    for name in table.names:
        if name not in (STAMPS, column) or name in map(base_column, used or ()):
            data.setdefault(name, table.data.column(name))
    return Written(
        correction=correction,
        files={"uri": put(task.beside(".parquet"), parquet_bytes(pa.table(data)))},
        fields={"stamps": None, "rows": None, "units": units or None}
        | ({"columns": renamed} if isinstance(spec, ImuSpec) else {}),
        remarks=(*remarks, *(finding.message for finding in table.findings)),
    )


def _used_columns(spec: TableSpec) -> Sequence[str] | None:
    """Return the columns that a source uses; None means all of them."""
    if isinstance(spec, CanSpec):
        return list(spec.signals.values())
    if isinstance(spec, EventsSpec):
        return []
    if isinstance(spec, StateSpec):
        groups = spec.columns
        return None if groups is None else [name for group in groups.values() for name in group]
    return None
