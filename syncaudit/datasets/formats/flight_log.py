"""What logs of autopilots have in common: one file a flight, its inertial sensors in tables."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.datasets.formats.nested import files_below
from syncaudit.datasets.formats.protocol import Import
from syncaudit.datasets.naming import stem_of
from syncaudit.datasets.source import Source
from syncaudit.errors import ManifestError, MissingExtraError, one_line
from syncaudit.model import Clip, EventsSpec, ImuSpec, SourceSpec

__all__ = ["Columns", "FlightLogFormat"]

_DEPTH = 2  # log/2026-07-01/10_15_00.ulg
_PROBED = 5

Columns = Mapping[str, NDArray[Any]]
"""A table: ``timestamp_ns``, a triple, and ``receive_ns`` where the log knows that as well."""


class FlightLogFormat:
    """One clip a log. Every sensor is a source on a clock of its own, so that they are compared.

    A subclass says what the files are called, how they begin, and what reads them.
    """

    name: str
    summary: str
    takes_rules = False
    _suffixes: tuple[str, ...]
    _magic: bytes
    _module: str  # the package as Python calls it, and as pip does
    _package: str

    def probe(self, source: Source) -> str | None:
        """Accept a log, or a folder of logs, by their first bytes."""
        for name in islice(files_below(source, self._suffixes, depth=_DEPTH), _PROBED):
            try:
                with source.open(name) as file:
                    if file.read(len(self._magic)) == self._magic:
                        return None
            except (ManifestError, OSError):
                continue
        return f"no {' or '.join(self._suffixes)} of this kind, up to {_DEPTH} levels down"

    def clips(self, source: Source, job: Import) -> Iterator[Clip]:
        """Yield the logs in the order of their names; one of which nothing can be read as well."""
        if find_spec(self._module) is None:
            purpose = f"the format {self.name}"
            raise MissingExtraError(self._package, extra=self.name, purpose=purpose)
        for name in files_below(source, self._suffixes, depth=_DEPTH):
            clip_id = stem_of(name)
            said = io.StringIO()  # what packages print
            try:
                with source.local(name) as path, redirect_stdout(said), redirect_stderr(said):
                    tables, findings = self._read(path, said)
            except ManifestError as error:
                tables, findings = {}, [f"corrupt: {error}"]
            except Exception as error:  # noqa: BLE001  # damage breaks a package in many ways
                why = f"is no intact log ({one_line(error) or type(error).__name__})"
                tables, findings = {}, [f"corrupt: {source.uri_of(name)} {why}. Copy it again."]
            if not tables and not findings:
                job.note("left out a log without inertial sensors")
                continue
            yield Clip(
                clip_id=clip_id,
                recording_id=clip_id,
                sources=_sources(clip_id, tables, findings, job),
                base_uri=source.base_uri,
            )

    def _read(self, path: Path, said: io.StringIO) -> tuple[dict[str, Columns], list[str]]:
        """Return the sensors of a log by name, and what is wrong with it as ``code: text``.

        `said` holds what its package has printed. Any error means that it is no intact log.
        """
        raise NotImplementedError


def _sources(
    clip_id: str, tables: Mapping[str, Columns], findings: Sequence[str], job: Import
) -> dict[str, SourceSpec]:
    if not tables:  # so that it gets its verdict
        uri = job.sidecars.write_table(f"{clip_id}/log.parquet", {"timestamp_ns": _NONE})
        return {"log": EventsSpec(uri=uri, findings=list(findings))}
    sources: dict[str, SourceSpec] = {}
    for name, columns in tables.items():
        uri = job.sidecars.write_table(f"{clip_id}/{name}.parquet", columns)
        arrivals = uri if "receive_ns" in columns else None
        sources[name] = ImuSpec(uri=uri, arrivals=arrivals, findings=list(findings))
    job.note(f"{', '.join(tables)} -> imu")
    return sources


_NONE = np.empty(0, np.int64)
