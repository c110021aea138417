"""Read CSV and Parquet tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from syncaudit.errors import StreamReadError, one_line
from syncaudit.readers.arrays import (
    NPY_MAGIC,
    array_name,
    array_parts,
    list_arrays,
    read_arrays,
)
from syncaudit.readers.columns import STAMPS, Table, base_column, check_names
from syncaudit.readers.csv_blocks import large_csv, read_large_csv
from syncaudit.readers.csv_table import read_csv
from syncaudit.readers.parquet import check_size, parquet_parts, read_parquet_part, too_short
from syncaudit.readers.uris import holds_data, local_path, read_bytes

__all__ = ["STAMPS", "Table", "read_stamp_parts", "read_table"]


def read_table(
    uri: str,
    *,
    text_columns: Iterable[str] = (STAMPS,),
    rows: Sequence[int] | None = None,
    columns: Iterable[str] | None = None,
) -> Table:
    """Read a CSV or Parquet table, or NumPy arrays: a file, or a folder with one a column.

    CSV may have a byte order mark, CRLF, ``,`` ``;`` or tab between cells, and blanks around
    header names. A last line that is cut off is a finding; a faulty line before it an error.

    Parameters
    ----------
    uri : str
        Resolved path or URL.
    text_columns : iterable of str
        CSV columns to keep as text, so that integers stay exact and messages can quote them.
    rows : sequence of two int, optional
        First row and the one after the last; of Parquet no other row groups are read.
    columns : iterable of str, optional
        Columns to read of Parquet and arrays, where there are others; ``name[2]`` is of ``name``.

    Raises
    ------
    StreamReadError
        If the file is missing, empty or no table.
    """
    wanted = None if columns is None else {*columns, *map(base_column, columns)}
    is_parquet = uri.split("::")[0].lower().endswith((".parquet", ".pq"))
    if is_parquet and (rows is not None or wanted is not None):
        return read_parquet_part(uri, rows, wanted)
    texts = set(text_columns)
    arrays = _arrays_of(uri)
    if arrays is not None:
        return read_arrays(uri, arrays, wanted, rows)
    large = large_csv(uri)
    table = None if large is None else read_large_csv(uri, large, texts, rows, wanted)
    if table is not None:
        return table
    data = read_bytes(uri)
    if data[:4] == b"PAR1" or is_parquet:
        table = _read_parquet(uri, data)
    elif data[:6] == NPY_MAGIC:
        return read_arrays(uri, {array_name(uri): uri}, wanted, rows)
    else:
        table = read_csv(uri, data, texts)
    return table if rows is None else _slice(table, rows)


def read_stamp_parts(uri: str, stamps: str) -> Iterator[Table]:
    """Yield a column of a large table in parts; nothing where it is small or no table.

    Of remote ones only Parquet: of others a column costs as much as the whole.
    """
    is_local = local_path(uri) is not None
    if is_local and not holds_data(uri) and not Path(uri).is_dir():
        return
    if uri.split("::")[0].lower().endswith((".parquet", ".pq")):
        yield from parquet_parts(uri, stamps)
        return
    if not is_local:
        return
    arrays = _arrays_of(uri)
    if arrays is not None:
        yield from array_parts(arrays, stamps)
        return
    large = large_csv(uri)
    if large is not None and stamps in large.names:
        for block in large.read({stamps}, [stamps]):
            yield Table(uri=uri, data=block, first_row=2)


def _arrays_of(uri: str) -> dict[str, str] | None:
    """Return the arrays that a table consists of by column name; None if it is no such."""
    is_array = uri.split("::")[0].lower().endswith(".npy")
    return {array_name(uri): uri} if is_array and holds_data(uri) else list_arrays(uri)


def _slice(table: Table, rows: Sequence[int]) -> Table:
    first, stop = rows
    return replace(
        table,
        data=table.data.slice(first, stop - first),
        skipped_rows=first,
        findings=(*table.findings, *too_short(table.uri, rows, table.n_rows)),
    )


def _read_parquet(uri: str, data: bytes) -> Table:
    import pyarrow.parquet as pq

    try:
        # Through a buffer, so that memory-mapped files cannot change below us.
        file = pq.ParquetFile(pa.BufferReader(data))
        names = list(file.schema_arrow.names)
        check_size(uri, file.metadata, names)
        found = file.read(use_threads=False)
    except StreamReadError:
        raise
    except (pa.ArrowException, OSError, ValueError, MemoryError, LookupError) as error:
        raise StreamReadError(
            f"is no intact Parquet file ({one_line(error)})",
            code="corrupt",
            path=uri,
            hint="Write or copy it again.",
        ) from error
    names = [str(name).strip() for name in found.column_names]
    check_names(uri, names)
    return Table(uri=uri, data=found.rename_columns(names), first_row=0)
