"""The part of a run's verdict on a clip that is needed to evaluate its errors."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from syncaudit.batch import VerdictFile, fetch_outputs
from syncaudit.datasets.source import Source, iter_json_lines
from syncaudit.errors import ManifestError, UsageError, one_line
from syncaudit.ingest.verdict_index import find_verdicts
from syncaudit.model import ClipVerdict, Verdict
from syncaudit.readers.runs import FoundVerdicts, finished_run
from syncaudit.readers.uris import parent_of

_COLUMNS = ("clip_id", "verdict", "reference", "at_ns", "sources", "reasons")
_HINT = "Expected the output of 'syncaudit validate'."


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSource:
    """Result for one source (formats, section 3)."""

    verdict: Verdict
    clock: str
    offset_s: float | None = None
    offset_std_s: float | None = None
    drift_ppm: float | None = None
    drift_std_ppm: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Result for one clip."""

    clip_id: str
    verdict: Verdict  # of the clip
    reference: str | None  # clock that offsets are relative to
    at_ns: int | None  # time at which they hold
    sources: Mapping[str, JudgedSource]  # by name
    blamed: frozenset[str]  # sources that were rejected, or are named in a reason for the rejection
    # Codes of its reasons, each with the source concerned.
    reasons: frozenset[tuple[str, str | None]] = frozenset()

    @classmethod
    def of(cls, verdict: ClipVerdict) -> Judged:
        """Return the result from a verdict."""
        return cls.from_row(replace(verdict, pairs=(), record=None).to_json())

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Judged:
        """Parse a row of ``verdicts.jsonl``.

        KeyError, TypeError, ValueError, AttributeError if it is not such a row.
        """
        verdict = Verdict(row["verdict"])
        rejected = {n for n, s in row["sources"].items() if s["verdict"] == Verdict.REJECT}
        named = {r["source"] for r in row["reasons"]} if verdict is Verdict.REJECT else set()
        # An unobservable source is also a reason, for being unverified.
        unseen = {n for n, s in row["sources"].items() if s["verdict"] == Verdict.UNVERIFIED}
        return cls(
            clip_id=str(row["clip_id"]),
            verdict=verdict,
            reference=row["reference"],
            at_ns=None if row["at_ns"] is None else int(row["at_ns"]),
            sources={name: _source(name, source) for name, source in row["sources"].items()},
            blamed=frozenset(rejected | (named - unseen - {None})),
            reasons=frozenset((str(r["code"]), r["source"]) for r in row["reasons"]),
        )


def _source(name: str, source: Mapping[str, Any]) -> JudgedSource:
    is_seen = bool(source.get("observable"))
    return JudgedSource(
        verdict=Verdict(source["verdict"]),
        clock=source.get("clock") or name,
        **{
            key: float(source[key]) if is_seen and source.get(key) is not None else None
            for key in ("offset_s", "offset_std_s", "drift_ppm", "drift_std_ppm")
        },
    )


def read_judged(path: str, *, partial: bool = False) -> Iterator[Judged]:
    """Yield the results on each clip of the run in an output folder or verdict file.

    `path` is a folder, ``verdicts.jsonl`` or ``verdicts.parquet``; local or any fsspec URL. With
    `partial`, a run that was not finished is accepted. UsageError if there are no verdicts, or a
    row is cut off or invalid; unless `partial`, also if the run was not finished or rows are
    missing.
    """
    place = find_verdicts(path, partial=partial)
    found = FoundVerdicts()
    if place.endswith(".parquet"):
        rows = _parquet_rows(place)
    else:
        rows = _surviving_rows(place) if partial else _json_rows(place)
    for where, row in rows:
        try:
            judged = Judged.from_row(row)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(
                f"{where} is not a verdict ({type(error).__name__}: {error})",
                path=place,
                hint=_HINT,
            ) from error
        found.add(judged.clip_id, str(judged.verdict))
        yield judged
    if not found.counts:
        raise UsageError("holds no verdict", path=place, hint=_HINT)
    if not partial:
        finished_run(place).check(found, place)


def _json_rows(place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    source = Source(place)
    try:
        yield from iter_json_lines(source, source.file or "")
    except ManifestError as error:
        raise UsageError(error.message, path=place, hint=_HINT) from error


def _surviving_rows(place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the last row of every clip, skipping damaged rows."""
    with TemporaryDirectory(prefix="syncaudit-") as scratch:
        folder = fetch_outputs(parent_of(place), Path(scratch))
        file = VerdictFile(folder / posixpath.basename(place), partial=True)
        for clip_id in file.clip_ids:
            yield f"clip '{clip_id}'", json.loads(file.line(clip_id))


def _parquet_rows(place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from syncaudit.errors import StreamReadError
    from syncaudit.readers.uris import open_file

    number = 0
    try:
        with open_file(place) as opened, pq.ParquetFile(opened) as file:
            for batch in file.iter_batches(columns=list(_COLUMNS), batch_size=1000):
                for row in batch.to_pylist(maps_as_pydicts="strict"):
                    yield f"row {number}", row
                    number += 1
    except (StreamReadError, OSError, KeyError, pa.ArrowException) as error:
        raise UsageError(
            f"is not an intact Parquet file ({one_line(error)})",
            path=place,
            hint=_HINT,
        ) from error
