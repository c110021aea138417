"""Input and output of the writers for each kind of source."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from syncaudit.errors import StreamReadError
from syncaudit.model import ClockMap, SourceSpec
from syncaudit.readers.uris import resolve
from syncaudit.writing import make_parent, replacing
from syncaudit_calibration.apply.corrections import SourceCorrection

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One source whose timestamps are to be corrected."""

    name: str  # source
    spec: SourceSpec  # as in the manifest
    base_uri: str  # folder that its relative URIs refer to
    known: SourceCorrection  # with a nonzero correction
    target: Path  # path of the files to write, without extension
    scratch: Path  # folder for copies of remote files

    def resolve(self, uri: str) -> str:
        """Resolve a URI of the source to an absolute path or URL."""
        return resolve(uri, self.base_uri)

    def settled(self, first_ns: int) -> tuple[ClockMap, tuple[str, ...]]:
        """Return the correction that applies to timestamps from `first_ns` onward, and remarks."""
        known = self.known.near(first_ns)
        if known.correction is None:
            raise ValueError(f"no correction of {self.name} is known")
        return known.correction, known.remarks

    def beside(self, ending: str) -> Path:
        """Return the path of a file to write."""
        return self.target.with_name(self.target.name + ending)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Result of a writer."""

    correction: ClockMap  # what was added to the timestamps
    files: Mapping[str, Path] = field(default_factory=dict)  # written file by manifest key
    # New values by manifest key; None removes a key.
    fields: Mapping[str, object] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()  # messages for the user


def put(path: Path, data: bytes) -> Path:
    """Write a file atomically; return its path."""
    make_parent(path)
    with replacing(path) as file:
        file.write(data)
    return path


def parquet_bytes(table: pa.Table) -> bytes:
    """Return a table as a Parquet file."""
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def no_stamps(uri: str) -> StreamReadError:
    """Return the error for a file without any timestamps."""
    return StreamReadError("holds no timestamps", code="empty", path=uri, hint="Record it again.")
