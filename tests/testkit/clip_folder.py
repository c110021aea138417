"""A clip on disk, to be damaged and audited."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.datasets import load_manifest
from syncaudit.model import Clip, ClipVerdict
from syncaudit.pipeline import audit


@dataclass(frozen=True)
class Folder:
    """One clip on disk, to be damaged and audited."""

    path: Path

    @property
    def row(self) -> dict[str, Any]:
        return json.loads((self.path / "manifest.jsonl").read_text())

    def write(self, row: dict[str, Any]) -> Folder:
        (self.path / "manifest.jsonl").write_text(json.dumps(row) + "\n")
        return self

    def change(self, source: str, **fields: Any) -> Folder:
        row = self.row
        row["sources"][source] |= fields
        return self.write(row)

    def keep(self, *sources: str) -> Folder:
        row = self.row
        row["sources"] = {name: row["sources"][name] for name in sources}
        return self.write(row)

    def stamps(self, file: str) -> np.ndarray:
        lines = (self.path / file).read_text().splitlines()
        return np.array([int(line.split(",")[0]) for line in lines[1:]], dtype=np.int64)

    def restamp(self, file: str, change: Callable[[np.ndarray], Any]) -> Folder:
        """Write different timestamps into a table."""
        path = self.path / file
        head, *rows = path.read_text().splitlines()
        new = [str(int(t)) for t in change(self.stamps(file))]
        lines = [",".join([t, *row.split(",")[1:]]) for t, row in zip(new, rows, strict=False)]
        path.unlink()  # it may be a hard link to the original
        path.write_text("\n".join([head, *lines]) + "\n")
        return self

    def overwrite(self, file: str, content: bytes) -> Folder:
        path = self.path / file
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        return self

    @property
    def clip(self) -> Clip:
        (clip,) = load_manifest(str(self.path / "manifest.jsonl"))
        return clip

    def audit(self, **options: Any) -> ClipVerdict:
        return audit(self.clip, **options)


def stamps_ns(folder: Path, source: str) -> NDArray[np.int64]:
    """Return the timestamps of a table, shape (n,)."""
    header, *lines = (folder / f"{source}.csv").read_text().splitlines()
    assert header.split(",")[0] == "timestamp_ns"
    return np.array([int(line.split(",")[0]) for line in lines])
