"""Findings and corrections of one clip over time, for players of recordings: Foxglove and Rerun.

Everything uses the timestamps as reported, so that it lines up with the data, which players show by
these timestamps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from syncaudit.errors import MissingExtraError, UsageError
from syncaudit.model import ClipVerdict, ClockEstimate, ClockSolution, Severity, Stream, Verdict
from syncaudit.model.arrays import Floats, Ints
from syncaudit.writing import draft_of, replacing

_LEVELS = {Verdict.REJECT: "error", Verdict.UNVERIFIED: "warning", Verdict.PASS: "info"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One sentence about a clip."""

    time_ns: int  # time of the step of the clock, or else the first timestamp of the clip
    # ``error`` for what rejects the clip, ``warning`` for doubts and warnings, else ``info``.
    level: str
    source: str  # what it concerns; empty for the clip as a whole
    message: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Correction:
    """Correction to add to the timestamps of one source."""

    time_ns: Ints  # shape (n,): the timestamps as reported
    offset_s: Floats  # shape (n,): value to add to each, and its standard error
    offset_std_s: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Overlay:
    """Results of an audit of one clip, over time."""

    clip_id: str
    notes: tuple[Note, ...]  # verdict, reasons and warnings, in chronological order
    corrections: Mapping[str, Correction]  # by source; only those that could be measured


def overlay_of(
    verdict: ClipVerdict, solution: ClockSolution, streams: Mapping[str, Stream]
) -> Overlay:
    """Return the findings and corrections of a clip, over time."""
    corrections = {}
    for name, stream in streams.items():
        clock = solution.clocks.get(stream.clock)
        if clock is not None and clock.offset_s is not None and stream.time_ns.size:
            corrections[name] = _correction(clock, stream.time_ns, solution.at_ns)
    firsts = [int(stream.time_ns.min()) for stream in streams.values() if stream.time_ns.size]
    start_ns = min(firsts, default=verdict.at_ns or 0)
    steps = {
        name: clock.step_at_ns
        for name, stream in streams.items()
        if (clock := solution.clocks.get(stream.clock)) is not None and clock.step_at_ns is not None
    }
    found = [*verdict.reasons, *verdict.warnings]
    notes = [
        Note(
            time_ns=start_ns,
            level=_LEVELS[verdict.verdict],
            source="",
            message=f"{verdict.clip_id}: {verdict.verdict}",
        ),
        *(
            Note(
                time_ns=steps.get(finding.source or "", start_ns)
                if finding.code == "step"
                else start_ns,
                level="error" if finding.severity is Severity.DEFECT else "warning",
                source=finding.source or "",
                message=finding.message,
            )
            for finding in found
        ),
    ]
    return Overlay(
        clip_id=verdict.clip_id,
        notes=tuple(sorted(notes, key=lambda note: note.time_ns)),
        corrections=corrections,
    )


def _correction(clock: ClockEstimate, time_ns: Ints, at_ns: int) -> Correction:
    """Return the correction at every timestamp, and its standard error."""
    after_s = (time_ns - at_ns).astype(np.float64) * 1e-9
    offset_s = clock.clock_map(at_ns).since(at_ns).change_s(after_s)
    std_s = np.hypot(clock.offset_std_s or 0.0, 1e-6 * (clock.drift_std_ppm or 0.0) * after_s)
    if clock.step_s is not None and clock.step_at_ns is not None:
        is_other_side = (time_ns >= clock.step_at_ns) != clock.is_step_past
        std_s = np.where(is_other_side, np.hypot(std_s, clock.step_std_s or 0.0), std_s)
    return Correction(time_ns=time_ns, offset_s=offset_s, offset_std_s=std_s)


_NS_PER_S = 10**9
_MCAP_TIME = {
    "type": "object",
    "title": "time",
    "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}},
}


def _mcap_schema(title: str, properties: Mapping[str, str]) -> dict[str, Any]:
    """Return a schema with these properties, and the time of each message."""
    typed = {
        name: _MCAP_TIME if kind == "time" else {"type": kind} for name, kind in properties.items()
    }
    return {"type": "object", "title": title, "properties": {"timestamp": _MCAP_TIME, **typed}}


# Foxglove's own schema of a log panel line.
_MCAP_LOG = _mcap_schema(
    "foxglove.Log",
    {
        "level": "integer",
        "message": "string",
        "name": "string",
        "file": "string",
        "line": "integer",
    },
)
_MCAP_CORRECTION = _mcap_schema(
    "syncaudit.Correction",
    {"corrected": "time", "offset_ms": "number", "offset_std_ms": "number"},
)
_MCAP_LEVELS = {"info": 2, "warning": 3, "error": 4}


