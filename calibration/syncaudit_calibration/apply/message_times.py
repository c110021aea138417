"""Write corrected times of the messages of a bag, leaving the bag itself unchanged."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from syncaudit.model import ClockMap
from syncaudit.readers.events import read_arrivals
from syncaudit.readers.tables import STAMPS
from syncaudit_calibration.apply.task import Task, parquet_bytes, put

__all__ = ["write_message_times"]


def write_message_times(task: Task, arrivals: str, correction: ClockMap) -> Path:
    """Write ``<source>.times.parquet``: one row per message, keyed by its log time.

    Columns: ``receive_ns`` (the log time of the bag), ``timestamp_ns`` (as in the header) and
    ``corrected_ns``, in the order of the bag. `arrivals`: table of both times from the manifest.

    Raises
    ------
    StreamReadError
        If that table cannot be read.
    """
    found = read_arrivals(arrivals, task.base_uri)
    columns = {
        "receive_ns": found.receive_ns,
        STAMPS: found.capture_ns,
        "corrected_ns": correction.apply(found.capture_ns),
    }
    return put(task.beside(".times.parquet"), parquet_bytes(pa.table(columns)))
