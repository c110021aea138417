"""Read CSV tables, as a whole or in blocks of lines.

Of large files, read in blocks, memory holds only what is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from syncaudit.errors import StreamReadError, one_line
from syncaudit.formatting import word_count
from syncaudit.limits import LINE_BYTES
from syncaudit.model import Finding, ReasonCode
from syncaudit.readers.columns import Table, check_names, is_digits
from syncaudit.readers.faults import reworded
from syncaudit.readers.parquet import too_short
from syncaudit.readers.uris import holds_data, local_path, open_file

_NEWLINE, _ZERO = np.uint8(ord("\n")), np.uint8(ord("0"))
# Arrow's string offsets are 32 bits.
_MAX_BYTES = 2**31 - 1

_DELIMITERS = ",;\t"
BLANKS = ["", "NA", "N/A", "<NA>", "null", "NULL", "None"]

# Smaller files are read at once, which reports faults in more detail; for larger ones, blocks
# bound the memory needed beside the columns themselves.
_LEAST_BYTES = 1 << 26
_BLOCK_BYTES = 1 << 24


def decode_text(uri: str, data: bytes) -> str:
    """Decode UTF-8 (with or without BOM) or UTF-16 with BOM; else fail with code ``bad_text``."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise StreamReadError(
            f"line {line} is not {encoding.removesuffix('-sig').upper()} text "
            f"(byte 0x{data[min(error.start, len(data) - 1)]:02x} at {error.start})",
            code="bad_text",
            path=uri,
            hint="It is a binary file: is this the one you meant?"
            if b"\0" in data
            else "Save the file as UTF-8, e.g. iconv -f latin1 -t utf-8.",
        ) from error


