"""Which writer takes which kind of source."""

from __future__ import annotations

from syncaudit.model import (
    AudioSpec,
    CameraSpec,
    CanSpec,
    ImuSpec,
    TranscriptSpec,
)
from syncaudit.model.units import STAMPS_KEY
from syncaudit.readers.tables import STAMPS
from syncaudit_calibration.apply.bus_logs import write_can
from syncaudit_calibration.apply.cameras import write_camera
from syncaudit_calibration.apply.sounds import write_audio
from syncaudit_calibration.apply.table_parts import restamp_part
from syncaudit_calibration.apply.tables import restamp_table
from syncaudit_calibration.apply.task import Task, Written

__all__ = ["write_source"]


def write_source(task: Task) -> Written:
    """Write the corrected stamps of a source of any kind but a transcript.

    Raises
    ------
    SyncAuditError
        If its stamps cannot be read or corrected.
    """
    spec = task.spec
    if isinstance(spec, CameraSpec):
        return write_camera(task, spec)
    if isinstance(spec, AudioSpec):
        return write_audio(task, spec)
    if isinstance(spec, CanSpec):
        if spec.stamps is not None or spec.rows is not None or STAMPS_KEY in spec.units:
            return restamp_part(task, spec)
        return write_can(task, spec)
    if isinstance(spec, TranscriptSpec):
        raise TypeError("a transcript is written against its sound: use write_transcript")
    if spec.stamps is not None or spec.rows is not None or STAMPS_KEY in spec.units:
        return restamp_part(task, spec)
    column = spec.columns.get(STAMPS, STAMPS) if isinstance(spec, ImuSpec) else STAMPS
    table = restamp_table(task, task.resolve(spec.uri), column=column)
    return Written(correction=table.correction, files={"uri": table.path}, remarks=table.remarks)
