"""Read tables of samples: inertial sensors, robot states, and logs of events.

Inertial tables hold a gyroscope triple, an accelerometer triple, or both; tables of robot states
and actions one channel per column or group of columns; tables of instants are event logs, such as
triggers, and arrival times of samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError, nearest_name
from syncaudit.model import (
    Arrivals,
    Channel,
    EventsSpec,
    EventStream,
    Finding,
    ImuSpec,
    ReasonCode,
    SignalStream,
    StateSpec,
    is_usable,
)
from syncaudit.model.units import STAMPS_KEY
from syncaudit.readers.columns import STAMPS, Table
from syncaudit.readers.faults import (
    empty_stream,
    hung,
    longest_hang,
    non_finite,
    stream_fields,
    warned,
)
from syncaudit.readers.tables import read_samples, read_table
from syncaudit.readers.uris import resolve

_TRIPLES = {
    "gyro": (("gyro_x", "gyro_y", "gyro_z"), "rad/s"),
    "accel": (("accel_x", "accel_y", "accel_z"), "m/s^2"),
}
_CANONICAL = (STAMPS, *_TRIPLES["gyro"][0], *_TRIPLES["accel"][0])

# An accelerometer always measures gravity, so its magnitude is mostly near 9.8 m/s^2, or 1 g.
# Without gravity, magnitudes near 1 m/s^2 would scatter more than this.
_LIKE_G = (0.8, 1.25)
# Fewest samples that reveal the unit of a sensor, and most samples examined.
_MIN_SHOWING = 50
_MOST_SHOWING = 100_000

# Columns that count or timestamp rows in common exports and are not state.
_BOOKKEEPING = frozenset(
    {
        STAMPS,
        "receive_ns",
        "publish_ns",
        "timestamp",
        "frame",
        "frame_index",
        "episode_index",
        "index",
        "task_index",
    }
)

_RECEIVE, _PUBLISH = "receive_ns", "publish_ns"


def read_imu(name: str, spec: ImuSpec, base_uri: str) -> SignalStream:
    """Read an inertial table.

    `columns` maps the canonical names to those of the file:
    ``{"gyro_x": "wx", "timestamp_ns": "#time"}``.
    """
    uri = resolve(spec.uri, base_uri)
    actual = {canonical: canonical for canonical in _CANONICAL}
    _check_renames(spec.columns, uri)
    actual.update(spec.columns)
    if spec.stamps is not None:
        actual[STAMPS] = spec.stamps
    table = read_table(
        uri, text_columns=(actual[STAMPS],), rows=spec.rows, columns=tuple(actual.values())
    )
    wanted = _wanted(table, actual, spec.columns)
    # A renamed column must still hold integers; only `stamps` may name one in seconds.
    time_ns = table.stamps(
        actual[STAMPS], may_be_seconds=spec.stamps is not None, unit=spec.units.get(STAMPS_KEY)
    )
    channels: list[Channel] = []
    findings: list[Finding] = list(table.findings)
    if not table.n_rows:
        findings += empty_stream(uri, "inertial samples")
    for place, triple in enumerate(wanted):
        names = [actual[column] for column in _TRIPLES[triple][0]]
        # 100 hours of a fast IMU are gigabytes: drop the columns already read from the table.
        table = table.only({actual[c] for later in wanted[place:] for c in _TRIPLES[later][0]})
        values = np.empty((table.n_rows, len(names)))
        for axis, column in enumerate(names):
            numbers = table.numbers(column, purpose=triple)
            if numbers.ndim != 1:
                raise StreamReadError(
                    f"column '{column}' holds lists, expected one number per row",
                    path=table.uri,
                    hint=f"Name an element in 'columns', such as {column}[0].",
                )
            values[:, axis] = numbers
        findings += non_finite(values, names, uri=uri, first_row=table.first_row)
        if triple == "accel" and triple not in spec.units:
            findings += _looks_like_g(values, uri)
        channels.append(
            Channel(
                name=triple,
                time_ns=time_ns,
                values=values,
                unit=spec.units.get(triple, _TRIPLES[triple][1]),
            )
        )
    hang = longest_hang(time_ns, channels)
    if hang is not None:
        findings.append(hung(f"{uri}: all values", hang[1], f"row {hang[0] + table.first_row}"))
    return SignalStream(
        **stream_fields(name, spec, uri, time_ns, findings),
        channels=tuple(channels),
    )


def _looks_like_g(values: NDArray[np.float64], uri: str) -> list[Finding]:
    some = values[:: max(1, len(values) // _MOST_SHOWING)]
    some = some[is_usable(some).all(axis=1)]
    if len(some) < _MIN_SHOWING:
        return []
    low, size, high = np.quantile(np.linalg.norm(some, axis=1), (0.25, 0.5, 0.75))
    if not _LIKE_G[0] <= low <= high <= _LIKE_G[1]:
        return []
    return [
        warned(
            ReasonCode.MANIFEST,
            f"{uri}: accel looks like g, not m/s^2: its median size is {size:.3g}. If so, "
            'state it in the manifest: "units": {"accel": "g"}.',
        )
    ]


def _check_renames(columns: Mapping[str, str], uri: str) -> None:
    for key, value in columns.items():
        if key in _CANONICAL:
            continue
        if value in _CANONICAL:
            hint = f"Swap them: 'columns' maps ours to yours, {{'{value}': '{key}'}}."
        else:
            hint = nearest_name(key, _CANONICAL)
        raise StreamReadError(
            f"'columns' renames '{key}', which is not an inertial column",
            code="manifest",
            path=uri,
            hint=hint,
        )


def _wanted(table: Table, actual: Mapping[str, str], renames: Mapping[str, str]) -> list[str]:
    """Return the triples that the table holds; reject partial triples and tables without any."""
    table.require([actual[STAMPS]], purpose="timestamps in integer nanoseconds")
    wanted: list[str] = []
    for triple, (columns, unit) in _TRIPLES.items():
        is_there = [table.has(actual[column]) for column in columns]
        if any(is_there) or any(column in renames for column in columns):
            table.require(
                [actual[column] for column in columns], purpose=f"{triple} needs x, y, z in {unit}"
            )
            wanted.append(triple)
    if not wanted:
        table.require(
            [actual["gyro_x"]],
            purpose="neither gyro_x/y/z nor accel_x/y/z is there",
            hint="Name them in the manifest: 'columns': {'gyro_x': 'your name', ...}.",
        )
    return wanted


def read_state(name: str, spec: StateSpec, base_uri: str) -> SignalStream:
    """Read a state table: each group of `spec.columns` is a channel.

    Without `columns` every column but timestamps and row counters is a channel of its own. A
    Parquet column of lists is a channel of as many dimensions.
    """
    uri = resolve(spec.uri, base_uri)
    listed = None if spec.columns is None else list(chain.from_iterable(spec.columns.values()))
    table, time_ns, findings = read_samples(spec, base_uri, listed, what="state samples")
    groups: Mapping[str, Sequence[str]]
    if spec.columns is not None:
        groups = spec.columns
    else:
        groups = {
            column: [column] for column in table.names if column not in {*_BOOKKEEPING, spec.stamps}
        }
    if not any(groups.values()):
        raise StreamReadError(
            f"has no state column, only: {', '.join(table.names)}",
            path=uri,
            hint="Export one column per channel beside 'timestamp_ns'.",
        )
    channels: list[Channel] = []
    for group, columns in groups.items():
        if not columns:
            raise StreamReadError(
                f"the group '{group}' of 'columns' names no column",
                code="manifest",
                path=uri,
                hint="List its columns, or leave the group out.",
            )
        parts = [table.numbers(column, purpose=f"group '{group}'") for column in columns]
        values = np.column_stack(parts)
        names = [
            column
            for column, part in zip(columns, parts, strict=True)
            for _ in range(1 if part.ndim == 1 else part.shape[1])
        ]
        findings += non_finite(values, names, uri=uri, first_row=table.first_row)
        channels.append(Channel(name=group, time_ns=time_ns, values=values))
    return SignalStream(
        **stream_fields(name, spec, uri, time_ns, findings),
        channels=tuple(channels),
        is_command=spec.is_command,
        is_rate=spec.is_rate,
    )


def read_events(name: str, spec: EventsSpec, base_uri: str) -> EventStream:
    """Read the column ``timestamp_ns`` of a CSV or Parquet table: instants without values."""
    _, time_ns, findings = read_samples(spec, base_uri, what="events")
    return EventStream(**stream_fields(name, spec, resolve(spec.uri, base_uri), time_ns, findings))


def read_arrivals(uri: str, base_uri: str) -> Arrivals:
    """Read a table with ``timestamp_ns``, ``receive_ns`` and, where known, ``publish_ns``."""
    columns = (STAMPS, _RECEIVE, _PUBLISH)
    table = read_table(resolve(uri, base_uri), text_columns=columns, columns=columns)
    return Arrivals(
        capture_ns=table.stamps(),
        receive_ns=table.stamps(_RECEIVE, purpose="times of arrival in integer nanoseconds"),
        publish_ns=table.stamps(_PUBLISH) if _PUBLISH in table.names else None,
    )
