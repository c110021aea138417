"""Read CSV and Parquet tables.

Make the fields of streams, and findings, that several readers share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError
from syncaudit.model import (
    MOST_VALUE,
    CanSpec,
    EventsSpec,
    Finding,
    ReasonCode,
    Severity,
    SourceKind,
    SourceSpec,
    StateSpec,
    clock_of,
    is_usable,
)
from syncaudit.model.units import STAMPS_KEY
from syncaudit.readers.arrays import NPY_MAGIC, array_name, array_parts, list_arrays, read_arrays
from syncaudit.readers.columns import STAMPS, Table, base_column
from syncaudit.readers.csv_table import large_csv, read_csv, read_large_csv
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


class StreamFields(TypedDict):
    """The fields that every stream has."""

    name: str
    clock: str
    kind: SourceKind
    time_ns: NDArray[np.int64]
    uri: str
    stamp_kind: str
    findings: tuple[Finding, ...]


def stream_fields(
    name: str,
    spec: SourceSpec,
    uri: str,
    time_ns: NDArray[np.int64],
    findings: Iterable[Finding],
) -> StreamFields:
    """Return the fields of a source's stream that do not depend on its kind."""
    return {
        "name": name,
        "clock": clock_of(name, spec),
        "kind": SourceKind(spec.kind),
        "time_ns": time_ns,
        "uri": uri,
        "stamp_kind": spec.stamp_kind,
        "findings": tuple(findings),
    }


def non_finite(
    values: NDArray[np.float64], names: Sequence[str], *, uri: str, first_row: int = 0
) -> tuple[Finding, ...]:
    """Return a finding if samples are NaN, infinite or absurdly large, else nothing.

    `values` have shape (n, d), `names` are the d columns of the file; `first_row` is the number of
    the first sample for people.
    """
    with np.errstate(invalid="ignore"):  # no temporary array in the good case
        if not values.size or bool(values.min() >= -MOST_VALUE and values.max() <= MOST_VALUE):
            return ()
    bad = ~is_usable(values)
    n_bad = int(np.count_nonzero(bad.any(axis=1)))
    if not n_bad:
        return ()
    row = int(np.argmax(bad.any(axis=1)))
    columns = ", ".join(name for place, name in enumerate(names) if bool(bad[:, place].any()))
    return (
        Finding(
            code=ReasonCode.NON_FINITE,
            message=f"{uri}: {n_bad} of {len(values)} samples are blank, NaN, infinite or "
            f"beyond {MOST_VALUE:g} in {columns}, the first in row {row + first_row}. "
            "Export the recording without them.",
            value=float(n_bad),
            limit=0.0,
        ),
    )


def empty_stream(uri: str, what: str) -> tuple[Finding, ...]:
    """Return the finding for a file that has a header and no rows."""
    return (
        Finding(
            code=ReasonCode.EMPTY,
            message=f"{uri} holds no {what}: there is a header, but no rows. "
            "Record or export it again.",
            value=0.0,
        ),
    )


def assumed_start(uri: str) -> Finding:
    """Return the doubt about a source without a stated start: offsets refer to a guess."""
    return Finding(
        code=ReasonCode.MANIFEST,
        message=f"{uri}: nothing states when it began, so its start is assumed, and what is "
        "measured is the offset of that assumption. Give 'start_ns', or 'timestamps'.",
        severity=Severity.DOUBT,
    )


def assumed_rate() -> Finding:
    """Return the doubt about a source whose samples are only numbered: its time is a guess."""
    return Finding(
        code=ReasonCode.RATE,
        message="its samples are numbered, and nothing states a time or a rate: numbers are "
        "not timestamps. Import it with timestamps, or with its rate (rate_hz in --rules).",
        severity=Severity.DOUBT,
    )


def warned(code: ReasonCode, message: str, value: float | None = None) -> Finding:
    """Return a finding that rejects nothing."""
    return Finding.warning(code, None, message, value=value)


def noted(lines: Sequence[str]) -> tuple[Finding, ...]:
    """Return the findings that a data set's importer left in the manifest, as warnings.

    Those known to be unobservable, such as the motion of a stabilised camera, prevent a pass.
    """
    found = [(ReasonCode(code), text) for code, _, text in (line.partition(":") for line in lines)]
    return tuple(
        Finding(
            code=code,
            message=text.strip(),
            severity=Severity.DOUBT if code is ReasonCode.UNOBSERVABLE else Severity.WARNING,
        )
        for code, text in found
    )
