"""Findings and corrections as an MCAP file, to open in Foxglove or Rerun beside the recording."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from syncaudit.errors import MissingExtraError, UsageError
from syncaudit.report.overlay.overlay import Correction, Overlay
from syncaudit.writing import replacing

_NS = 10**9
_TIME = {
    "type": "object",
    "title": "time",
    "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}},
}


def _schema(title: str, properties: Mapping[str, str]) -> dict[str, Any]:
    """Return a schema with these properties, and the time of each message."""
    typed = {name: _TIME if kind == "time" else {"type": kind} for name, kind in properties.items()}
    return {"type": "object", "title": title, "properties": {"timestamp": _TIME, **typed}}


# Foxglove's own schema of a log panel line.
_LOG = _schema(
    "foxglove.Log",
    {
        "level": "integer",
        "message": "string",
        "name": "string",
        "file": "string",
        "line": "integer",
    },
)
_CORRECTION = _schema(
    "syncaudit.Correction",
    {"corrected": "time", "offset_ms": "number", "offset_std_ms": "number"},
)
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
        topics = [("log", _LOG, _log(overlay))]
        topics += [
            (x, _CORRECTION, _corrections(found)) for x, found in overlay.corrections.items()
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
                data = json.dumps({"timestamp": _split(time_ns), **content}).encode()
                writer.add_message(channel_id, time_ns, data, publish_time=time_ns)
        writer.finish()  # type: ignore[no-untyped-call]  # untyped in mcap


def _log(overlay: Overlay) -> Iterator[tuple[int, dict[str, Any]]]:
    for note in overlay.notes:
        content = {
            "level": _LEVELS[note.level],
            "message": note.message,
            "name": note.source or overlay.clip_id,
            "file": "",
            "line": 0,
        }
        yield note.time_ns, content


def _corrections(found: Correction) -> Iterator[tuple[int, dict[str, Any]]]:
    columns = (found.time_ns.tolist(), found.offset_s.tolist(), found.offset_std_s.tolist())
    for time_ns, offset_s, std_s in zip(*columns, strict=True):
        content = {
            "corrected": _split(time_ns + round(offset_s * _NS)),
            "offset_ms": offset_s * 1e3,
            "offset_std_ms": std_s * 1e3,
        }
        yield time_ns, content


def _split(time_ns: int) -> dict[str, int]:
    sec, nsec = divmod(time_ns, _NS)
    return {"sec": sec, "nsec": nsec}