def decode_loosely(data: bytes) -> str:
    """Decode UTF-8 (with or without BOM), or else Windows-1252: what Vector's tools write."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _read_header(uri: str, line: bytes) -> tuple[list[str], str]:
    """Return the column names in the first line of a CSV, and the delimiter."""
    if len(line) >= LINE_BYTES:
        raise StreamReadError(
            f"the first line is longer than {LINE_BYTES >> 20} MiB",
            code="corrupt",
            path=uri,
            hint="Tables have one row per line, column names in the first; export it again.",
        )
    header = decode_text(uri, line).strip("\r")
    if not header.strip():
        raise StreamReadError(
            "the first line is blank, expected column names",
            path=uri,
            hint="Put the column names into the first line.",
        )
    delimiter = max(_DELIMITERS, key=header.count)
    names = [
        name.strip().strip('"').strip() or f"(column {place})"
        for place, name in enumerate(header.split(delimiter), start=1)
    ]
    check_names(uri, names)
    return names, delimiter


def read_csv(uri: str, data: bytes, text_columns: set[str]) -> Table:
    """Read a CSV table as a whole; parameters and errors are those of `read_table`."""
    from pyarrow import csv

    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = decode_text(uri, data).encode("utf-8")
    body = data.removeprefix(b"\xef\xbb\xbf")
    if not body.isascii():
        decode_text(uri, body)
    header_end = body.find(b"\n")
    names, delimiter = _read_header(uri, body if header_end < 0 else body[:header_end])
    faulty: list[tuple[int | None, int]] = []

    def keep_count(row: csv.InvalidRow) -> str:
        faulty.append((row.number, row.actual_columns))
        return "skip"

    rows = b"" if header_end < 0 else body[header_end + 1 :]
    if not rows.strip():
        empty = pa.table({name: pa.array([], pa.string()) for name in names})
        return Table(uri=uri, data=empty, first_row=2)
    if len(names) == 1 and names[0] in text_columns:
        cells = digit_cells(rows)
        if cells is not None:
            return Table(uri=uri, data=pa.table({names[0]: cells}), first_row=2)
    options = {
        "read_options": csv.ReadOptions(
            column_names=names, use_threads=False, block_size=min(len(rows) + 1, 1 << 30)
        ),
        "parse_options": csv.ParseOptions(
            delimiter=delimiter, invalid_row_handler=keep_count, newlines_in_values=False
        ),
    }

    def convert(texts: Mapping[str, pa.DataType]) -> pa.Table:
        faulty.clear()
        return csv.read_csv(
            pa.BufferReader(rows),
            convert_options=csv.ConvertOptions(
                column_types=texts, null_values=BLANKS, strings_can_be_null=True
            ),
            **options,
        )

    try:
        try:
            found = convert({name: pa.string() for name in names if name in text_columns})
        except pa.ArrowInvalid:
            # A column changes its type after the first block: read strings, convert on demand.
            found = convert(dict.fromkeys(names, pa.string()))
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        decode_text(uri, data)
        raise StreamReadError(
            f"is not an intact CSV ({one_line(error)})",
            code="corrupt",
            path=uri,
            hint="Expected a header line and one row per line, cells separated by one of , ; tab.",
        ) from error
    findings = _judge_faulty(uri, rows, faulty, len(names), found.num_rows)
    return Table(uri=uri, data=found, first_row=2, findings=findings)


def _judge_faulty(
    uri: str,
    rows: bytes,
    faulty: list[tuple[int | None, int]],
    n_columns: int,
    n_good: int,
) -> tuple[Finding, ...]:
    """Return a finding for a truncated last line; reject earlier faulty lines."""
    if not faulty:
        return ()
    last_line = rows.rstrip(b"\r\n").count(b"\n") + 2
    number, n_found = faulty[0]
    n_blank = rows.count(b"\n\n") + rows.count(b"\n\r\n")
    line = n_good + n_blank + 2 if number is None else number + 1
    is_last = len(faulty) == 1 and (number is None or number == n_good + 1)
    last = rows.rstrip(b"\r\n").rpartition(b"\n")[2].decode("utf-8", "replace")
    is_last = is_last and max(last.count(each) for each in _DELIMITERS) + 1 == n_found
    if not is_last:
        raise StreamReadError(
            f"line {line} has {word_count(n_found, 'column')}, expected {n_columns}",
            code="corrupt",
            path=uri,
            hint=f"{len(faulty)} line(s) are faulty; export the table again.",
        )
    return (_cut_off(uri, last_line, n_found, n_columns),)


def _cut_off(uri: str, line: int, n_found: int, n_columns: int) -> Finding:
    """Return the finding for a last line that has too few columns."""
    return Finding(
        code=ReasonCode.CORRUPT,
        message=f"{uri}: the last line ({line}) is cut off: {word_count(n_found, 'column')}, "
        f"expected {n_columns}. The file is incomplete; copy it again.",
        value=float(n_found),
        limit=float(n_columns),
    )


def digit_cells(lines: bytes) -> pa.StringArray | None:
    """Return every line as a string, or None if any line is not all digits.

    Expects at least one line; the last may lack its newline.
    """
    if len(lines) > _MAX_BYTES:
        return None
    characters = np.frombuffer(lines, np.uint8)
    ends = np.flatnonzero(characters == _NEWLINE)
    # Characters below "0" wrap around to large values.
    if np.count_nonzero(characters - _ZERO > 9) != ends.size:
        return None
    is_open = lines[-1] != _NEWLINE
    offsets = np.zeros(ends.size + 1 + is_open, np.int32)
    offsets[1 : ends.size + 1] = ends - np.arange(ends.size)
    if is_open:
        offsets[-1] = len(lines) - ends.size
    if np.count_nonzero(offsets[1:] == offsets[:-1]):
        return None  # a blank line
    texts = lines.replace(b"\n", b"")
    return pa.StringArray.from_buffers(offsets.size - 1, pa.py_buffer(offsets), pa.py_buffer(texts))


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
    names, delimiter = _read_header(str(path), body.rstrip(b"\n"))
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
            *(() if n_last is None else [_cut_off(uri, at + 2, n_last, len(csv.names))]),
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
