"""Write the corrected stamps of a camera: one row a frame; its pictures stay where they are."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError
from syncaudit.model import CameraSpec
from syncaudit.model.units import STAMPS_KEY
from syncaudit.readers.camera import read_camera
from syncaudit.readers.frame_stamps import FILE
from syncaudit.readers.tables import STAMPS, read_table
from syncaudit_calibration.apply.table_parts import pq_write
from syncaudit_calibration.apply.task import Task, Written, put

__all__ = ["write_camera"]


def write_camera(task: Task, spec: CameraSpec) -> Written:
    """Write ``<source>.timestamps.csv`` with the corrected stamp of every frame in file order.

    Where the table names the picture of each frame it becomes ``<source>.timestamps.parquet``.

    Stamps come from the table that the manifest names (the video is then not even opened), else
    from ``start_ns`` and the container, as the reader has them.

    Raises
    ------
    StreamReadError
        If the stamps cannot be read.
    """
    if spec.timestamps is not None:
        uri = task.resolve(spec.timestamps)
        columns = (spec.stamps or STAMPS, FILE)
        table = read_table(uri, text_columns=columns, rows=spec.rows, columns=columns)
        stamps = table.stamps(
            spec.stamps, may_be_seconds=spec.stamps is not None, unit=spec.units.get(STAMPS_KEY)
        )
        findings = table.findings
        pictures = table.data.column(FILE) if FILE in table.names else None
    else:
        uri = task.resolve(spec.uri)
        stream = read_camera(task.name, spec, task.base_uri, scratch=task.scratch)
        stamps, findings, pictures = stream.time_ns, stream.findings, None
    if not stamps.size:
        raise StreamReadError("holds no stamps", code="empty", path=uri, hint="Record it again.")
    correction, remarks = task.settled(int(stamps[0]))
    corrected = correction.apply(stamps)
    if pictures is None:
        path = put(task.beside(".timestamps.csv"), _csv(corrected))
    else:
        sink = io.BytesIO()
        pq_write(pa.table({STAMPS: pa.array(corrected), FILE: pictures}), sink)
        path = put(task.beside(".timestamps.parquet"), sink.getvalue())
    return Written(
        correction=correction,
        files={"timestamps": path},
        # The table says it all, in rows of its own.
        fields={"start_ns": None, "stamps": None, "rows": None, "units": None},
        remarks=(*remarks, *(finding.message for finding in findings)),
    )


def _csv(stamps: NDArray[np.int64]) -> bytes:
    return "\n".join([STAMPS, *map(str, stamps.tolist()), ""]).encode("ascii")
