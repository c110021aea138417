"""Import donkeycar tubs: JSON records of a hobby car, and one JPEG file per image."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from posixpath import join
from typing import Any

import numpy as np

from syncaudit.datasets.formats.nested import NestedFormat, name_of
from syncaudit.datasets.protocol import Import
from syncaudit.datasets.source import Source, parse_json
from syncaudit.datasets.steps.episode import Stamps, counted, rate_of_rules
from syncaudit.errors import ManifestError, one_line
from syncaudit.formatting import word_count
from syncaudit.model import CameraSpec, CanSpec, Clip, ImuSpec, SourceSpec, StateSpec
from syncaudit.model.arrays import Floats

_IMAGES = (".jpg", ".jpeg", ".png")
_IMU = {f"{triple}_{axis}": f"imu/{short}_{axis}"
        for triple, short in (("accel", "acl"), ("gyro", "gyr")) for axis in "xyz"}  # fmt: skip
_DRIVERS = ("user", "pilot")
_CONTROLS = ("angle", "throttle")
_TIMES = ("_timestamp_ms", "milliseconds", "timestamp")
_NS_PER_MS = 1_000_000


class DonkeycarFormat(NestedFormat):
    """One clip per session of a tub, version 1 (``record_*.json``) or 2 (``*.catalog``).

    A record has a single timestamp, its writing time, for all its contents.
    """

    name = "donkeycar"
    summary = "donkeycar tubs: manifest.json with *.catalog and images/, or record_*.json"
    takes_rules = True
    _depth = 2  # car, data
    _expected = "*.catalog or record_*.json"

    def _is_one(self, source: Source, folder: str) -> bool:
        return bool(source.files("*.catalog", folder) or source.files("record_*.json", folder))

    def clips(self, source: Source, job: Import) -> Iterator[Clip]:
        """Yield the sessions, tubs in the order of their names."""
        rate_hz = rate_of_rules(job.rules)
        for folder in self._folders(source):
            _note_deleted(source, folder, job)
            for session in _sessions(source, folder):
                sources = _sources(session, rate_hz, job)
                if not sources:
                    job.note("left out a session without images, controls or IMU")
                    continue
                yield source.clip(session.name, sources)


@dataclass(slots=True)
class _Session:
    """Records of one run of the car, in file order."""

    name: str
    images: str  # image folder
    records: list[Mapping[str, Any]] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)

    @property
    def findings(self) -> list[str]:
        """Return the faults of its records."""
        if not self.damage:
            return []
        text = f"{word_count(len(self.damage), 'record')} cannot be read, left out; the first: "
        return [f"corrupt: {text}{self.damage[0]}"]


def _note_deleted(source: Source, folder: str, job: Import) -> None:
    """Note records that the user deleted; they were recorded, so their times count."""
    try:
        *_, last = source.read(join(folder, "manifest.json")).splitlines()
        if parse_json(last)["deleted_indexes"]:
            job.note(
                "records marked as deleted are read as well: without them times would have gaps"
            )
    except (ManifestError, ValueError, LookupError, TypeError, RecursionError):
        return


def _sessions(source: Source, folder: str) -> Iterator[_Session]:
    """Yield the sessions of a tub one after the other."""
    tub = name_of(source, folder).rpartition("/")[2]
    is_new = bool(source.files("*.catalog", folder))
    images = join(folder, "images") if is_new else folder or "."
    session = _Session(tub, images)
    number: object = None
    for where, record in _records(source, folder, is_new=is_new):
        if isinstance(record, str):
            session.damage.append(f"{where}: {record}")
            continue
        own = record.get("_session_id")
        if session.records and own != number:
            yield session
            session = _Session(tub, images)
        if not session.records and isinstance(own, str) and own.isprintable():
            session.name = f"{tub}/{own}"
        number = own
        session.records.append(record)
    if session.records:
        yield session


def _records(
    source: Source, folder: str, *, is_new: bool
) -> Iterator[tuple[str, Mapping[str, Any] | str]]:
    """Yield (place, record, or what is wrong with it)."""
    for name in source.files("*.catalog" if is_new else "record_*.json", folder):
        short = name.rpartition("/")[2]
        try:
            data = source.read(name)
        except ManifestError as error:
            yield short, error.message
            continue
        for number, line in enumerate(data.splitlines() if is_new else [data], start=1):
            where = f"{short} line {number}" if is_new else short
            try:
                record = parse_json(line)
                yield where, record if isinstance(record, dict) else "it is not an object"
            except (ValueError, RecursionError) as error:
                yield where, one_line(error)


def _sources(session: _Session, rate_hz: float | None, job: Import) -> dict[str, SourceSpec]:
    stamps = _stamps(session, rate_hz, job)
    records, time_ns = session.records, stamps.time_ns
    keys = Counter(key for record in records for key in record)
    said: dict[str, Any] = {"stamp_kind": stamps.kind, "findings": session.findings}
    sources: dict[str, SourceSpec] = {}
    taken: set[str] = set(_TIMES)
    for key in keys:
        texts = [str(record.get(key, "")) for record in records]
        rows = [row for row, text in enumerate(texts) if text.lower().endswith(_IMAGES)]
        if rows:
            title = re.sub(r"\W", "_", key).removesuffix("_image_array") or "cam"
            files = [texts[row].rpartition("/")[2] for row in rows]
            table = job.sidecars.write_table(
                f"{session.name}/{title}.parquet", {"timestamp_ns": time_ns[rows], "file": files}
            )
            sources[title] = CameraSpec(uri=session.images, timestamps=table, **said)
            taken.add(key)
            job.note(f"{key} -> camera {title}")
    for title, named in _signals(keys).items():
        columns = {name: key for name, key in named.items() if key in keys}
        rows, values = _numbers(records, list(columns.values()))
        if columns and rows:
            cells = {name: values[:, k] for k, name in enumerate(columns)}
            table = job.sidecars.write_table(
                f"{session.name}/{title}.parquet", {"timestamp_ns": time_ns[rows], **cells}
            )
            sources[title] = _spec(title, table, columns, said)
            taken.update(columns.values())
            job.note(f"{', '.join(columns.values())} -> {sources[title].kind} {title}")
    for key in keys:
        if key not in taken and not key.startswith("_"):
            job.note(f"ignored {key}")
    return sources


def _signals(keys: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return source to (column to key) for the numbers that a car may record."""
    speed = next((key for key in keys if key.endswith("/speed")), "speed")
    return {
        **{who: {name: f"{who}/{name}" for name in _CONTROLS} for who in _DRIVERS},
        "imu": _IMU,
        "odometer": {"speed": speed},
    }


