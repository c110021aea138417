"""Parse the rows of a manifest, JSON Lines or Parquet, each with its place for messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import BinaryIO

from syncaudit.errors import ManifestError
from syncaudit.limits import LINE_BYTES

__all__ = ["json_rows", "parquet_rows"]

_BATCH = 256  # rows of Parquet turned into objects at a time


def json_rows(uri: str, file: BinaryIO) -> Iterator[tuple[str, object]]:
    """Yield ("line 3", parsed row) of JSON Lines."""
    lines = iter(lambda: file.readline(LINE_BYTES), b"")
    for number, line in enumerate(lines, start=1):
        where = f"line {number}"
        if len(line) == LINE_BYTES:
            raise ManifestError(
                f"{where} is longer than {LINE_BYTES >> 20} MiB",
                path=uri,
                hint="JSON Lines has one whole clip on every line.",
            )
        line = line.removesuffix(b"\n")
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line.strip():
            continue
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


def parquet_rows(uri: str, file: BinaryIO) -> Iterator[tuple[str, object]]:
    """Yield ("row 3", row) of a Parquet file with nested fields; rows count from 0."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        for batch in pq.ParquetFile(file).iter_batches(_BATCH, use_threads=False):
            for row in batch.to_pylist(maps_as_pydicts="strict"):
                yield f"row {number}", row
                number += 1
    except (pa.ArrowException, OSError, KeyError, MemoryError) as error:
        raise ManifestError(
            f"row {number}: the Parquet file is damaged ({' '.join(str(error).split())[:160]})",
            path=uri,
            hint="Write it again.",
        ) from error
