"""Write a shifted tier where a transcript is off against the sound that its times count from."""

from __future__ import annotations

import csv
import io

import numpy as np

from syncaudit.errors import ClipInputError
from syncaudit.model import ClockMap, Interval, TranscriptSpec
from syncaudit.readers.transcript import read_transcript
from syncaudit_calibration.apply.task import Task, Written, put

__all__ = ["write_transcript"]


def write_transcript(
    task: Task, spec: TranscriptSpec, *, start_ns: int, of_sound: ClockMap | None
) -> Written:
    """Write all tiers as CSV (start, end, label, tier) with times that fit the corrected sound.

    A time t stands for the stamp ``start + t`` of the sound. The transcript's own correction
    ``c`` says when it really was; the sound's correction ``a`` is put into its stamps. The new
    time t' solves ``a(start + t') = c(start + t)``.

    Parameters
    ----------
    task, spec
        The transcript.
    start_ns : int
        Reported stamp of sample 0 of the sound.
    of_sound : ClockMap, optional
        What was added to the stamps of the sound.

    Raises
    ------
    ClipInputError
        If it has no times.
    """
    correction, remarks = task.settled(start_ns)
    stream = read_transcript(task.name, spec, task.base_uri)
    if not stream.tiers:
        raise ClipInputError("it is text without times, so there is nothing to shift")
    sound = of_sound or ClockMap(offset_s=0.0)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("start", "end", "label", "tier"))
    for tier in stream.tiers:
        for interval in tier.intervals:
            times = _shifted(interval, start_ns, correction, sound)
            words = (" ".join(interval.label.splitlines()), " ".join(tier.name.splitlines()))
            writer.writerow((*(f"{time:.9f}" for time in times), *words))
    path = put(task.beside(".csv"), out.getvalue().encode("utf-8"))
    return Written(
        correction=correction,
        files={"uri": path},
        remarks=(*remarks, *(finding.message for finding in stream.findings)),
    )


def _shifted(
    interval: Interval, start_ns: int, own: ClockMap, sound: ClockMap
) -> tuple[float, float]:
    """Return start and stop in seconds of the corrected sound."""
    times = np.array([interval.start_s, interval.stop_s])
    stamps = start_ns + np.rint(times * 1e9).astype(np.int64)
    # Seconds by which the true instant lies behind what the sound's clock makes of it.
    behind_s = (own.apply(stamps) - sound.apply(stamps)) * 1e-9
    rate = 1.0 + 1e-6 * (sound.drift_ppm or 0.0)
    start_s, stop_s = (times + behind_s / rate).tolist()
    return start_s, stop_s
