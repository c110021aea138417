"""Read event logs: instants without values, such as triggers."""

from __future__ import annotations

from pathlib import Path

from syncaudit.model import EventsSpec, EventStream, SourceKind, clock_of
from syncaudit.model.units import STAMPS_KEY
from syncaudit.readers.findings import empty_stream
from syncaudit.readers.tables import STAMPS, read_table
from syncaudit.readers.uris import resolve

__all__ = ["read_events"]


def read_events(
    name: str,
    spec: EventsSpec,
    base_uri: str,
    *,
    scratch: Path | None = None,  # noqa: ARG001  # one signature for every reader
) -> EventStream:
    """Read the column ``timestamp_ns`` of a CSV or Parquet table."""
    uri = resolve(spec.uri, base_uri)
    column = spec.stamps or STAMPS
    table = read_table(uri, text_columns=(column,), rows=spec.rows, columns=(column,))
    time_ns = table.stamps(
        column, may_be_seconds=spec.stamps is not None, unit=spec.units.get(STAMPS_KEY)
    )
    findings = table.findings if table.n_rows else table.findings + empty_stream(uri, "events")
    return EventStream(
        name=name,
        clock=clock_of(name, spec),
        kind=SourceKind.EVENTS,
        time_ns=time_ns,
        uri=uri,
        stamp_kind=spec.stamp_kind,
        findings=findings,
    )
