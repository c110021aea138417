"""Manifests of simulated clips, as specified in formats.md section 2."""

import json
import posixpath
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from syncaudit.writing import replace_text

from .config import RigConfig

MANIFEST_NAME = "manifest.jsonl"


def gather_manifest(clip_ids: Sequence[str], folder: Path) -> None:
    """Write one manifest for clips in subfolders named by their ids."""
    rows = []
    for clip_id in clip_ids:
        row = json.loads((folder / clip_id / MANIFEST_NAME).read_text(encoding="utf-8"))
        for source in row["sources"].values():
            for key in ("uri", "timestamps", "dbc"):
                if key in source:
                    source[key] = posixpath.normpath(f"{clip_id}/{source[key]}")
        rows.append(row)
    write_manifest(rows, folder)


def manifest_row(config: RigConfig, sources: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return a clip's manifest row."""
    row: dict[str, Any] = {"clip_id": config.clip_id}
    if config.recording_id is not None:
        row["recording_id"] = config.recording_id
    row |= {"start_ns": config.start_ns, "end_ns": config.end_ns}
    if config.reference is not None:
        row["reference"] = config.reference
    return {**row, "sources": dict(sources)}


def write_manifest(rows: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Write rows as ``manifest.jsonl`` into a folder."""
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    replace_text(folder / MANIFEST_NAME, lines)
