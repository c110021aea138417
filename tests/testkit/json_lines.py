"""JSON Lines files: manifests, verdicts, truths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def write_json_lines(path: Path, *rows: Row) -> str:
    """Write one line per row, creating the folder; return the path as a string."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def read_json_lines(path: Path) -> list[Row]:
    """Return the row of every line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read_verdicts(folder: Path) -> list[Row]:
    """Return the rows of verdicts.jsonl without their CPU cost, which differs from run to run."""
    rows = read_json_lines(folder / "verdicts.jsonl")
    return [{k: v for k, v in row.items() if k not in ("seconds", "stages")} for row in rows]
