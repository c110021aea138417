"""Read raw bus logs: candump as text, others through python-can and asammdf."""

from __future__ import annotations

import logging
import re
import struct
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from syncaudit.errors import StreamReadError, one_line
from syncaudit.formatting import word_count
from syncaudit.model import Finding, ReasonCode
from syncaudit.readers.canlog import EXTENDED, BusFrames, frames_of, parse_candump
from syncaudit.readers.csv_table import decode_text
from syncaudit.readers.mdf import read_mdf_frames
from syncaudit.readers.uris import local_file, read_bytes

# Exceptions that python-can's parsers raise on damaged files.
_PARSE_ERRORS = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)

# English and German, as Vector tools write them.
_MONTHS = {"jan": 1, "feb": 2, "mar": 3, "mär": 3, "apr": 4, "may": 5, "mai": 5, "jun": 6}
_MONTHS |= {"jul": 7, "aug": 8, "sep": 9, "oct": 10, "okt": 10, "nov": 11, "dec": 12, "dez": 12}

_ASC_DATE = re.compile(
    r"^(?:date|begin\s+triggerblock)\s+\w+\s+([^\W\d]{3})\w*\s+(\d{1,2})\s+"
    r"(\d{1,2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:\s+([ap]m))?\s+(\d{4})\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_ASC_RELATIVE = re.compile(r"^base\s+\w+\s+timestamps\s+relative", re.IGNORECASE | re.MULTILINE)


def read_frames(
    uri: str, suffix: str, wanted: Collection[int], scratch: Path | None = None
) -> BusFrames:
    """Return the frames of a raw log with wanted identifiers (29-bit ones plus `EXTENDED`).

    `suffix` is a key of `RAW_LOGS`. StreamReadError if the log is missing, empty or not of that
    format.
    """
    return RAW_LOGS[suffix](uri, wanted, scratch)


def _candump(uri: str, wanted: Collection[int], scratch: Path | None) -> BusFrames:  # noqa: ARG001  # one signature for every format
    return parse_candump(uri, read_bytes(uri), wanted)


def _blf(uri: str, wanted: Collection[int], scratch: Path | None) -> BusFrames:
    """Read a Vector BLF: timestamps of 10 us or 1 ns after a start in whole milliseconds.

    The start is a date without time zone, read as UTC.
    """
    from io import BytesIO

    from can.io.blf import BLFParseError, BLFReader

    with local_file(uri, scratch) as path:
        data = path.read_bytes()
    try:
        reader = BLFReader(BytesIO(data))
    except (*_PARSE_ERRORS, BLFParseError) as error:
        raise _not_a(uri, "BLF", error) from error
    # python-can would add the start as float seconds and lose up to 120 ns.
    start_ns = round(reader.start_timestamp * 1000) * 10**6
    reader.start_timestamp = 0.0
    errors = (*_PARSE_ERRORS, BLFParseError)
    with _complaints("can.io.blf") as complaints:
        frames = _collect(uri, reader, wanted, start_ns, 1, errors=errors)
    if len(data) < reader.file_size:
        complaints.append(f"{len(data)} of {reader.file_size} bytes are there")
    return _with_complaints(uri, frames, complaints)


def _asc(uri: str, wanted: Collection[int], scratch: Path | None) -> BusFrames:  # noqa: ARG001  # one signature for every format
    """Read a Vector ASC: timestamps as written (typically 1 us) after the date of its header.

    The date has no time zone and is read as UTC.
    """
    from io import StringIO

    from can.io.asc import ASCReader

    data = read_bytes(uri)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    if "\0" in text[:4096]:
        decode_text(uri, data)
        raise StreamReadError("is not ASC text", path=uri, hint="Export it again.")
    if _ASC_RELATIVE.search(text[:4096]):
        raise StreamReadError(
            "its timestamps are relative to the previous event ('timestamps relative')",
            path=uri,
            hint="Export it with absolute timestamps.",
        )
    dates = _ASC_DATE.findall(text[:65536])
    start_ns = _asc_start_ns(uri, dates[-1]) if dates else 0
    return _collect(uri, ASCReader(StringIO(text)), wanted, start_ns, 1)


def _asc_start_ns(uri: str, parts: tuple[str, ...]) -> int:
    month, day, hour, minute, second, fraction, half, year = parts
    hours = int(hour) % 12 + 12 * (half.lower() == "pm") if half else int(hour)
    try:
        moment = datetime(
            int(year), _MONTHS[month.lower()], int(day), hours, int(minute), int(second), tzinfo=UTC
        )
    except (KeyError, ValueError) as error:
        raise StreamReadError(
            f"the date in its header is invalid: {' '.join(parts)}",
            path=uri,
            hint="Expected e.g. 'date Sat Sep 30 15:06:13.191 2017'.",
        ) from error
    return int(moment.timestamp()) * 10**9 + int((fraction or "0").ljust(9, "0"))


def _trc(uri: str, wanted: Collection[int], scratch: Path | None) -> BusFrames:  # noqa: ARG001  # one signature for every format
    """Read a PEAK TRC: timestamps of 1 us at best, after the header's start if it has one."""
    from io import StringIO

    from can.io.trc import TRCReader

    text = read_bytes(uri).decode("utf-8-sig", "replace")
    # Start plus milliseconds arrive as float Unix seconds, which keep whole microseconds.
    with _complaints("can.io.trc") as complaints:
        frames = _collect(uri, TRCReader(StringIO(text)), wanted, 0, 1000)
    return _with_complaints(uri, frames, complaints)


@contextmanager
def _complaints(name: str) -> Iterator[list[str]]:
    """Collect what python-can only logs: lines and objects that it skipped."""
    found: list[str] = []

    def keep(record: logging.LogRecord) -> bool:
        if record.levelno >= logging.WARNING:
            found.append(" ".join(record.getMessage().split())[:100])
        return False

    logger = logging.getLogger(name)
    logger.addFilter(keep)
    try:
        yield found
    finally:
        logger.removeFilter(keep)


def _with_complaints(uri: str, frames: BusFrames, complaints: list[str]) -> BusFrames:
    if not complaints:
        return frames
    finding = Finding(
        code=ReasonCode.CORRUPT,
        message=f"{uri}: {word_count(len(complaints), 'part')} of the log cannot be read, the "
        f"first: {complaints[0]}. Copy it again.",
        value=float(len(complaints)),
        limit=0.0,
    )
    return replace(frames, findings=(*frames.findings, finding))


RAW_LOGS: MappingProxyType[str, Callable[[str, Collection[int], Path | None], BusFrames]] = (
    MappingProxyType(
        {
            ".log": _candump,
            ".asc": _asc,
            ".blf": _blf,
            ".trc": _trc,
            ".mf4": read_mdf_frames,
            ".mdf": read_mdf_frames,
        }
    )
)


def _collect(
    uri: str,
    messages: Iterable[Any],
    wanted: Collection[int],
    start_ns: int,
    step_ns: int,
    *,
    errors: tuple[type[Exception], ...] = _PARSE_ERRORS,
) -> BusFrames:
    """Gather python-can messages; a truncated log keeps those before the cut."""
    time_ns: list[int] = []
    ids: list[int] = []
    payloads: list[bytes] = []
    buses: list[str] = []
    n_total = 0
    seen: set[int] = set()
    findings: tuple[Finding, ...] = ()
    try:
        for message in messages:
            if message.is_error_frame or message.is_remote_frame:
                continue
            n_total += 1
            key = message.arbitration_id + (EXTENDED if message.is_extended_id else 0)
            seen.add(key)
            if key in wanted:
                stamp = start_ns + round(message.timestamp * (10**9 // step_ns)) * step_ns
                if not -(2**63) <= stamp < 2**63:
                    raise ValueError(f"stamp {message.timestamp} s is out of range")
                time_ns.append(stamp)
                ids.append(key)
                payloads.append(bytes(message.data))
                buses.append(f"channel {message.channel}")
    except errors as error:
        if not n_total:
            raise _not_a(uri, Path(uri).suffix.lstrip(".").upper(), error) from error
        findings = (
            Finding(
                code=ReasonCode.CORRUPT,
                message=f"{uri}: the log breaks off after {word_count(n_total, 'frame')} "
                f"({type(error).__name__}: {one_line(error)}). "
                "Copy it again.",
                value=float(n_total),
            ),
        )
    return frames_of(
        *(time_ns, ids, payloads, buses), n_total=n_total, ids_seen=seen, findings=findings
    )


def _not_a(uri: str, form: str, error: Exception) -> StreamReadError:
    return StreamReadError(
        f"is not a {form} log ({type(error).__name__}: {one_line(error)})",
        code="corrupt",
        path=uri,
        hint="Check that its name ends in its real format, and copy it again.",
    )
