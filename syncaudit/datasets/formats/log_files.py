"""Provide the base class for logs that hold a recording in one file, read by a package."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.datasets.formats.nested import files_below, first_below, name_of
from syncaudit.datasets.manifest import clip_from_row
from syncaudit.datasets.protocol import Import
from syncaudit.datasets.source import Source
from syncaudit.errors import ManifestError, MissingExtraError, one_line
from syncaudit.model import Clip

_DEPTH = 3  # sub-001/ses-001/eeg/run.xdf, log/2026-07-01/10_15_00.ulg
_MAGIC_BYTES = 16

Columns = Mapping[str, NDArray[Any]]
"""A table: ``timestamp_ns``, samples, and ``receive_ns`` if the log contains it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Logged:
    """A source from a log: its table, further manifest keys, and findings.

    The `text` of a raw log takes the place of a table. The table of a camera holds timestamps of
    the frames of `video`, a file whose name begins with the stem of the log.
    """

    columns: Columns = field(default_factory=dict)
    text: str | None = None
    row: Mapping[str, Any] = field(default_factory=lambda: {"kind": "imu"})
    findings: Sequence[str] = ()
    video: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """Location of a log."""

    source: Source
    name: str
    stem: str  # common prefix of its name and of the files that belong to it
    note: Callable[[str], None]  # reports how it was interpreted, see `Import.note`

    @property
    def clip_id(self) -> str:
        """Return the id of its clip."""
        return self.stem.rstrip("/-_") or name_of(self.source, "")

    def first_of(self, endings: Iterable[str]) -> str | None:
        """Return the first ending for which there is a file beside the log."""
        return next((end for end in endings if self.source.has(self.stem + end)), None)


class LogFileFormat:
    """One clip per log. Every sensor is a source on its own clock, so that they are compared.

    A subclass defines the file suffixes (of several files with one stem the first suffix is read),
    the first bytes, and the package that reads them.
    """

    name: str
    summary: str
    takes_rules = False
    _suffixes: tuple[str, ...]
    _magics: tuple[bytes, ...]
    _module: str | None = None  # the package's import name, and its name for pip
    _package: str = ""

    def probe(self, source: Source) -> str | None:
        """Accept a log, or a folder of logs, by their first bytes."""
        for name in first_below(source, self._suffixes, depth=_DEPTH):
            if self._is_one(source, name):
                return None
        return f"no {' or '.join(self._suffixes)} of this kind, up to {_DEPTH} levels down"

    def clips(self, source: Source, job: Import) -> Iterator[Clip]:
        """Yield the logs in the order of their names, including unreadable ones."""
        if self._module is not None and find_spec(self._module) is None:
            purpose = f"the format {self.name}"
            raise MissingExtraError(self._package, extra=self.name, purpose=purpose)
        for name in files_below(source, self._suffixes, depth=_DEPTH):
            ending = next(end for end in self._suffixes if name.lower().endswith(end))
            log = Log(source=source, name=name, stem=name[: -len(ending)], note=job.note)
            better = self._suffixes[: self._suffixes.index(ending)]
            if other := log.first_of(better):
                job.note(f"left out {ending}: {other} lies beside it")
                continue
            if not self._is_one(source, name):
                job.note(f"left out {name}: it is empty, or not a log of this kind")
                continue
            about: Mapping[str, Any] = {}
            logged: dict[str, Logged] = {}
            try:
                with source.local(name) as path, quiet():
                    content = self._load(path)
                logged, findings = self._sources_of(content, log)
                about = self._about(content, log)
            except ManifestError as error:
                findings = [f"corrupt: {error}"]
            except Exception as error:  # noqa: BLE001  # packages fail on damage in many ways
                why = f"is not an intact log ({one_line(error) or type(error).__name__})"
                findings = [f"corrupt: {source.uri_of(name)} {why}. Copy it again."]
            if logged or findings:
                rows = _rows(log, logged, findings, job)
                row = {"clip_id": log.clip_id, **about, "sources": rows}
                yield clip_from_row(row, base_uri=source.base_uri, where=name)
            else:
                job.note("left out a log that holds no known source")

    def _is_one(self, source: Source, name: str) -> bool:
        """Return whether a file is a log of this kind, judging by its first bytes."""
        try:
            with source.open(name) as file:
                return file.read(_MAGIC_BYTES).startswith(self._magics)
        except (ManifestError, OSError):
            return False

    def _load(self, path: Path) -> Any:
        """Return what the package reads from a log. Any error means that the log is damaged."""
        raise NotImplementedError

    def _sources_of(self, content: Any, log: Log) -> tuple[dict[str, Logged], list[str]]:
        """Return the sources of a log by name, and its faults as ``code: text``."""
        raise NotImplementedError

    def _about(self, content: Any, log: Log) -> Mapping[str, Any]:  # noqa: ARG002  # one signature
        """Return further manifest keys of the clip."""
        return {}


@contextmanager
def quiet() -> Iterator[io.StringIO]:
    """Redirect what packages print, and yield the buffer it goes to."""
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        yield said


def _rows(
    log: Log, logged: Mapping[str, Logged], findings: Sequence[str], job: Import
) -> dict[str, dict[str, Any]]:
    if not logged:  # so that it gets its verdict
        nothing = {"timestamp_ns": np.empty(0, np.int64)}
        logged = {"log": Logged(columns=nothing, row={"kind": "events"})}
    rows: dict[str, dict[str, Any]] = {}
    for name, found in logged.items():
        if found.text is not None:
            uri = job.sidecars.write_text(f"{log.clip_id}/{name}.log", found.text)
        else:
            uri = job.sidecars.write_table(f"{log.clip_id}/{name}.parquet", found.columns)
        rows[name] = {**found.row, "uri": uri}
        if found.video is not None:
            rows[name] |= {"uri": log.stem + found.video, "timestamps": uri}
        if "receive_ns" in found.columns:
            rows[name]["arrivals"] = uri
        if findings or found.findings:
            rows[name]["findings"] = [*findings, *found.findings]
        job.note(f"{found.video or name} -> {found.row['kind']}")
    return rows
