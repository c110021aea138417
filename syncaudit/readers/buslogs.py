"""Read raw bus logs: candump as text, others through python-can and asammdf.

ASAM MDF 4 files hold bus logging, or signals that are already decoded.
"""

from __future__ import annotations

import logging
import re
import struct
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.errors import (
    ClipInputError,
    MissingExtraError,
    StreamReadError,
    nearest_name,
    one_line,
)
from syncaudit.formatting import word_count
from syncaudit.model import Channel, Finding, ReasonCode
from syncaudit.readers.canlog import EXTENDED, BusFrames, frames_of, parse_candump
from syncaudit.readers.csv_table import decode_loosely, decode_text
from syncaudit.readers.faults import empty_stream, non_finite
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

_FRAME = "CAN_DataFrame"


def _candump(uri: str, wanted: Collection[int], scratch: Path | None) -> BusFrames:  # noqa: ARG001  # one signature for every format
    return parse_candump(uri, read_bytes(uri), wanted)


def _blf(uri: str, wanted: Collection[int], scratch: Path | None) -> BusFrames:
    """Read a Vector BLF: timestamps of 10 us or 1 ns after a start in whole milliseconds.

    The start is a date without time zone, read as UTC.
    """
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
    from can.io.asc import ASCReader

    data = read_bytes(uri)
    text = decode_loosely(data)
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


def _read_mdf_frames(uri: str, wanted: Collection[int], scratch: Path | None) -> BusFrames:
    """Return the frames of MDF bus logging whose identifiers are wanted.

    Timestamps are float64 seconds after the header's start (int64 ns), exact to 1 ns.
    """
    parts: list[tuple[NDArray[Any], ...]] = []
    with _opened(uri, scratch) as mdf:
        groups = sorted({group for group, _ in mdf.channels_db.get(f"{_FRAME}.ID", ())})
        if not groups:
            raise StreamReadError(
                f"logs no bus frames (no channel '{_FRAME}')",
                path=uri,
                hint="Leave 'dbc' out if its signals are decoded; else enable bus logging.",
            )
        start_ns = _start_ns(mdf)
        parts += [_group_frames(mdf, group, start_ns) for group in groups]
        width = max(payload.shape[1] for _, _, payload, *_ in parts)
        parts = [
            (time_ns, ids, np.pad(payload, ((0, 0), (0, width - payload.shape[1]))), *others)
            for time_ns, ids, payload, *others in parts
        ]
        time_ns, ids, payload, lengths, buses = (
            np.concatenate(column) for column in zip(*parts, strict=True)
        )
        if len(parts) > 1 and all(bool(np.all(np.diff(part[0]) >= 0)) for part in parts):
            # Groups are stored one after the other and are each in order: merge them.
            order = np.argsort(time_ns, kind="stable")
            time_ns, ids, payload, lengths, buses = (
                column[order] for column in (time_ns, ids, payload, lengths, buses)
            )
        keep = np.isin(ids, sorted(wanted))
        return BusFrames(
            time_ns=time_ns[keep],
            ids=ids[keep],
            payload=payload[keep],
            lengths=lengths[keep],
            buses=buses[keep],
            bus_names=tuple(f"channel {bus}" for bus in range(int(buses.max(initial=0)) + 1)),
            n_total=len(ids),
            ids_seen=frozenset(np.unique(ids).tolist()),
        )


# Readers of raw logs by suffix: (uri, wanted identifiers, 29-bit ones plus `EXTENDED`; scratch) to
# the frames with these. StreamReadError if the log is missing, empty or not of that format.
RAW_LOGS: Mapping[str, Callable[[str, Collection[int], Path | None], BusFrames]] = {
    ".log": _candump,
    ".asc": _asc,
    ".blf": _blf,
    ".trc": _trc,
    ".mf4": _read_mdf_frames,
    ".mdf": _read_mdf_frames,
}


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


