"""Read large CSV files in blocks of lines, so that memory holds only what is wanted of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from syncaudit.errors import StreamReadError
from syncaudit.limits import LINE_BYTES
from syncaudit.readers.arrow_columns import is_digits
from syncaudit.readers.columns import Table
from syncaudit.readers.csv_table import BLANKS, cut_off, read_header
from syncaudit.readers.file_errors import reworded
from syncaudit.readers.parquet import too_short
from syncaudit.readers.uris import holds_data, local_path, open_file

# Smaller files are read at once, which reports faults in more detail; for larger ones, blocks
# bound the memory needed beside the columns themselves.
_LEAST_BYTES = 1 << 26
_BLOCK_BYTES = 1 << 24


class _IrregularError(StreamReadError):
    """A block differs from the first one; the reader of whole files reports why."""

    def __init__(self) -> None:
        super().__init__("is not plain throughout")


class CsvBlocks:
    """Blocks of lines of a plain local CSV file, whose first row begins at byte `start`."""

    def __init__(self, path: Path, names: list[str], delimiter: str, start: int) -> None:
        self.path, self.names, self._delimiter, self._start = path, names, delimiter, start
        # Number of columns of a truncated last line, once it was read.
        self.n_columns_of_last: int | None = None

    def read(self, texts: set[str], wanted: Sequence[str]) -> Iterator[pa.Table]:
        """Yield the wanted columns in order, with one schema; `texts` as integers if they are.

        _IrregularError if a line is faulty, or a column changes its type.
        """
        kinds: dict[str, pa.DataType] = {name: pa.string() for name in wanted if name in texts}
        schema = None
        with reworded(str(self.path)), self.path.open("rb") as file:
            file.seek(self._start)
            for block in _blocks(file, str(self.path)):
                if schema is None:
                    kinds |= _numeric(self._convert(block, kinds, wanted))
                try:
                    found = _with_integers(self._convert(block, kinds, wanted), texts)
                except _IrregularError:
                    n_found = block.count(self._delimiter.encode()) + 1
                    if block.endswith(b"\n") or n_found == len(self.names):
                        raise
                    self.n_columns_of_last = n_found
                    return
                schema = schema or found.schema
                if found.schema != schema:
                    raise _IrregularError
                yield found

    def _convert(
        self, block: bytes, kinds: dict[str, pa.DataType], wanted: Sequence[str]
    ) -> pa.Table:
        from pyarrow import csv

        try:
            return csv.read_csv(
                pa.BufferReader(block),
                read_options=csv.ReadOptions(
                    column_names=self.names, use_threads=False, block_size=len(block) + 1
                ),
                parse_options=csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=False),
                convert_options=csv.ConvertOptions(
                    column_types=kinds,
                    include_columns=list(wanted),
                    null_values=BLANKS,
                    strings_can_be_null=True,
                ),
            )
        except (pa.ArrowException, ValueError) as error:
            raise _IrregularError from error


def large_csv(uri: str) -> CsvBlocks | None:
    """Return the blocks of a large local file that may be a plain CSV; None if it is not."""
    path = local_path(uri)
    if path is None or not holds_data(uri) or path.stat().st_size < _LEAST_BYTES:
        return None
    with open_file(uri) as file:
        line = file.readline(LINE_BYTES)
    if line[:2] in (b"\xff\xfe", b"\xfe\xff") or line[:4] == b"PAR1" or line[:6] == b"\x93NUMPY":
        return None
    if len(line) == LINE_BYTES:
        raise _endless(str(path))
    body = line.removeprefix(b"\xef\xbb\xbf")
    names, delimiter = read_header(str(path), body.rstrip(b"\n"))
    return CsvBlocks(path, names, delimiter, len(line))


def read_large_csv(
    uri: str, csv: CsvBlocks, texts: set[str], rows: Sequence[int] | None, wanted: set[str] | None
) -> Table | None:
    """Read some columns and rows of a large CSV file; None if it is not regular throughout.

    `texts` are columns that are not floats: integers, else strings.
    """
    names = [name for name in csv.names if wanted is None or name in wanted]
    first, stop = (0, None) if rows is None else rows
    kept: list[pa.Table] = []
    at = 0
    try:
        for block in csv.read(texts, names or csv.names[:1]):
            low = max(0, first - at)
            high = block.num_rows if stop is None else stop - at
            if low < block.num_rows and high > 0 and low < high:
                kept.append(block.slice(low, high - low))
            elif not kept:
                empty = block.slice(0, 0)
            at += block.num_rows
            if stop is not None and at >= stop:
                break
    except _IrregularError:
        return None
    if at == 0:
        return None
    n_last = csv.n_columns_of_last
    return Table(
        uri=uri,
        data=(pa.concat_tables(kept) if kept else empty).select(names),
        first_row=2,
        unread=tuple(name for name in csv.names if name not in names),
        skipped_rows=first,
        findings=(
            *(() if rows is None else too_short(uri, rows, at)),
            *(() if n_last is None else [cut_off(uri, at + 2, n_last, len(csv.names))]),
        ),
    )


def _blocks(file: BinaryIO, uri: str) -> Iterator[bytes]:
    rest = b""
    while data := file.read(_BLOCK_BYTES):
        if not data.isascii():
            raise _IrregularError
        head, newline, tail = data.rpartition(b"\n")
        if not newline:
            raise _endless(uri)
        yield b"".join((rest, head, newline))
        rest = tail
    if rest:
        yield rest


def _numeric(found: pa.Table) -> dict[str, pa.DataType]:
    """Return the types for reading further blocks: the first block shows which are numbers."""
    kinds = {}
    for field in found.schema:
        is_number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        if (
            not is_number
            and not pa.types.is_null(field.type)
            and not pa.types.is_string(field.type)
        ):
            raise _IrregularError
        kinds[field.name] = field.type if pa.types.is_string(field.type) else pa.float64()
    return kinds


def _with_integers(found: pa.Table, texts: set[str]) -> pa.Table:
    for place, name in enumerate(found.column_names):
        column = found.column(place)
        if name in texts and not column.null_count and is_digits(column):
            try:
                found = found.set_column(place, name, column.cast(pa.int64()))
            except pa.ArrowInvalid as error:
                raise _IrregularError from error
    return found


def _endless(uri: str) -> StreamReadError:
    return StreamReadError(
        f"a line is longer than {LINE_BYTES >> 20} MiB",
        code="corrupt",
        path=uri,
        hint="Tables have one row per line; export it again.",
    )
