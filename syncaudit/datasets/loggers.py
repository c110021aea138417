"""Recognise logs of car loggers by their header, and turn them into sources with units."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from syncaudit.datasets.protocol import Sidecars
from syncaudit.datasets.source import Source
from syncaudit.errors import ManifestError, one_line
from syncaudit.model.arrays import Ints
from syncaudit.model.units import STAMPS_KEY, units_of

_AXES = "xyz"
# Lines before which samples begin, after names of tracks and drivers, header, units, devices.
_MOST_LINES = 60
_TOP_BYTES = 1 << 16
_MOST_BYTES = 1 << 30
_DELIMITERS = ",;\t"
_UNIX_S = 1e9  # 2001: earlier than any log, and longer than any recording
_ZONE = re.compile(r"(Z|[+-]\d{2}:?\d{2})$")
_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Logger:
    """Columns of one logger: for each role its possible names, of which the first is used."""

    name: str
    signature: frozenset[str]  # columns that all of its exports have
    stamps: str
    gyro: tuple[str, ...] = ()  # column names of the three axes, separated by "/"
    accel: tuple[str, ...] = ()
    signals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)  # used if no line states them


_LOGGERS = (
    _Logger(
        name="RaceBox",
        signature=frozenset({"Time", "Latitude", "Longitude", "Lap"}),
        stamps="Time",
        gyro=("GyroX/GyroY/GyroZ",),
        accel=("GForceX/GForceY/GForceZ", "GForceX (g)/GForceY (g)/GForceZ (g)", "X/Y/Z"),
        signals={"speed": ("KPH", "MPH", "Speed (m/s)", "Speed (km/h)")},
        units={
            "gyro": "deg/s",
            "accel": "g",
            "KPH": "km/h",
            "MPH": "mph",
            "Speed (m/s)": "m/s",
            "Speed (km/h)": "km/h",
        },
    ),
    _Logger(
        name="RaceChrono",
        signature=frozenset({"timestamp", "fragment_id", "elapsed_time"}),
        stamps="timestamp",
        gyro=("x_rate_of_rotation/y_rate_of_rotation/z_rate_of_rotation",),
        accel=("x_acc/y_acc/z_acc",),
        signals={"speed": ("speed",)},
        units={"gyro": "deg/s", "accel": "g", "speed": "m/s"},
    ),
    _Logger(
        name="AiM",
        signature=frozenset({"Time", "GPS Speed"}),
        stamps="Time",
        gyro=("RollRate/PitchRate/YawRate",),
        accel=("InlineAcc/LateralAcc/VerticalAcc",),
        signals={"speed": ("GPS Speed",)},
        units={"gyro": "deg/s", "accel": "g", "GPS Speed": "km/h"},
    ),
)


def logger_sources(
    source: Source, name: str, sidecars: Sidecars, note: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """Return the sources of a file that a known logger wrote; {} if it is not one.

    They are rows of a manifest: ``NAME`` for the inertial sensors, ``NAME_speed`` for the speed, by
    the name of the file. Those that count from their own start are marked (`is_start_assumed`).
    `sidecars` receives the table if there are lines before its header, or blank cells.
    """
    try:
        found = _Log.read(source, name)
    except pa.ArrowException as error:
        note(f"left out {name}: it is not an intact log ({one_line(error)}). Export it again.")
        return {}
    if found is None:
        return {}
    stem = name.rpartition("/")[2].rpartition(".")[0]
    rows: dict[str, dict[str, Any]] = {}
    if triples := found.triples():
        columns = {
            f"{triple}_{axis}": column
            for triple, names in triples.items()
            for axis, column in zip(_AXES, names, strict=True)
        }
        units = {triple: found.unit(names[0], triple) or "" for triple, names in triples.items()}
        rows[stem] = {"kind": "imu", "columns": columns} | found.place(
            name, list(columns.values()), sidecars, units
        )
    for role, names in found.logger.signals.items():
        column = next((each for each in names if found.unit(each, role)), None)
        if column is not None:
            rows[f"{stem}_{role}"] = {"kind": "can", "signals": {role: column}} | found.place(
                name, [column], sidecars, {role: found.unit(column, role) or ""}
            )
    for title, row in rows.items():
        row |= {"clock": stem} | ({} if found.is_dated() else {"is_start_assumed": True})
        note(f"{found.logger.name} log -> {row['kind']} {title}")
    return rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Log:
    """One log: its columns by name (the first if a name repeats), and their stated units."""

    logger: _Logger
    names: Sequence[str]
    stated: Mapping[str, str]  # units from the line below the header, lower case
    samples: pa.Table  # strings
    is_plain: bool  # the header is the first line, and the samples come next

    @classmethod
    def read(cls, source: Source, name: str) -> _Log | None:
        """Return the log of a known logger; None if the file is something else."""
        try:
            with source.open(name) as file:
                data = file.read(_TOP_BYTES)
                top, *_ = _top(data)
                delimiter = max(_DELIMITERS, key="".join(top).count)
                lines = csv.reader(top, delimiter=delimiter)
                cells = [[cell.strip() for cell in line] for line in lines]
                at, logger = _known(cells)
                if logger is None:
                    return None
                data += file.read(_MOST_BYTES)
        except (ManifestError, OSError, csv.Error):
            return None
        top, rest = _top(data)
        names, first = cells[at], at + 1
        while first < len(cells) and not _is_sample(cells[first]):
            first += 1
        units = cells[at + 1] if first > at + 1 else []
        return cls(
            logger=logger,
            names=names,
            stated=dict(reversed([(k, v.lower()) for k, v in zip(names, units, strict=False)])),
            samples=_texts("\n".join([*top[first:], rest]), names, delimiter),
            is_plain=first == 1 and len(set(names)) == len(names),
        )

    def triples(self) -> dict[str, list[str]]:
        """Return the columns of the gyroscope and of the accelerometer, if present."""
        found = {}
        for triple, known in (("gyro", self.logger.gyro), ("accel", self.logger.accel)):
            axes = [names.split("/") for names in known]
            own = next((names for names in axes if all(self.unit(n, triple) for n in names)), None)
            if own is not None:
                found[triple] = own
        return found

    def unit(self, column: str, channel: str) -> str | None:
        """Return the unit of a column: as the log states it, else as its logger writes it.

        None if there is no such column, or its unit is unknown.
        """
        stated = self.stated.get(column)
        if column not in self.names:
            return None
        if stated:
            return stated if stated in units_of(channel) else None
        return self.logger.units.get(column) or self.logger.units.get(channel)

    def is_dated(self) -> bool:
        """Return whether its times are UTC, not seconds since its start or dates in some zone."""
        times = self.samples.column(self.logger.stamps)
        first = str(times[0]) if len(times) else ""
        return first.endswith("Z") or _number(first) > _UNIX_S

    def place(
        self, name: str, columns: list[str], sidecars: Sidecars, units: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return the location of some columns' samples: the log itself if it is a plain table."""
        stamps = self.logger.stamps
        texts = self.samples.select([stamps, *columns])
        whole = texts.drop_null()
        dated = whole.num_rows > 0 and bool(_DATE.match(whole.column(0)[0].as_py()))
        if self.is_plain and whole.num_rows == texts.num_rows and not dated:
            return {"uri": name, "stamps": stamps, "units": {STAMPS_KEY: "s", **units}}
        table: dict[str, NDArray[Any]] = {
            column: np.array([_number(cell) for cell in whole.column(column).to_pylist()])
            for column in columns
        }
        times = whole.column(0).to_pylist()
        table["timestamp_ns"] = _dates_ns(times) if dated else _seconds_ns(times)
        stem = name.rpartition(".")[0]
        return {
            "uri": sidecars.write_table(f"{stem}_{columns[0]}.parquet", table),
            "units": dict(units),
        }