def _group_frames(mdf: Any, group: int, start_ns: int) -> tuple[NDArray[Any], ...]:
    def column(field: str) -> Any:
        return mdf.get(f"{_FRAME}.{field}", group=group)

    ids = column("ID")
    numbers = ids.samples.astype(np.int64) & 0x1FFFFFFF
    fields = {name for name in mdf.channels_db if name.startswith(f"{_FRAME}.")}
    if f"{_FRAME}.IDE" in fields:
        is_extended = column("IDE").samples.astype(np.int64) != 0
    else:
        is_extended = (ids.samples.astype(np.int64) & EXTENDED) != 0
    payload = np.atleast_2d(column("DataBytes").samples.astype(np.uint8))
    length_field = "DataLength" if f"{_FRAME}.DataLength" in fields else "DLC"
    lengths = np.minimum(column(length_field).samples.astype(np.int64), payload.shape[1])
    is_bus_known = f"{_FRAME}.BusChannel" in fields
    columns = (
        _stamps(ids.timestamps, start_ns),
        numbers + np.where(is_extended, EXTENDED, 0),
        payload.reshape(len(numbers), -1),
        lengths,
        column("BusChannel").samples.astype(np.uint8) if is_bus_known else numbers * 0,
    )
    if len({len(one) for one in columns}) > 1:
        raise ValueError("the columns of its frames differ in length")
    return columns


def read_mdf_signals(
    uri: str, signals: Mapping[str, str], scratch: Path | None
) -> tuple[NDArray[np.int64], list[Channel], list[Finding]]:
    """Return decoded signals of an MDF by channel name, each with its own timestamps."""
    channels: list[Channel] = []
    findings: list[Finding] = []
    with _opened(uri, scratch) as mdf:
        start_ns = _start_ns(mdf)
        for role, name in signals.items():
            places = mdf.channels_db.get(name, ())
            if len(places) != 1:
                raise StreamReadError(
                    f"has the channel '{name}' (role {role}) {len(places)} times, expected once",
                    code="manifest",
                    path=uri,
                    hint="Name the DBC to decode raw frames."
                    if places or f"{_FRAME}.ID" in mdf.channels_db
                    else nearest_name(name, mdf.channels_db),
                )
            group, index = places[0]
            # Enumerations stay numbers.
            found = mdf.get(group=group, index=index, raw=True).physical(
                ignore_value2text_conversions=True
            )
            values = np.asarray(found.samples)
            if values.ndim != 1 or values.dtype.kind not in "iufb":
                raise StreamReadError(f"channel '{name}' (role {role}) holds no numbers", path=uri)
            samples = values.astype(np.float64)[:, None]
            if not len(samples):
                findings += empty_stream(uri, f"samples of '{name}'")
            findings += non_finite(samples, [name], uri=uri)
            channels.append(
                Channel(
                    name=role,
                    time_ns=_stamps(found.timestamps, start_ns),
                    values=samples,
                    unit=str(found.unit or ""),
                )
            )
    stamps = [channel.time_ns for channel in channels]
    time_ns = np.concatenate(stamps) if stamps else np.empty(0, np.int64)
    if all(bool(np.all(np.diff(part) >= 0)) for part in stamps):
        time_ns = np.unique(time_ns)  # signals of one message share their timestamps
    return time_ns, channels, findings


def _stamps(seconds: Any, start_ns: int) -> NDArray[np.int64]:
    scaled = np.round(np.asarray(seconds, dtype=np.float64) * 1e9)
    if scaled.size and not bool(np.all(np.abs(scaled) < 2.0**62)):
        raise ValueError("a stamp is out of range")
    return scaled.astype(np.int64) + np.int64(start_ns)


def _start_ns(mdf: Any) -> int:
    start = getattr(mdf.header, "abs_time", None)
    if isinstance(start, int | np.integer):
        return int(start)
    moment: datetime = mdf.header.start_time
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(moment.timestamp()) * 10**9 + moment.microsecond * 1000


@contextmanager
def _opened(uri: str, scratch: Path | None) -> Iterator[Any]:
    try:
        from asammdf import MDF
    except ImportError as error:
        raise MissingExtraError("asammdf", extra="mdf", purpose="Reading .mf4") from error
    with local_file(uri, scratch) as path:
        # From memory, since asammdf leaves files open when it fails.
        data = BytesIO(path.read_bytes())
    with _quiet():
        try:
            with MDF(data) as mdf:
                yield mdf
        except ClipInputError:
            raise
        # asammdf has no error contract: it lets through whatever its codecs and its own bugs
        # raise (IsalError, MdfException, UnboundLocalError ...).
        except Exception as error:
            raise StreamReadError(
                f"is not an intact MDF ({type(error).__name__}: {one_line(error)})",
                code="corrupt",
                path=uri,
                hint="Copy it again, or repair it with 'asammdf'.",
            ) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep asammdf from logging tracebacks for damage that is reported as an error."""
    logger = logging.getLogger("asammdf")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
