"""Define the interface of a data set format, and the folder of the files that it writes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from syncaudit.datasets.source import Source
from syncaudit.model import Clip
from syncaudit.writing import replace_text, replacing, write_new

_UNSAFE = re.compile(r"[^A-Za-z0-9._+=@-]")
_MOST_NOTES = 1000


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


@dataclass(slots=True)
class Undated:
    """Clips without any timestamps, and details of the first one."""

    n_clips: int = 0
    folder: str = ""  # folder of the first clip
    sources: Sequence[str] = ()  # its files that became sources
    ignored: Sequence[str] = ()  # its files that no rule matches

    def add(self, folder: str, sources: Sequence[str], ignored: Sequence[str]) -> None:
        """Count one more clip."""
        if not self.n_clips:
            self.folder, self.sources, self.ignored = folder, sources, ignored
        self.n_clips += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """Context that a format gets beside the source."""

    sidecars: Sidecars  # receives data that no reader can read from the source
    # content of ``--rules FILE``; {} means the format's defaults
    rules: Mapping[str, Any] = field(default_factory=dict)
    # how files were interpreted, what was ignored and why, with counts
    notes: Counter[str] = field(default_factory=Counter)
    # the import is refused if all clips are undated and tables were ignored
    undated: Undated = field(default_factory=Undated)

    def note(self, text: str) -> None:
        """Report something about the import; equal texts are counted, not repeated.

        Describe the kind of thing (``CAM_*: 6 cameras``) rather than the single clip.
        """
        if text in self.notes or len(self.notes) < _MOST_NOTES:
            self.notes[text] += 1


class DatasetFormat(Protocol):
    """An importer of one data set format.

    Instances hold no state: everything is in the arguments, and `clips` may be called again.
    """

    name: str  # in ``syncaudit manifest NAME``; lower case
    summary: str  # one line for users
    takes_rules: bool  # whether it uses ``--rules``

    def probe(self, source: Source) -> str | None:
        """Return why `source` is not in this format, or None if it is.

        Looks only at names and small files, never raises, and states what was expected.
        """
        ...

    def clips(self, source: Source, job: Import) -> Iterator[Clip]:
        """Yield the clips one by one, always in the same order and with the same ids.

        Memory does not grow with the number of clips. URIs are relative to
        ``base_uri=source.base_uri``, or returned by `Sidecars.write_table`. Sample files are not
        checked: finding their faults is up to the audit. A table that cannot be converted is named
        in the clip unconverted, so that its reader reports the fault. ManifestError, with file,
        place and remedy, if the description of the data set is broken.
        """
        ...
