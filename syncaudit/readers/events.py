"""Read tables of instants: event logs, such as triggers, and arrival times of samples."""

from __future__ import annotations

from syncaudit.model import Arrivals, EventsSpec, EventStream
from syncaudit.readers.columns import STAMPS
from syncaudit.readers.findings import stream_fields
from syncaudit.readers.tables import read_samples, read_table
from syncaudit.readers.uris import resolve

_RECEIVE, _PUBLISH = "receive_ns", "publish_ns"


def read_events(name: str, spec: EventsSpec, base_uri: str) -> EventStream:
    """Read the column ``timestamp_ns`` of a CSV or Parquet table: instants without values."""
    _, time_ns, findings = read_samples(spec, base_uri, what="events")
    return EventStream(**stream_fields(name, spec, resolve(spec.uri, base_uri), time_ns, findings))


def read_arrivals(uri: str, base_uri: str) -> Arrivals:
    """Read a table with ``timestamp_ns``, ``receive_ns`` and, where known, ``publish_ns``."""
    columns = (STAMPS, _RECEIVE, _PUBLISH)
    table = read_table(resolve(uri, base_uri), text_columns=columns, columns=columns)
    return Arrivals(
        capture_ns=table.stamps(),
        receive_ns=table.stamps(_RECEIVE, purpose="times of arrival in integer nanoseconds"),
        publish_ns=table.stamps(_PUBLISH) if _PUBLISH in table.names else None,
    )