def _top(data: bytes) -> tuple[list[str], str]:
    """Return the first lines of a file, and the rest."""
    lines = data.decode("utf-8-sig", "replace").split("\n", _MOST_LINES)
    return lines[:_MOST_LINES], "".join(lines[_MOST_LINES:])


def _known(lines: Sequence[Sequence[str]]) -> tuple[int, _Logger | None]:
    """Return the index of the header line of a known logger, and the logger."""
    for at, names in enumerate(lines):
        for logger in _LOGGERS:
            if logger.signature <= set(names):
                return at, logger
    return -1, None


def _is_sample(cells: Sequence[str]) -> bool:
    """Return whether a line holds samples, not units or devices, by its share of numbers."""
    n_numbers = sum(math.isfinite(_number(cell)) for cell in cells)
    return n_numbers > sum(map(bool, cells)) / 2


def _texts(text: str, names: Sequence[str], delimiter: str) -> pa.Table:
    """Return the samples as strings; of columns with the same name the first keeps it."""
    from pyarrow import csv as arrow_csv

    unique = [name if name not in names[:k] else f"{name}\n{k}" for k, name in enumerate(names)]
    if not text.strip():
        return pa.table({name: pa.array([], pa.string()) for name in unique})
    return arrow_csv.read_csv(
        pa.BufferReader(text.encode()),
        read_options=arrow_csv.ReadOptions(column_names=unique, use_threads=False),
        parse_options=arrow_csv.ParseOptions(
            delimiter=delimiter, invalid_row_handler=lambda _: "skip"
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(unique, pa.string()), strings_can_be_null=True
        ),
    )


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")


def _seconds_ns(times: Sequence[str]) -> Ints:
    """Return decimal seconds as exact nanoseconds; invalid ones become the int64 minimum."""
    return np.array([_nanoseconds(text) for text in times], dtype=np.int64)


def _nanoseconds(text: str) -> int:
    try:
        return int(Decimal(text).scaleb(9))
    except ArithmeticError:
        return np.iinfo(np.int64).min


def _dates_ns(times: Sequence[str]) -> Ints:
    """Return dates as nanoseconds since 1970, ignoring their zone, which is constant."""
    plain = [_ZONE.sub("", text) for text in times]
    try:
        return np.array(plain, dtype="datetime64[ns]").astype(np.int64)
    except ValueError:
        return _seconds_ns(times)
