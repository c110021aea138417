"""Read ASAM MDF 4 through asammdf: bus logging, or signals that are already decoded."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from io import BytesIO
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
from syncaudit.model import Channel, Finding
from syncaudit.readers.canlog import EXTENDED, BusFrames
from syncaudit.readers.findings import empty_stream, non_finite
from syncaudit.readers.uris import local_file

_FRAME = "CAN_DataFrame"


def read_mdf_frames(uri: str, wanted: Collection[int], scratch: Path | None) -> BusFrames:
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
