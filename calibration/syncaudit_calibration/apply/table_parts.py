"""Write the clip's part of a table with corrected stamps, where a file holds several clips."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pyarrow as pa

from syncaudit.errors import StreamReadError
from syncaudit.model import CanSpec, EventsSpec, ImuSpec, StateSpec
from syncaudit.model.units import STAMPS_KEY
from syncaudit.readers.columns import base_column
from syncaudit.readers.tables import STAMPS, read_table
from syncaudit_calibration.apply.task import Task, Written, put

__all__ = ["TableSpec", "pq_write", "restamp_part"]

TableSpec = CanSpec | EventsSpec | ImuSpec | StateSpec


def restamp_part(task: Task, spec: TableSpec) -> Written:
    """Write a Parquet table with the rows of the clip, the columns that it uses, and its stamps.

    Used where the manifest names `stamps` or `rows`, or a unit of the stamps: they become integer
    nanoseconds, and these keys go, since the copy holds nothing else.

    Raises
    ------
    StreamReadError
        If the table cannot be read or holds no stamps.
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
        raise StreamReadError("holds no stamps", code="empty", path=uri, hint="Record it again.")
    correction, remarks = task.settled(int(stamps[0]))
    data = {STAMPS: pa.array(correction.apply(stamps))}
    for name in table.names:
        if name not in (STAMPS, column) or name in map(base_column, used or ()):
            data.setdefault(name, table.data.column(name))
    sink = io.BytesIO()
    pq_write(pa.table(data), sink)
    return Written(
        correction=correction,
        files={"uri": put(task.beside(".parquet"), sink.getvalue())},
        fields={"stamps": None, "rows": None, "units": units or None}
        | ({"columns": renamed} if isinstance(spec, ImuSpec) else {}),
        remarks=(*remarks, *(finding.message for finding in table.findings)),
    )


def pq_write(table: pa.Table, sink: io.BytesIO) -> None:
    """Write a table as Parquet."""
    import pyarrow.parquet as pq

    pq.write_table(table, sink, compression="zstd")


def _used_columns(spec: TableSpec) -> Sequence[str] | None:
    """Return the columns that a source takes; None is all of them."""
    if isinstance(spec, CanSpec):
        return list(spec.signals.values())
    if isinstance(spec, EventsSpec):
        return []
    if isinstance(spec, StateSpec):
        groups = spec.columns
        return None if groups is None else [name for group in groups.values() for name in group]
    return None
