"""Import a data set and load the resulting clips."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from syncaudit.datasets import load_manifest
from syncaudit.datasets.importing import import_dataset
from syncaudit.model import Clip


def import_clips(
    root: Path, tmp_path: Path, format_name: str, **options: Any
) -> tuple[list[Clip], Mapping[str, int]]:
    """Import `root` into a folder of `tmp_path`; return its clips and the notes of the import."""
    out = tmp_path / "out" / "m.jsonl"
    notes = import_dataset(str(root), out, format_name=format_name, **options).notes
    return load_manifest(str(out)), notes
