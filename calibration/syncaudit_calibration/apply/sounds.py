"""Write the corrected timestamps of audio, and of transcripts whose times are relative to it."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np

from syncaudit.errors import ClipInputError, StreamReadError
from syncaudit.model import AudioSpec, AudioStream, ClockMap, Interval, TranscriptSpec
from syncaudit.model.units import STAMPS_KEY
from syncaudit.readers.audio import read_audio
from syncaudit.readers.columns import STAMPS
from syncaudit.readers.tables import read_table
from syncaudit.readers.transcript import read_transcript
from syncaudit.readers.uris import resolve
from syncaudit_calibration.apply.tables import restamp_table
from syncaudit_calibration.apply.task import Task, Written, put


def write_audio(task: Task, spec: AudioSpec) -> Written:
    """Correct ``start_ns``; with a drift or a table of timestamps, also write ``timestamps``.

    A drift changes the actual sampling rate. A single start time cannot express that, so the first
    sample and the end of the audio get one timestamp each, which define exactly the same line.
    StreamReadError if the table or the audio cannot be read.
    """
    if spec.timestamps is not None:
        if spec.units.get(STAMPS_KEY, "ns") != "ns":
            raise StreamReadError(
                f"its timestamps are in {spec.units[STAMPS_KEY]}; audio is corrected in ns",
                path=task.resolve(spec.timestamps),
                hint="Export them as integer nanoseconds.",
            )
        table = restamp_table(task, task.resolve(spec.timestamps), key="timestamps")
        if spec.start_ns is None:
            return table
        return replace(table, fields={"start_ns": int(table.correction.apply(spec.start_ns))})
    start_ns = spec.start_ns or 0
    correction, remarks = task.settled(start_ns)
    if spec.start_ns is None:
        remarks = (*remarks, "its timestamps were counted from sample 0; it now has a start_ns")
    fields = {"start_ns": int(correction.apply(start_ns))}
    if not correction.drift_ppm:
        return Written(correction=correction, fields=fields, remarks=remarks)
    sound = read_audio(task.name, spec, task.base_uri, scratch=task.scratch)
    if not sound.samples.size:
        raise StreamReadError("holds no audio", code="empty", path=sound.uri, hint="Copy it again.")
    path = put(task.beside(".timestamps.csv"), _anchors(sound, start_ns, correction))
    return Written(
        correction=correction, files={"timestamps": path}, fields=fields, remarks=remarks
    )


def _anchors(sound: AudioStream, start_ns: int, correction: ClockMap) -> bytes:
    n_samples = int(sound.samples.size)
    stop_ns = start_ns + round(n_samples / sound.rate_hz * 1e9)
    first, last = correction.apply(np.array([start_ns, stop_ns], dtype=np.int64)).tolist()
    return f"sample,{STAMPS}\n0,{first}\n{n_samples},{last}\n".encode("ascii")


def start_of_sound(spec: AudioSpec, base_uri: str) -> int:
    """Return the reported timestamp of sample 0, to which a transcript's times are relative.

    For a table of timestamps this is the first one: the effect of drift on the few samples before
    it is negligible.
    """
    if spec.timestamps is None:
        return spec.start_ns or 0

    stamps = read_table(resolve(spec.timestamps, base_uri)).stamps()
    return int(stamps[0]) if stamps.size else spec.start_ns or 0


def write_transcript(
    task: Task, spec: TranscriptSpec, *, start_ns: int, of_sound: ClockMap | None
) -> Written:
    """Write all tiers as CSV (start, end, label, tier) with times relative to the corrected audio.

    A time t stands for the audio timestamp ``start + t``. The transcript's own correction ``c``
    maps it to the true time; the audio's correction ``a`` is applied to the audio timestamps. The
    new time t' solves ``a(start + t') = c(start + t)``.

    `start_ns`: reported timestamp of sample 0 of the audio. `of_sound`: what was added to the
    timestamps of the audio. ClipInputError if the transcript has no times.
    """
    correction, remarks = task.settled(start_ns)
    stream = read_transcript(task.name, spec, task.base_uri)
    if not stream.tiers:
        raise ClipInputError("it is text without times: nothing to shift")
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
    """Return start and stop in seconds of the corrected audio."""
    times = np.array([interval.start_s, interval.stop_s])
    stamps = start_ns + np.rint(times * 1e9).astype(np.int64)
    # Seconds from the instant by the audio's corrected clock to the true instant.
    behind_s = (own.apply(stamps) - sound.apply(stamps)) * 1e-9
    rate = 1.0 + 1e-6 * (sound.drift_ppm or 0.0)
    start_s, stop_s = (times + behind_s / rate).tolist()
    return start_s, stop_s
