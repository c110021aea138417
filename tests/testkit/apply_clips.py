"""Small clips on disk for the tests of `apply`: tables, logs and sound, no video."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from syncaudit.datasets import load_manifest
from syncaudit.model import Clip, Stream
from syncaudit.readers import read_source
from testkit.command_line import run_command
from testkit.json_lines import write_json_lines

T0 = 1_767_225_600_000_000_001  # float64 cannot hold it
S = 10**9
AT = T0 + 10 * S


def manifest(folder: Path, *rows: dict[str, Any]) -> str:
    """Write a manifest and return its path."""
    return write_json_lines(folder / "manifest.jsonl", *rows)


def calibration(folder: Path, at_ns: int = AT, **sources: Any) -> str:
    """Write a calibration; a plain number is the offset of a source in seconds."""
    known = {
        name: value if isinstance(value, dict) else {"offset_s": value}
        for name, value in sources.items()
    }
    path = folder / "calibration.json"
    content = {"version": 1, "reference": "ref", "at_ns": at_ns, "sources": known, "flashes": []}
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def verdict(clip_id: str, at_ns: int = AT, **sources: dict[str, Any]) -> dict[str, Any]:
    """Return a row of verdicts.jsonl."""
    return {
        "clip_id": clip_id,
        "recording_id": clip_id,
        "verdict": "reject",
        "reasons": [],
        "reference": "imu",
        "at_ns": at_ns,
        "sources": {
            name: {"verdict": "reject", "clock": name, "observable": True} | source
            for name, source in sources.items()
        },
        "pairs": [],
        "warnings": [],
        "seconds": 0.1,
    }


def verdicts(folder: Path, *rows: dict[str, Any]) -> str:
    """Write verdicts.jsonl and return its path."""
    path = write_json_lines(folder / "verdicts.jsonl", *rows)
    write_summary(folder, *rows)
    return path


def write_summary(folder: Path, *rows: dict[str, Any]) -> None:
    """Write the summary of a finished run with these verdicts."""
    counts = {v: sum(row["verdict"] == v for row in rows) for v in ("pass", "reject", "unverified")}
    summary = {"version": 1, "complete": True, "clips": {"total": len(rows), **counts}}
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")


def corrected(known: str, manifest_path: str, out: Path) -> Any:
    """Run `apply`, check that it succeeds, and return its result."""
    return run_command("apply", known, manifest_path, "--out", out, expected=0)


def clips_of(out: Path) -> list[Clip]:
    """Return the clips of the written manifest."""
    return load_manifest(str(out / "manifest.jsonl"))


def stream_of(out: Path, source: str, clip: int = 0) -> Stream:
    """Read a source through the written manifest."""
    found = clips_of(out)[clip]
    return read_source(source, found.sources[source], found.base_uri)


STAMPS = [T0, T0 + S, T0 + 20 * S]
EVENTS = {"kind": "events", "uri": "e.csv"}


def events(folder: Path, name: str = "e.csv", stamps: list[int] = STAMPS) -> None:
    """Write a table of timestamps, creating its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("timestamp_ns\n" + "".join(f"{t}\n" for t in stamps))


def one_clip(data: Path, **sources: dict[str, Any]) -> str:
    """Write the manifest of one clip with a trigger or with `sources`; return its path."""
    return manifest(data, {"clip_id": "a", "sources": sources or {"trigger": EVENTS}})


def tree(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below `folder` by relative path."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