def _spec(
    title: str, table: str, columns: Iterable[str], said: Mapping[str, Any]
) -> ImuSpec | CanSpec | StateSpec:
    if title == "imu":  # from the driver of its usual chip: m/s^2 and deg/s
        return ImuSpec(uri=table, units={"gyro": "deg/s"}, **said)
    if title == "odometer":
        return CanSpec(uri=table, signals={"speed": "speed"}, **said)
    groups = {name: [name] for name in columns}
    return StateSpec(uri=table, columns=groups, is_command=True, **said)


def _stamps(session: _Session, rate_hz: float | None, job: Import) -> Stamps:
    """Return the times of the records; if most have one, those without are left out."""
    for key in _TIMES:
        stated = [_time_ns(record.get(key)) for record in session.records]
        known = [time_ns for time_ns in stated if time_ns is not None]
        if 2 * len(known) > len(stated):
            pairs = list(zip(session.records, stated, strict=True))
            lacking = [row for row, (_, time_ns) in enumerate(pairs) if time_ns is None]
            session.damage += [f"record {row} has no {key}" for row in lacking]
            session.records = [record for record, time_ns in pairs if time_ns is not None]
            job.note(f"timestamps are {key}: when each record was written")
            return Stamps(time_ns=np.array(known, np.int64), kind="receive")
    return counted(len(session.records), rate_hz, job)


def _time_ns(value: object) -> int | None:
    """Convert milliseconds, or a date and time as text, to nanoseconds."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**43:
        return value * _NS_PER_MS
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value).replace(tzinfo=UTC)
        except ValueError:
            return None
        since = moment - datetime(1970, 1, 1, tzinfo=UTC)
        return (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000
    return None


def _numbers(records: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> tuple[list[int], Floats]:
    """Return the indices of records that hold a number under each key, and the numbers."""
    rows = [
        row
        for row, record in enumerate(records)
        if all(_is_number(record.get(key)) for key in keys)
    ]
    values = [[float(records[row][key]) for key in keys] for row in rows]
    return rows, np.array(values, np.float64).reshape(len(rows), len(keys))


def _is_number(value: object) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**63)
