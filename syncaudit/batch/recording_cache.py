"""Remember which rows recordings were pooled from, so that nothing is pooled twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from syncaudit import __version__
from syncaudit.batch.fingerprint import policy_half
from syncaudit.batch.json_encoding import json_line
from syncaudit.model import Clip, CommonOffsets
from syncaudit.policy import Policy
from syncaudit.writing import replacing

__all__ = ["RecordingCache"]


class RecordingCache:
    """Rows of ``recordings.jsonl`` by a digest of everything that they were made from.

    Parameters
    ----------
    folder : Path
        Of the outputs; a hidden file there holds what an earlier run pooled.
    policy : Policy
        What is judged by.
    """

    def __init__(self, folder: Path, policy: Policy) -> None:
        self._path = folder / ".recordings.pooled"
        self._base = f"{__version__} {policy_half(policy)}".encode()
        self._known = _read(self._path)
        self._kept: dict[str, Mapping[str, Any]] = {}

    def digest(
        self, members: Iterable[tuple[Clip, str]], common: CommonOffsets | None = None
    ) -> str:
        """Return the digest of a recording: its clips, their rows as text, and its data set."""
        subject = hashlib.sha256(self._base)
        subject.update(repr(common).encode())
        for clip, line in members:
            subject.update(repr(clip).encode("utf-8", "surrogatepass"))
            subject.update(line.encode())
        return subject.hexdigest()

    def row(self, digest: str) -> dict[str, Any] | None:
        """Return the row of a recording that was pooled before, and keep it."""
        row = self._known.get(digest)
        if row is not None:
            self._kept[digest] = row
        return row

    def keep(self, digest: str, row: Mapping[str, Any]) -> None:
        """Remember a recording; `digest` is that of its rows as they are once pooled."""
        self._kept[digest] = row

    def write(self) -> None:
        """Write what was kept, for the next run; nothing kept, no file."""
        if not self._kept:
            self._path.unlink(missing_ok=True)
            return
        with replacing(self._path) as file:
            for digest, row in self._kept.items():
                file.write(f"{json_line({'digest': digest, 'row': row})}\n".encode())


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """Return the rows by digest; a damaged file costs time only."""
    try:
        lines = [json.loads(line) for line in path.read_bytes().splitlines()]
        return {str(line["digest"]): dict(line["row"]) for line in lines}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
