"""Write the corrected stamps of a camera: one row a frame; its pictures stay where they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError
from syncaudit.model import CameraSpec
from syncaudit.readers.camera import read_camera
from syncaudit.readers.tables import STAMPS, read_table
from syncaudit_calibration.apply.task import Task, Written, put

__all__ = ["write_camera"]


def write_camera(task: Task, spec: CameraSpec) -> Written:
    """Write ``<source>.timestamps.csv`` with the corrected stamp of every frame in file order.

    Stamps come from the table that the manifest names (the video is then not even opened), else
    from ``start_ns`` and the container, as the reader has them.

    Raises
    ------
    StreamReadError
        If the stamps cannot be read.
    """
    if spec.timestamps is not None:
        uri = task.resolve(spec.timestamps)
        table = read_table(uri)
        stamps, findings = table.stamps(), table.findings
    else:
        uri = task.resolve(spec.uri)
        stream = read_camera(task.name, spec, task.base_uri, scratch=task.scratch)
        stamps, findings = stream.time_ns, stream.findings
    if not stamps.size:
        raise StreamReadError("holds no stamps", code="empty", path=uri, hint="Record it again.")
    correction, remarks = task.settled(int(stamps[0]))
    path = put(task.beside(".timestamps.csv"), _csv(correction.apply(stamps)))
    return Written(
        correction=correction,
        files={"timestamps": path},
        fields={"start_ns": None},  # the table says it all
        remarks=(*remarks, *(finding.message for finding in findings)),
    )


def _csv(stamps: NDArray[np.int64]) -> bytes:
    return "\n".join([STAMPS, *map(str, stamps.tolist()), ""]).encode("ascii")
