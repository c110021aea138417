"""Read when the samples of a source reached the recorder."""

from __future__ import annotations

from syncaudit.model import Arrivals
from syncaudit.readers.tables import STAMPS, read_table
from syncaudit.readers.uris import resolve

__all__ = ["read_arrivals"]

_RECEIVE, _PUBLISH = "receive_ns", "publish_ns"


def read_arrivals(uri: str, base_uri: str) -> Arrivals:
    """Read a table with ``timestamp_ns``, ``receive_ns`` and, where known, ``publish_ns``."""
    columns = (STAMPS, _RECEIVE, _PUBLISH)
    table = read_table(resolve(uri, base_uri), text_columns=columns, columns=columns)
    return Arrivals(
        capture_ns=table.stamps(),
        receive_ns=table.stamps(_RECEIVE, purpose="times of arrival in integer nanoseconds"),
        publish_ns=table.stamps(_PUBLISH) if _PUBLISH in table.names else None,
    )
