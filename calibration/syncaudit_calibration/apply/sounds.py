"""Write the corrected stamps of sound: a start, or a table of samples and their stamps."""

from __future__ import annotations

import numpy as np

from syncaudit.errors import StreamReadError
from syncaudit.model import AudioSpec, AudioStream, ClockMap
from syncaudit.model.units import STAMPS_KEY
from syncaudit.readers.audio import read_audio
from syncaudit.readers.tables import STAMPS
from syncaudit_calibration.apply.tables import restamp_table
from syncaudit_calibration.apply.task import Task, Written, put

__all__ = ["start_of_sound", "write_audio"]


def write_audio(task: Task, spec: AudioSpec) -> Written:
    """Correct ``start_ns``; with a drift or a table of stamps also write ``timestamps``.

    A drift changes the rate at which samples were really taken. One start cannot say that, so
    the first and the end of the sound get a stamp each: the same line, exactly.

    Raises
    ------
    StreamReadError
        If the table or the sound cannot be read.
    """
    if spec.timestamps is not None:
        if spec.units.get(STAMPS_KEY, "ns") != "ns":
            raise StreamReadError(
                f"its stamps are in {spec.units[STAMPS_KEY]}; those of sound are corrected in ns",
                path=task.resolve(spec.timestamps),
                hint="Export them as integer nanoseconds.",
            )
        table = restamp_table(task, task.resolve(spec.timestamps), ending=".timestamps")
        return Written(
            correction=table.correction,
            files={"timestamps": table.path},
            fields=_start(spec, table.correction),
            remarks=table.remarks,
        )
    start_ns = spec.start_ns or 0
    correction, remarks = task.settled(start_ns)
    if spec.start_ns is None:
        remarks = (*remarks, "its stamps were counted from sample 0; it has a start_ns now")
    fields = {"start_ns": int(correction.apply(start_ns))}
    if not correction.drift_ppm:
        return Written(correction=correction, fields=fields, remarks=remarks)
    sound = read_audio(task.name, spec, task.base_uri, scratch=task.scratch)
    if not sound.samples.size:
        raise StreamReadError("holds no sound", code="empty", path=sound.uri, hint="Copy it again.")
    path = put(task.beside(".timestamps.csv"), _anchors(sound, start_ns, correction))
    return Written(
        correction=correction, files={"timestamps": path}, fields=fields, remarks=remarks
    )


def _start(spec: AudioSpec, correction: ClockMap) -> dict[str, object]:
    if spec.start_ns is None:
        return {}
    return {"start_ns": int(correction.apply(spec.start_ns))}


def _anchors(sound: AudioStream, start_ns: int, correction: ClockMap) -> bytes:
    n_samples = int(sound.samples.size)
    stop_ns = start_ns + round(n_samples / sound.rate_hz * 1e9)
    first, last = correction.apply(np.array([start_ns, stop_ns], dtype=np.int64)).tolist()
    return f"sample,{STAMPS}\n0,{first}\n{n_samples},{last}\n".encode("ascii")


def start_of_sound(spec: AudioSpec, base_uri: str) -> int:
    """Return the reported stamp of sample 0, from which a transcript's times count.

    Of a table of stamps it is the first one: a drift acts on seconds, so that the samples before
    it do not matter.
    """
    if spec.timestamps is None:
        return spec.start_ns or 0
    from syncaudit.readers.tables import read_table
    from syncaudit.readers.uris import resolve

    stamps = read_table(resolve(spec.timestamps, base_uri)).stamps()
    return int(stamps[0]) if stamps.size else spec.start_ns or 0
