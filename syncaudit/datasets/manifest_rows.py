"""Parse the rows of a manifest, JSON Lines or Parquet, each with its place for messages."""

from __future__ import annotations

import json
from collections.abc import Iterator

from syncaudit.errors import ManifestError

__all__ = ["json_rows", "parquet_rows"]


def json_rows(uri: str, data: bytes) -> Iterator[tuple[str, object]]:
    """Yield ("line 3", parsed row) of JSON Lines."""
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        where = f"line {number}"
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ManifestError(
                f"{where}: is not UTF-8 text (byte 0x{line[error.start]:02x})",
                path=uri,
                hint="Save the manifest as UTF-8.",
            ) from error
        try:
            row = json.loads(
                text, object_pairs_hook=_distinct_keys, parse_constant=_refuse_constant
            )
        except json.JSONDecodeError as error:
            is_spread = text.strip() in {"{", "["}
            raise ManifestError(
                f"{where}: is no JSON ({error.msg} at column {error.colno})",
                path=uri,
                hint="JSON Lines has one whole clip on every line"
                + ("; this file spreads it over several." if is_spread else "."),
            ) from error
        except (ValueError, RecursionError) as error:
            raise ManifestError(f"{where}: {error}", path=uri) from error
        yield where, row


def _distinct_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key '{key}' appears twice in one object; remove one of them")
        found[key] = value
    return found


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON number; leave the key out instead")


def parquet_rows(uri: str, data: bytes) -> Iterator[tuple[str, object]]:
    """Yield ("row 3", row) of a Parquet file with nested fields; rows count from 0."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        for batch in pq.ParquetFile(pa.BufferReader(data)).iter_batches(use_threads=False):
            for row in batch.to_pylist(maps_as_pydicts="strict"):
                yield f"row {number}", row
                number += 1
    except (pa.ArrowException, OSError, KeyError, MemoryError) as error:
        raise ManifestError(
            f"row {number}: the Parquet file is damaged ({' '.join(str(error).split())[:160]})",
            path=uri,
            hint="Write it again.",
        ) from error
