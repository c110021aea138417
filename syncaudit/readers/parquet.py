"""Read some columns and rows of a Parquet file without reading the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from syncaudit.errors import StreamReadError
from syncaudit.model import Finding, ReasonCode
from syncaudit.readers.columns import Table, check_names
from syncaudit.readers.uris import open_file

__all__ = ["read_parquet_part", "too_short"]


def read_parquet_part(uri: str, rows: Sequence[int] | None, wanted: set[str] | None) -> Table:
    """Read a part of a Parquet file: data sets keep thousands of clips, and pictures, in one.

    Parameters
    ----------
    uri : str
        Resolved path or URL.
    rows : sequence of two int, optional
        First row and the one after the last. Only row groups that hold any are read.
    wanted : set of str, optional
        Columns to read; those that are not there are left to `Table.require`.

    Raises
    ------
    StreamReadError
        If the file is missing, empty or no Parquet.
    """
    import pyarrow.parquet as pq

    try:
        with open_file(uri) as opened:
            file = pq.ParquetFile(opened)
            names = list(file.schema_arrow.names)
            columns = names if wanted is None else [name for name in names if name in wanted]
            check_names(uri, columns)
            groups, skipped = _groups(file.metadata, rows)
            found = file.read_row_groups(groups, columns=columns, use_threads=False)
            n_rows = int(file.metadata.num_rows)
    except StreamReadError:
        raise
    except (pa.ArrowException, OSError, ValueError, MemoryError, LookupError) as error:
        raise StreamReadError(
            f"is no intact Parquet file ({' '.join(str(error).split())[:160]})",
            code="corrupt",
            path=uri,
            hint="Write or copy it again.",
        ) from error
    findings: tuple[Finding, ...] = ()
    first = 0
    if rows is not None:
        first = rows[0]
        found = found.slice(first - skipped, rows[1] - first)
        findings = too_short(uri, rows, n_rows)
    return Table(
        uri=uri,
        data=found,
        first_row=0,
        findings=findings,
        unread=tuple(name for name in names if name not in columns),
        skipped_rows=first,
    )


def too_short(uri: str, rows: Sequence[int], n_rows: int) -> tuple[Finding, ...]:
    """Return the finding of a table that ends before the rows that the manifest names."""
    if n_rows >= rows[1]:
        return ()
    return (
        Finding(
            code=ReasonCode.LENGTH_MISMATCH,
            message=f"{uri} has {n_rows} rows, but the clip is rows {rows[0]} to {rows[1] - 1} of "
            "it. Copy the file again, or make the manifest anew.",
            value=float(n_rows),
            limit=float(rows[1]),
        ),
    )


def _groups(metadata: Any, rows: Sequence[int] | None) -> tuple[list[int], int]:
    """Return the row groups that hold `rows`, and how many rows lie before them."""
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
