"""Read inertial tables: a gyroscope triple, an accelerometer triple, or both."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError, nearest_name
from syncaudit.model import Channel, Finding, ImuSpec, ReasonCode, SignalStream
from syncaudit.model.units import STAMPS_KEY
from syncaudit.readers.columns import STAMPS, Table
from syncaudit.readers.findings import (
    empty_stream,
    hung,
    longest_hang,
    non_finite,
    stream_fields,
    warned,
)
from syncaudit.readers.tables import read_table
from syncaudit.readers.uris import resolve

_TRIPLES = {
    "gyro": (("gyro_x", "gyro_y", "gyro_z"), "rad/s"),
    "accel": (("accel_x", "accel_y", "accel_z"), "m/s^2"),
}
_CANONICAL = (STAMPS, *_TRIPLES["gyro"][0], *_TRIPLES["accel"][0])


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


# An accelerometer always measures gravity, so its magnitude is mostly near 9.8 m/s^2, or 1 g.
# Without gravity, magnitudes near 1 m/s^2 would scatter more than this.
_LIKE_G = (0.8, 1.25)
# Fewest samples that reveal the unit of a sensor, and most samples examined.
_MIN_SHOWING = 50
_MOST_SHOWING = 100_000


def _looks_like_g(values: NDArray[np.float64], uri: str) -> list[Finding]:
    some = values[:: max(1, len(values) // _MOST_SHOWING)]
    some = some[np.isfinite(some).all(axis=1)]
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
