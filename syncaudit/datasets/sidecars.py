"""Tables that no reader can take from the data set itself, converted beside the manifest."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.writing import replace_text, replacing, write_new

__all__ = ["Sidecars"]

_UNSAFE = re.compile(r"[^A-Za-z0-9._+=@-]")


class Sidecars:
    """Files that a format writes into one folder of its own, ``<manifest stem>_files``.

    The folder appears with the first file, with the empty file `marker` to be known by. A file
    appears at once or not at all.
    """

    def __init__(self, folder: Path, *, marker: str | None = None) -> None:
        self.folder = folder.absolute()
        self._marker = marker

    def path(self, name: str) -> Path:
        """Return the path to write a file to; its folder exists.

        The name has ``/`` between folders; what file systems dislike becomes ``_``.
        """
        parts = [_UNSAFE.sub("_", part) for part in name.split("/") if part not in ("", ".", "..")]
        target = self.folder.joinpath(*(parts or ["_"]))
        target.parent.mkdir(parents=True, exist_ok=True)
        if self._marker is not None and not (self.folder / self._marker).exists():
            write_new(self.folder / self._marker, b"")
        return target

    def write_table(
        self, name: str, columns: Mapping[str, NDArray[np.generic] | Sequence[Any]]
    ) -> str:
        """Write a Parquet table and return its URI, to be put into a spec; `name` as for `path`.

        Columns have one length, ``timestamp_ns`` as int64 among them.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        with replacing(self.path(name)) as part:
            pq.write_table(pa.table(dict(columns)), part)
        return str(self.path(name))

    def write_text(self, name: str, text: str) -> str:
        """Write a text as UTF-8 and return its URI; `name` as for `path`."""
        replace_text(self.path(name), text)
        return str(self.path(name))