def write_mcap(overlay: Overlay, path: Path) -> None:
    """Write an overlay: topic ``/syncaudit/log``, and ``/syncaudit/SOURCE`` with each correction.

    Messages are JSON with a schema, at the reported time that they refer to.

    The file is replaced in one step; `Signature.MCAP` identifies it as ours. MissingExtraError if
    the package ``mcap`` is not installed. UsageError if a timestamp lies before 1970, which the
    format cannot hold.
    """
    try:
        from mcap.writer import Writer
    except ImportError as error:
        raise MissingExtraError("mcap", extra="ros", purpose="Writing MCAP") from error
    with replacing(path) as file:
        writer = Writer(file)
        writer.start(profile="", library="syncaudit")
        topics = [("log", _MCAP_LOG, _mcap_log(overlay))]
        topics += [
            (x, _MCAP_CORRECTION, _mcap_corrections(found))
            for x, found in overlay.corrections.items()
        ]
        for name, schema, messages in topics:
            topic = f"/syncaudit/{name}"
            schema_id = writer.register_schema(
                schema["title"], "jsonschema", json.dumps(schema).encode()
            )
            channel_id = writer.register_channel(topic, "json", schema_id)
            for time_ns, content in messages:
                if time_ns < 0:
                    raise UsageError(
                        f"{topic} has a timestamp before 1970 ({time_ns} ns), which MCAP cannot "
                        "hold",
                        hint="Write a Rerun file instead (--rerun).",
                    )
                data = json.dumps({"timestamp": _seconds(time_ns), **content}).encode()
                writer.add_message(channel_id, time_ns, data, publish_time=time_ns)
        writer.finish()  # type: ignore[no-untyped-call]  # untyped in mcap


def _mcap_log(overlay: Overlay) -> Iterator[tuple[int, dict[str, Any]]]:
    for note in overlay.notes:
        content = {
            "level": _MCAP_LEVELS[note.level],
            "message": note.message,
            "name": note.source or overlay.clip_id,
            "file": "",
            "line": 0,
        }
        yield note.time_ns, content


def _mcap_corrections(found: Correction) -> Iterator[tuple[int, dict[str, Any]]]:
    columns = (found.time_ns.tolist(), found.offset_s.tolist(), found.offset_std_s.tolist())
    for time_ns, offset_s, std_s in zip(*columns, strict=True):
        content = {
            "corrected": _seconds(time_ns + round(offset_s * _NS_PER_S)),
            "offset_ms": offset_s * 1e3,
            "offset_std_ms": std_s * 1e3,
        }
        yield time_ns, content


def _seconds(time_ns: int) -> dict[str, int]:
    sec, nsec = divmod(time_ns, _NS_PER_S)
    return {"sec": sec, "nsec": nsec}


# Timeline on which Rerun puts the messages of an MCAP file.
_RERUN_TIMELINE = "message_log_time"
_RERUN_LEVELS = {"info": "INFO", "warning": "WARN", "error": "ERROR"}


def write_rerun(overlay: Overlay, path: Path) -> None:
    """Write an overlay: text log ``syncaudit/log``, and a series of corrections per source.

    ``syncaudit/SOURCE/offset_ms`` holds the offset to add to its timestamps,
    ``syncaudit/SOURCE/offset_std_ms`` its standard error.

    The file is replaced in one step; `Signature.RERUN` identifies it as ours. MissingExtraError if
    the package ``rerun-sdk`` is not installed.
    """
    try:
        import rerun
    except ImportError as error:
        raise MissingExtraError("rerun-sdk", extra="rerun", purpose="Writing .rrd") from error
    with draft_of(path) as draft:
        recording = rerun.RecordingStream("syncaudit", recording_id=overlay.clip_id)
        recording.save(draft)
        for note in overlay.notes:
            recording.set_time(_RERUN_TIMELINE, timestamp=np.datetime64(note.time_ns, "ns"))
            text = f"{note.source}: {note.message}" if note.source else note.message
            recording.log("syncaudit/log", rerun.TextLog(text, level=_RERUN_LEVELS[note.level]))
        for name, found in overlay.corrections.items():
            times = rerun.TimeColumn(
                _RERUN_TIMELINE, timestamp=found.time_ns.astype("datetime64[ns]")
            )
            for title, values_s in (
                ("offset_ms", found.offset_s),
                ("offset_std_ms", found.offset_std_s),
            ):
                recording.send_columns(
                    f"syncaudit/{name}/{title}",
                    indexes=[times],
                    columns=rerun.Scalars.columns(scalars=1e3 * values_s),
                )
        recording.disconnect()
