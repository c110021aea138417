"""Read some columns and rows of a Parquet file without reading the others."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from syncaudit.decode.stored import broken_parquet
from syncaudit.errors import StreamReadError
from syncaudit.limits import TABLE_BYTES
from syncaudit.model import Finding, ReasonCode
from syncaudit.readers.columns import Table, check_names
from syncaudit.readers.uris import open_file

# Read at once below this, in parts above: a part of six columns takes 6 MiB.
_MANY_ROWS = 1 << 17
# Timestamps and one noisy channel with _MANY_ROWS rows take more than this: for smaller files in
# a store, only the file itself needs to be opened.
_MANY_BYTES = 1 << 20
_BUFFER_BYTES = 1 << 20


def read_parquet(uri: str, rows: Sequence[int] | None, wanted: set[str] | None) -> Table:
    """Read a Parquet file, or part of it: some data sets keep thousands of clips in one.

    Only row groups that hold any of the rows from ``rows[0]`` up to ``rows[1]`` are read. Missing
    columns are left to `Table.require`.
    """
    import pyarrow.parquet as pq

    try:
        with open_file(uri) as opened:
            file = pq.ParquetFile(opened)
            names = list(file.schema_arrow.names)
            columns = names if wanted is None else [name for name in names if name in wanted]
            is_part = rows is not None or wanted is not None
            plain = columns if is_part else [name.strip() for name in names]
            check_names(uri, plain)
            groups, skipped = _groups(file.metadata, rows)
            _check_size(uri, file.metadata, columns, groups)
            found, skipped = _read_groups(file, groups, columns, rows, skipped)
            n_rows = int(file.metadata.num_rows)
    except StreamReadError:
        raise
    except (pa.ArrowException, OSError, ValueError, MemoryError, LookupError) as error:
        raise broken_parquet(uri, error) from error
    findings: tuple[Finding, ...] = ()
    first = 0
    if rows is not None:
        first = rows[0]
        found = found.slice(first - skipped, rows[1] - first)
        findings = too_short(uri, rows, n_rows)
    return Table(
        uri=uri,
        data=found if is_part else found.rename_columns(plain),
        first_row=0,
        findings=findings,
        unread=tuple(name for name in names if name not in columns),
        skipped_rows=first,
    )


def parquet_parts(uri: str, column: str) -> Iterator[Table]:
    """Yield a column of a large Parquet file in parts; nothing if it is small or lacks it."""
    import pyarrow.parquet as pq

    try:
        with open_file(uri) as opened:
            if opened.seek(0, os.SEEK_END) < _MANY_BYTES:
                return
            file = pq.ParquetFile(opened, buffer_size=_BUFFER_BYTES)
            if file.metadata.num_rows < _MANY_ROWS or column not in file.schema_arrow.names:
                return
            for batch in file.iter_batches(_MANY_ROWS, columns=[column], use_threads=False):
                yield Table(uri=uri, data=pa.Table.from_batches([batch]), first_row=0)
    except (pa.ArrowException, OSError, ValueError, MemoryError, LookupError) as error:
        if isinstance(error, StreamReadError):
            raise
        raise StreamReadError("is not an intact Parquet file", code="corrupt", path=uri) from error


def _check_size(uri: str, metadata: Any, columns: Sequence[str], groups: Sequence[int]) -> None:
    """Reject columns that unpack to more than any recording, judging by their metadata.

    A run of one value takes a few bytes in the file, whatever its length, so every cell counts as
    at least eight bytes.
    """
    taken = set(columns)
    total = 0
    for number in groups:
        group = metadata.row_group(number)
        for place in range(group.num_columns):
            chunk = group.column(place)
            if chunk.path_in_schema.split(".")[0] in taken:
                total += max(chunk.total_uncompressed_size, 8 * chunk.num_values)
                if total > TABLE_BYTES:
                    raise StreamReadError(
                        f"unpacks to more than {TABLE_BYTES >> 30} GiB; the limit is reached in "
                        f"column '{chunk.path_in_schema[:80]}' of row group {number}",
                        path=uri,
                        hint="Split the recording into parts of a few hours.",
                    )


def _read_groups(
    file: Any, groups: list[int], columns: list[str], rows: Sequence[int] | None, skipped: int
) -> tuple[pa.Table, int]:
    """Return rows of groups, and how many precede them; large groups are cut to `rows`."""
    sizes = [file.metadata.row_group(number).num_rows for number in groups]
    if sum(sizes) < _MANY_ROWS:
        return file.read_row_groups(groups, columns=columns, use_threads=False), skipped
    if rows is None:
        # Reading all at once takes twice the memory: Arrow doubles the capacity of growing columns.
        read = partial(file.read_row_groups, columns=columns, use_threads=False)
        return pa.concat_tables(map(read, _runs(groups, sizes))), skipped
    kept: list[pa.Table] = []
    at = skipped
    for batch in file.iter_batches(
        _MANY_ROWS, row_groups=groups, columns=columns, use_threads=False
    ):
        low, high = max(0, rows[0] - at), min(batch.num_rows, rows[1] - at)
        if low < high:
            skipped = at + low if not kept else skipped
            # Copied, since a slice keeps its whole batch alive.
            part = pa.Table.from_batches([batch.slice(low, high - low)])
            kept.append(part.take(pa.array(np.arange(part.num_rows))))
        at += batch.num_rows
        if at >= rows[1]:
            break
    return pa.concat_tables(kept), skipped


def _runs(groups: Sequence[int], sizes: Sequence[int]) -> Iterator[list[int]]:
    """Yield runs of consecutive row groups that together hold `_MANY_ROWS` rows."""
    run: list[int] = []
    n_rows = 0
    for number, size in zip(groups, sizes, strict=True):
        run.append(number)
        n_rows += size
        if n_rows >= _MANY_ROWS:
            yield run
            run, n_rows = [], 0
    if run:
        yield run


def too_short(uri: str, rows: Sequence[int], n_rows: int) -> tuple[Finding, ...]:
    """Return the finding for a table that ends before the rows that the manifest names."""
    if n_rows >= rows[1]:
        return ()
    return (
        Finding(
            code=ReasonCode.LENGTH_MISMATCH,
            message=f"{uri} has {n_rows} rows, but the clip is rows {rows[0]} to {rows[1] - 1} of "
            "it. Copy the file again, or create the manifest again.",
            value=float(n_rows),
            limit=float(rows[1]),
        ),
    )


def _groups(metadata: Any, rows: Sequence[int] | None) -> tuple[list[int], int]:
    """Return the row groups that hold `rows`, and how many rows precede them."""
    if rows is None:
        return list(range(metadata.num_row_groups)), 0
    groups: list[int] = []
    at = skipped = 0
    for number in range(metadata.num_row_groups):
        size = metadata.row_group(number).num_rows
        if at + size <= rows[0]:
            skipped = at + size
        elif at < rows[1]:
            groups.append(number)
        at += size
    return groups, skipped
