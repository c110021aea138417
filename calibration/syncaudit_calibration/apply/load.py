"""Load corrections from a calibration or from verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from syncaudit.errors import StreamReadError, UsageError
from syncaudit.readers.access import is_url
from syncaudit.readers.runs import FoundVerdicts, finished_run
from syncaudit.readers.uris import parent_of, read_bytes, resolve
from syncaudit_calibration.apply.from_calibration import CalibrationCorrections
from syncaudit_calibration.apply.from_verdicts import VerdictCorrections

Corrections = CalibrationCorrections | VerdictCorrections
"""Both give the corrections of a clip (`of_clip`) and refuse foreign clips (`check`)."""

_IN_FOLDER = ("verdicts.jsonl", "verdicts.parquet")
_EXPECTED = (
    "Expected the JSON of 'syncaudit calibrate', or the verdicts.jsonl, verdicts.parquet or "
    "folder of 'syncaudit validate'."
)
# The columns needed from a verdict; the pairs, which make up most of its size, are skipped.
_COLUMNS = ("clip_id", "recording_id", "reference", "at_ns", "sources", "reasons", "warnings")


def load_corrections(
    uri: str, *, is_every_figure: bool = False, partial: bool = False
) -> Corrections:
    """Read a calibration (JSON), or verdicts (JSON Lines, Parquet, or the folder of a run).

    `uri`: local path or any fsspec URL. `is_every_figure`: for verdicts, also apply corrections
    that lie within their own error. `partial`: also accept the verdicts of an unfinished run.
    UsageError if the file cannot be read or is neither; unless `partial`, also if the run that
    wrote the verdicts did not finish, or some are missing.
    """
    uri = _file(uri)
    try:
        data = read_bytes(resolve(uri))
    except StreamReadError as error:
        raise _unfit(uri, f"cannot be read: {error.message}") from error
    if data[:4] == b"PAR1":
        rows = _parquet_rows(uri, data)
    else:
        document = _document(data)
        if document is not None and "clip_id" not in document:
            if not isinstance(document.get("sources"), Mapping):
                raise _unfit(uri, "is neither a calibration nor verdicts: it has no 'sources'")
            return CalibrationCorrections(document, uri=uri)
        rows = _json_rows(uri, data)
    found: dict[str, Mapping[str, Any]] = {}
    verdicts: dict[str, str] = {}
    for where, row in rows:
        clip_id = row.get("clip_id")
        if not isinstance(clip_id, str) or not isinstance(row.get("sources"), Mapping):
            raise _unfit(uri, f"{where} is not a verdict: it needs 'clip_id' and 'sources'")
        if "verdict" not in row and not any(
            isinstance(source, Mapping) and "offset_s" in source
            for source in row["sources"].values()
        ):
            raise _unfit(uri, f"{where} is a manifest row, not a verdict")
        verdicts[clip_id] = str(row.get("verdict"))
        found[clip_id] = {key: row[key] for key in _COLUMNS if key in row}
    if not found:
        raise _unfit(uri, "holds no verdict")
    _check_uncalibrated(uri)
    if not partial:
        finished_run(resolve(uri)).check(FoundVerdicts(verdicts.items()), uri)
    return VerdictCorrections(found, uri=uri, is_every_figure=is_every_figure)


def _unfit(uri: str, what: str) -> UsageError:
    return UsageError(what, path=uri, hint=_EXPECTED)


def _file(uri: str) -> str:
    """Return the file to read; for a folder, the verdicts in it."""
    if is_url(uri) and not uri.startswith("file://"):
        return uri
    folder = Path(resolve(uri))
    if not folder.is_dir():
        return uri
    for name in _IN_FOLDER:
        if (folder / name).is_file():
            return str(folder / name)
    raise _unfit(uri, f"the folder holds neither {' nor '.join(_IN_FOLDER)}")


def _check_uncalibrated(uri: str) -> None:
    """Refuse verdicts on calibrated timestamps: they cover only part of the correction."""
    try:
        summary = _document(read_bytes(f"{parent_of(resolve(uri))}/summary.json"))
    except StreamReadError:
        return
    if summary is not None and summary.get("calibrated"):
        name = summary.get("calibration")
        raise UsageError(
            "these verdicts judge what the calibration"
            + (f" '{name}'" if isinstance(name, str) else "")
            + " left, not the timestamps in the manifest",
            path=uri,
            hint="Apply the calibration, validate its output and apply those verdicts; or "
            "validate without --calibration.",
        )


def _document(data: bytes) -> Mapping[str, Any] | None:
    """Parse `data` as a single JSON object; return None if it is something else."""
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _json_rows(uri: str, data: bytes) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise _unfit(uri, f"line {number} is not a JSON object ({error})") from error
        if not isinstance(row, dict):
            raise _unfit(uri, f"line {number} is not a JSON object")
        yield f"line {number}", row


def _parquet_rows(uri: str, data: bytes) -> Iterator[tuple[str, Mapping[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        columns = [name for name in (*_COLUMNS, "verdict") if name in file.schema_arrow.names]
        for batch in file.iter_batches(columns=columns, use_threads=False):
            for row in batch.to_pylist(maps_as_pydicts="strict"):
                yield f"row {number}", row
                number += 1
    except (pa.ArrowException, OSError, KeyError, MemoryError) as error:
        raise _unfit(
            uri, f"is not an intact Parquet file ({' '.join(str(error).split())[:160]})"
        ) from error
