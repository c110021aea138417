"""Read CSV tables as a whole, and the parts that block-wise reading shares."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from syncaudit.errors import StreamReadError, one_line
from syncaudit.formatting import word_count
from syncaudit.limits import LINE_BYTES
from syncaudit.model import Finding, ReasonCode
from syncaudit.readers.columns import Table, check_names

_NEWLINE, _ZERO = np.uint8(ord("\n")), np.uint8(ord("0"))
# Arrow's string offsets are 32 bits.
_MAX_BYTES = 2**31 - 1

_DELIMITERS = ",;\t"
BLANKS = ["", "NA", "N/A", "<NA>", "null", "NULL", "None"]


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


def read_header(uri: str, line: bytes) -> tuple[list[str], str]:
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
    names, delimiter = read_header(uri, body if header_end < 0 else body[:header_end])
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
    return (cut_off(uri, last_line, n_found, n_columns),)


def cut_off(uri: str, line: int, n_found: int, n_columns: int) -> Finding:
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
