"""Hand-made rows of verdicts and truth."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from testkit.json_lines import write_json_lines

AT = 1_767_225_610_000_000_000


def verdict(
    clip_id: str,
    decided: str = "pass",
    *,
    reference: str = "imu",
    blamed: Iterable[str | None] = (),
    **sources: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a row of verdicts.jsonl; sources are given as differences from a passed source."""
    plain = {"verdict": "pass", "observable": True, "offset_s": 0.0, "offset_std_s": 0.001}
    return {
        "clip_id": clip_id,
        "recording_id": clip_id,
        "verdict": decided,
        "reasons": [
            {"code": "offset", "source": name, "message": "late", "value": None, "limit": None}
            for name in blamed
        ],
        "reference": reference,
        "at_ns": AT,
        "sources": {
            name: {**plain, "kind": "camera", "clock": name, **source}
            for name, source in {"imu": {}, "cam": {}, **sources}.items()
        },
        "pairs": [],
        "warnings": [],
        "seconds": 0.1,
    }


def rejected(clip_id: str, *blamed: str, **sources: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row that rejects these sources."""
    for name in blamed:
        sources[name] = {**sources.get(name, {}), "verdict": "reject"}
    return verdict(clip_id, "reject", blamed=blamed, **sources)


def moved(clip_id: str, original: str, offset_s: float, **more: Any) -> dict[str, Any]:
    """Return a row of truth.jsonl with one shifted camera."""
    row = {"clip_id": clip_id, "original": original, "source": "cam", "kind": "camera"}
    return row | {"offset_s": offset_s, "drift_ppm": 0.0, "at_ns": None, "moved": ["cam"]} | more


def control(original: str) -> dict[str, Any]:
    """Return a row of truth.jsonl without any change."""
    row = moved(f"{original}~control", original, 0.0)
    return row | {"source": None, "kind": None, "moved": []}


def written(path: Path, rows: Iterable[Mapping[str, Any]]) -> str:
    """Write rows as JSON Lines and return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json_lines(path, *rows)
    return str(path)


def judged(path: Path, rows: Iterable[Mapping[str, Any]]) -> str:
    """Write verdicts and the summary of the finished run they come from; return the path."""
    rows = list(rows)
    counts = {v: sum(row["verdict"] == v for row in rows) for v in ("pass", "reject", "unverified")}
    summary = {"version": 1, "complete": True, "clips": {"total": len(rows), **counts}}
    place = written(path, rows)
    (path.parent / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    return place
