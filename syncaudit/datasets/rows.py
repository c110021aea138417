"""Write manifests: clips as rows whose URIs still resolve from another folder."""

from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, asdict, fields
from functools import cache
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from syncaudit.errors import UsageError, one_line
from syncaudit.model import Clip, Distortion, SourceSpec
from syncaudit.readers.access import is_url
from syncaudit.readers.uris import FILE_KEYS, resolve
from syncaudit.writing import create_draft, make_parent, replacing

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_BATCH = 1000  # rows converted to Parquet at a time


def clip_to_row(clip: Clip, *, relative_to: str = "") -> dict[str, Any]:
    """Return a clip as a JSON-serialisable manifest row without defaults.

    Relative URIs, which start at the `base_uri` of the clip, are rewritten to start at the folder
    `relative_to` of the new manifest ("" is the working folder); absolute ones are unchanged.
    """
    row: dict[str, Any] = {"clip_id": clip.clip_id}
    if clip.recording_id != clip.clip_id:
        row["recording_id"] = clip.recording_id
    for key in ("start_ns", "end_ns", "reference"):
        if getattr(clip, key) is not None:
            row[key] = getattr(clip, key)
    if clip.origin is not None:
        row["origin"] = {k: v for k, v in asdict(clip.origin).items() if v is not None}
    if clip.about:
        row["about"] = dict(clip.about)
    real = cache(os.path.realpath)  # sources of a clip mostly share their folder
    row["sources"] = {
        name: _spec_to_row(spec, clip.base_uri, relative_to, real)
        for name, spec in clip.sources.items()
    }
    return row


def _spec_to_row(
    spec: SourceSpec, base_uri: str, relative_to: str, real: Callable[[str], str]
) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": str(spec.kind)}
    kind: type[DataclassInstance] = type(spec)
    for name, default in _optional(kind):
        value = getattr(spec, name)
        if value == default:
            continue
        if name in FILE_KEYS:
            value = _moved(value, base_uri, relative_to, real)
        elif isinstance(value, Distortion):
            value = asdict(value)
        elif isinstance(value, Mapping):
            value = {
                key: list(item) if isinstance(item, list | tuple) else item
                for key, item in value.items()
            }
        row[name] = value
    return row


@cache
def _optional(kind: type[DataclassInstance]) -> tuple[tuple[str, object], ...]:
    """Return the fields of a source class except `kind`, with their defaults."""
    return tuple(
        (
            field.name,
            field.default if field.default_factory is MISSING else field.default_factory(),
        )
        for field in fields(kind)
        if field.name != "kind"
    )


def _moved(uri: str, base_uri: str, relative_to: str, real: Callable[[str], str]) -> str:
    """Rewrite `uri`, relative to `base_uri`, to name the same file relative to `relative_to`.

    `real` resolves the links in the path of a folder.
    """
    if "::" in uri:
        head, _, last = uri.rpartition("::")
        return f"{head}::{_moved(last, base_uri, relative_to, real)}"
    if is_url(uri) or uri.startswith("/"):
        return uri
    found = resolve(uri, base_uri)
    target = resolve(relative_to) if relative_to else "."
    if is_url(found) or is_url(target):
        return _moved_url(found, target)
    # Links in folders are followed (".." would lead elsewhere from a linked folder); the file
    # itself keeps its name.
    # The result of `resolve` is already normalised.
    folder, name = os.path.split(found if found[0] == "/" else str(Path(found).absolute()))
    path = os.path.join(real(folder), name)  # noqa: PTH118  # globs stay text
    return os.path.relpath(path, real(target))


def _moved_url(found: str, target: str) -> str:
    if not is_url(found):
        return str(Path(found).absolute())
    scheme, _, path = found.partition("://")
    other, _, folder = target.partition("://")
    host, other_host = path.split("/")[0], folder.split("/")[0]
    if "::" in found or "::" in target or scheme != other or host != other_host:
        return found
    return posixpath.relpath(f"/{path.lstrip('/')}", f"/{folder.lstrip('/')}")


def write_manifest(rows: Iterable[Mapping[str, Any]], path: str | Path) -> None:
    """Write rows as a manifest: Parquet if `path` has that suffix, else JSON Lines.

    Rows are streamed, so memory does not grow with their number. The file is written atomically,
    under a temporary name and renamed. UsageError if Parquet cannot hold the rows (one source name
    with two kinds of `columns`).
    """
    target = Path(path)
    make_parent(target)
    if target.suffix.lower() not in {".parquet", ".pq"}:
        with replacing(target) as file:
            _write_lines(rows, file)
        return
    lines, handle = create_draft(target)
    try:
        with os.fdopen(handle, "wb") as file:
            _write_lines(rows, file)
        with replacing(target) as part:
            _write_parquet(lines, part, target)
    finally:
        lines.unlink(missing_ok=True)


def _write_lines(rows: Iterable[Mapping[str, Any]], file: IO[bytes]) -> None:
    for row in rows:
        file.write(f"{json.dumps(row, ensure_ascii=False, allow_nan=False)}\n".encode())


def _batches(lines: Path) -> Iterator[list[dict[str, Any]]]:
    with lines.open("rb") as file:
        while batch := [json.loads(line) for line in islice(file, _BATCH)]:
            yield batch


def _write_parquet(lines: Path, part: IO[bytes], target: Path) -> None:
    """Convert rows to Parquet in two passes: all columns are known only after the first."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pa.schema([("clip_id", pa.string())])
        for batch in _batches(lines):
            found = pa.Table.from_struct_array(pa.array(batch)).schema
            schema = pa.unify_schemas([schema, found], promote_options="permissive")
        with pq.ParquetWriter(part, schema) as writer:
            for batch in _batches(lines):
                writer.write_table(pa.Table.from_pylist(batch, schema=schema))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise UsageError(
            f"these rows do not fit one Parquet schema ({one_line(error)})",
            path=str(target),
            hint="Write JSON Lines instead: a name that ends in .jsonl.",
        ) from error
