"""Write the corrected timestamps of a camera, one row per frame; its images are not touched."""

from __future__ import annotations

import pyarrow as pa

from syncaudit.model import CameraSpec
from syncaudit.readers.camera import FILE, FrameStamps, read_camera
from syncaudit.readers.columns import STAMPS
from syncaudit_calibration.apply.task import Task, Written, no_stamps, parquet_bytes, put


def write_camera(task: Task, spec: CameraSpec) -> Written:
    """Write ``<source>.timestamps.csv`` with the corrected timestamp of every frame.

    Rows are in file order. If the table names the image of each frame, it becomes
    ``<source>.timestamps.parquet``.

    The timestamps come from the table that the manifest names (the video is then not even opened),
    otherwise from ``start_ns`` and the container, as the reader returns them. StreamReadError if
    the timestamps cannot be read.
    """
    if spec.timestamps is not None:
        uri = task.resolve(spec.timestamps)
        table = FrameStamps.read(spec, task.base_uri)
        stamps, findings, images = table.time_ns, table.findings, table.files
    else:
        uri = task.resolve(spec.uri)
        stream = read_camera(task.name, spec, task.base_uri, scratch=task.scratch)
        stamps, findings, images = stream.time_ns, stream.findings, None
    if not stamps.size:
        raise no_stamps(uri)
    correction, remarks = task.settled(int(stamps[0]))
    corrected = correction.apply(stamps)
    if images is None:
        text = "\n".join([STAMPS, *map(str, corrected.tolist()), ""])
        path = put(task.beside(".timestamps.csv"), text.encode("ascii"))
    else:
        copy = pa.table({STAMPS: pa.array(corrected), FILE: pa.array(images)})
        path = put(task.beside(".timestamps.parquet"), parquet_bytes(copy))
    return Written(
        correction=correction,
        files={"timestamps": path},
        # The new table replaces these fields.
        fields={"start_ns": None, "stamps": None, "rows": None, "units": None},
        remarks=(*remarks, *(finding.message for finding in findings)),
    )
