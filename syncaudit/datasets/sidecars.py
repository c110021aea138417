"""Write tables that no reader can read from the data set itself, beside the manifest."""

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

    The folder is created with the first file, and identified by the empty file `marker`. Files are
    written atomically.
    """

    def __init__(self, folder: Path, *, marker: str | None = None) -> None:
        self.folder = folder.absolute()
        self._marker = marker

    def path(self, name: str) -> Path:
        """Return the path to write a file to; its folder exists.

        The name has ``/`` between folders; characters unsafe in file names become ``_``.
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
        """Write a Parquet table and return its URI for a spec; `name` is as for `path`.

        Columns have equal lengths and include ``timestamp_ns`` as int64.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        with replacing(self.path(name)) as part:
            pq.write_table(pa.table(dict(columns)), part)
        return str(self.path(name))

    def write_text(self, name: str, text: str) -> str:
        """Write text as UTF-8 and return its URI; `name` is as for `path`."""
        replace_text(self.path(name), text)
        return str(self.path(name))
