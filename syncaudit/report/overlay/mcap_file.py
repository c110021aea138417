"""Findings and corrections as an MCAP file, to open in Foxglove or Rerun beside the recording."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from syncaudit.errors import MissingExtraError, UsageError
from syncaudit.report.overlay.overlay import Overlay
from syncaudit.writing import replacing

__all__ = ["write_mcap"]

_NS = 10**9
_TIME = {
    "type": "object",
    "title": "time",
    "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}},
}
# Foxglove's own schema of a log panel line.
_LOG = {
    "type": "object",
    "title": "foxglove.Log",
    "properties": {
        "timestamp": _TIME,
        "level": {"type": "integer"},
        "message": {"type": "string"},
        "name": {"type": "string"},
        "file": {"type": "string"},
        "line": {"type": "integer"},
    },
}
_CORRECTION = {
    "type": "object",
    "title": "syncaudit.Correction",
    "properties": {
        "timestamp": _TIME,
        "corrected": _TIME,
        "offset_ms": {"type": "number"},
        "offset_std_ms": {"type": "number"},
    },
}
_LEVELS = {"info": 2, "warning": 3, "error": 4}


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
        for topic, schema, messages in _topics(overlay):
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
                writer.add_message(
                    channel_id, time_ns, json.dumps(content).encode(), publish_time=time_ns
                )
        writer.finish()  # type: ignore[no-untyped-call]  # untyped in mcap


def _topics(
    overlay: Overlay,
) -> Iterator[tuple[str, dict[str, Any], Iterator[tuple[int, dict[str, Any]]]]]:
    """Yield topic, schema, and messages with their times."""
    yield "/syncaudit/log", _LOG, _log(overlay)
    for name in overlay.corrections:
        yield f"/syncaudit/{name}", _CORRECTION, _corrections(overlay, name)


def _log(overlay: Overlay) -> Iterator[tuple[int, dict[str, Any]]]:
    for note in overlay.notes:
        content = {
            "timestamp": _split(note.time_ns),
            "level": _LEVELS[note.level],
            "message": note.message,
            "name": note.source or overlay.clip_id,
            "file": "",
            "line": 0,
        }
        yield note.time_ns, content


def _corrections(overlay: Overlay, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    found = overlay.corrections[name]
    columns = (found.time_ns.tolist(), found.offset_s.tolist(), found.offset_std_s.tolist())
    for time_ns, offset_s, std_s in zip(*columns, strict=True):
        content = {
            "timestamp": _split(time_ns),
            "corrected": _split(time_ns + round(offset_s * _NS)),
            "offset_ms": offset_s * 1e3,
            "offset_std_ms": std_s * 1e3,
        }
        yield time_ns, content


def _split(time_ns: int) -> dict[str, int]:
    sec, nsec = divmod(time_ns, _NS)
    return {"sec": sec, "nsec": nsec}
