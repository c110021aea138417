"""Append-only JSON Lines file that survives a crash at any time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from syncaudit.errors import UsageError

__all__ = ["JsonLog"]


class JsonLog:
    """A file of JSON objects, one per line; each is on disk before `append` returns.

    A line left half written when the machine stopped is skipped, and the next one starts on a new
    line.

    The file `before` is read first and never written.
    """

    def __init__(self, path: Path, before: Path | None = None) -> None:
        self.path, self._before = path, before

    def append(self, row: Mapping[str, object]) -> None:
        """Write one row.

        UsageError if the file cannot be written.
        """
        data = (json.dumps(dict(row), ensure_ascii=False, allow_nan=False) + "\n").encode()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b") as file:
                end = file.seek(0, os.SEEK_END)
                if end:
                    file.seek(end - 1)
                    data = data if file.read(1) == b"\n" else b"\n" + data
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise UsageError(
                f"cannot be written: {error.strerror}",
                path=str(self.path),
                hint="Choose another file with --labels.",
            ) from error

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the complete rows in order; nothing if there is no file.

        UsageError if a file exists and cannot be read.
        """
        if self._before is not None:
            yield from JsonLog(self._before).rows()
        try:
            with self.path.open("rb") as file:
                for line in file:
                    try:
                        row = json.loads(line)
                    except ValueError:
                        continue
                    if isinstance(row, dict):
                        yield row
        except FileNotFoundError:
            return
        except OSError as error:
            raise UsageError(f"cannot be read: {error.strerror}", path=str(self.path)) from error
