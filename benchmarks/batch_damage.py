"""Ways to damage a file: in its bytes, its text, its columns or its manifest row."""

# ruff: noqa: ARG005  # damages share one signature

from __future__ import annotations

import copy
import io
import json
import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Damage = Callable[[bytes, random.Random], bytes]

_HUGE = ("9223372036854775807", "-9223372036854775808", "1e308", "-1e308", "99999999999999999999")
_ODD = (
    *_HUGE,
    "nan",
    "inf",
    "-inf",
    "",
    "0",
    "-1",
    "0x10",
    "1_000",
    "١٢",
    "NULL",
    '"',
    "a" * 70000,
)


def _flip(data: bytes, rng: random.Random) -> bytes:
    spoiled = bytearray(data)
    for _ in range(rng.choice((1, 3, 30, 300))):
        if spoiled:
            spoiled[rng.randrange(len(spoiled))] ^= 1 << rng.randrange(8)
    return bytes(spoiled)


def _overwrite(data: bytes, rng: random.Random) -> bytes:
    begin = rng.randrange(len(data) or 1)
    noise = rng.choice((bytes(5000), rng.randbytes(5000), b"\xff" * 64))
    return data[:begin] + noise + data[begin + len(noise) :]


def _head(data: bytes, rng: random.Random) -> bytes:
    """Damage the first bytes, which hold lengths and counts."""
    spoiled = bytearray(data)
    for _ in range(rng.choice((1, 2, 8)) if spoiled else 0):
        spoiled[rng.randrange(min(len(spoiled), 96))] = rng.choice((0, 0x7F, 0x80, 0xFF))
    return bytes(spoiled)


BYTES: Mapping[str, Damage] = {
    "cut off": lambda data, rng: data[: rng.randrange(len(data) or 1)],
    "first bytes only": lambda data, rng: data[: rng.randrange(1, 64)],
    "empty": lambda data, rng: b"",
    "bits flipped": _flip,
    "overwritten": _overwrite,
    "wrong header": _head,
    "front lost": lambda data, rng: data[rng.randrange(1, 2000) :],
    "part lost": lambda data, rng: data[: len(data) // 3] + data[len(data) // 3 + 997 :],
    "part doubled": lambda data, rng: data[: len(data) // 2] + data[len(data) // 4 :],
    "noise": lambda data, rng: rng.randbytes(rng.choice((1, 100, 20000))),
    "doubled": lambda data, rng: data + data,
}


def _lines(change: Callable[[list[bytes], random.Random], list[bytes]]) -> Damage:
    return lambda data, rng: b"\n".join(change(data.split(b"\n"), rng))


def _cell(lines: list[bytes], rng: random.Random) -> list[bytes]:
    """Replace one word by something odd."""
    lines = list(lines)
    k = rng.randrange(len(lines))
    for mark in (b",", b" ", b":"):
        if mark in lines[k]:
            words = lines[k].split(mark)
            words[rng.randrange(len(words))] = rng.choice(_ODD).encode()
            lines[k] = mark.join(words)
            return lines
    lines[k] = rng.choice(_ODD).encode()
    return lines


def _all_cells(lines: list[bytes], rng: random.Random) -> list[bytes]:
    odd = rng.choice(_ODD[:12]).encode()
    place = rng.randrange(3)
    changed = [lines[0]]
    for line in lines[1:]:
        words = line.split(b",")
        words[min(place, len(words) - 1)] = odd
        changed.append(b",".join(words))
    return changed


TEXT: Mapping[str, Damage] = {
    "odd value": _lines(_cell),
    "odd column": _lines(_all_cells),
    "header lost": _lines(lambda lines, rng: lines[1:]),
    "header alone": _lines(lambda lines, rng: lines[:1]),
    "lines shuffled": _lines(lambda lines, rng: rng.sample(lines, len(lines))),
    "lines doubled": _lines(lambda lines, rng: [line for line in lines for _ in range(2)]),
    "no UTF-8": lambda data, rng: data.replace(b"e", b"\xe9\xff"),
    "UTF-16": lambda data, rng: data.decode("utf-8", "replace").encode("utf-16"),
    "NUL bytes": lambda data, rng: data.replace(b",", b"\0").replace(b" ", b"\0"),
    "one endless line": lambda data, rng: data.replace(b"\n", b"") * 20,
    "deeply nested": lambda data, rng: b'[{"a":' * 50000,
    "separators": lambda data, rng: data.replace(b",", rng.choice((b";", b"\t", b" ", b",,"))),
}


def _table(change: Callable[[pa.Table, random.Random], pa.Table]) -> Damage:
    def damage(data: bytes, rng: random.Random) -> bytes:
        sink = io.BytesIO()
        pq.write_table(change(pq.read_table(io.BytesIO(data)), rng), sink)
        return sink.getvalue()

    return damage


def _column(name: int | None, make: Callable[[int, random.Random], pa.Array]) -> Damage:
    def change(table: pa.Table, rng: random.Random) -> pa.Table:
        last = table.num_columns - 1
        place = rng.randint(0, last) if name is None else min(name, last)
        return table.set_column(place, table.column_names[place], make(table.num_rows, rng))

    return _table(change)


PARQUET: Mapping[str, Damage] = {
    "texts": _column(None, lambda n, rng: pa.array(["x"] * n)),
    "nulls": _column(None, lambda n, rng: pa.nulls(n)),
    "all NaN": _column(1, lambda n, rng: pa.array(np.full(n, np.nan))),
    "infinite": _column(1, lambda n, rng: pa.array(np.full(n, np.inf))),
    "huge floats": _column(1, lambda n, rng: pa.array(np.full(n, 1e308))),
    "unsigned stamps": _column(0, lambda n, rng: pa.array(np.full(n, 2**64 - 1, np.uint64))),
    "lists": _column(None, lambda n, rng: pa.array([[1.0] * (k % 3) for k in range(n)])),
    "structs": _column(None, lambda n, rng: pa.array([{"a": k} for k in range(n)])),
    "blobs": _column(None, lambda n, rng: pa.array([b"\xff\0"] * n)),
    "decimals": _column(0, lambda n, rng: pa.array(range(n)).cast(pa.decimal128(38, 10))),
    "dates": _column(0, lambda n, rng: pa.array(np.arange(n), pa.timestamp("s", "Asia/Tokyo"))),
    "booleans": _column(None, lambda n, rng: pa.array([True] * n)),
    "no rows": _table(lambda table, rng: table.slice(0, 0)),
    "one row": _table(lambda table, rng: table.slice(0, 1)),
    "same name twice": _table(lambda t, rng: t.append_column(t.column_names[0], t.column(0))),
    "no columns": _table(lambda table, rng: table.select([])),
}


def array_damage(data: bytes, rng: random.Random) -> bytes:
    """Return a NumPy file with a different type or shape."""
    n = np.load(io.BytesIO(data)).shape[0]
    sink = io.BytesIO()
    made = (
        np.array(["x"] * n), np.zeros((n, 2)), np.float64(1.0), np.zeros(0), np.full(n, np.nan),
        np.zeros(n + 1), np.zeros(n, complex), np.zeros(n, "datetime64[ns]"), np.full(n, 1e308),
        np.array([{"a": 1}] * n, dtype=object),
    )  # fmt: skip
    np.save(sink, rng.choice(made), allow_pickle=True)
    return sink.getvalue()


def _set(*path: str, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(row: dict[str, Any]) -> None:
        place = row
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = to

    return change


_CHANGES: tuple[Callable[[dict[str, Any]], None], ...] = (
    _set("clip_id", to=7),
    _set("clip_id", to=""),
    _set("clip_id", to="a\0b/../\n"),
    _set("sources", to=[]),
    _set("sources", to={}),
    _set("sources", "imu", to=None),
    _set("sources", "imu", "kind", to="sonar"),
    _set("sources", "imu", "uri", to=""),
    _set("sources", "imu", "uri", to="a\0b.csv"),
    _set("sources", "imu", "uri", to="x" * 5000),
    _set("sources", "imu", "uri", to="."),
    _set("sources", "imu", "uri", to="nosuch://host/imu.csv"),
    _set("sources", "imu", "uri", to="tar://imu.csv::missing.tar"),
    _set("sources", "imu", "uri", to="**/*"),
    _set("sources", "imu", "uri", to="[.csv"),
    _set("sources", "imu", "uri", to=["imu.csv"]),
    _set("sources", "imu", "columns", to={"gyro_x": "nothing"}),
    _set("sources", "imu", "columns", to={"gyro_x": 3}),
    _set("sources", "imu", "rows", to=[-5, 10**18]),
    _set("sources", "imu", "rows", to=[5, 2]),
    _set("sources", "imu", "stamps", to="gyro_x"),
    _set("sources", "imu", "expected_offset_s", to=1e300),
    _set("sources", "imu", "expected_offset_s", to=float("nan")),
    _set("sources", "imu", "clock", to="\u202e"),
    _set("sources", "imu", "kind", to="state"),
    _set("sources", "imu", "kind", to="events"),
    _set("sources", "imu", "kind", to="camera"),
    _set("sources", "imu", "kind", to="audio"),
    _set("sources", "imu", "stamp_kind", to="guess"),
    _set("sources", "imu", "arrivals", to="imu.csv"),
    _set("sources", "\ud83d", to={"kind": "imu", "uri": "imu.csv"}),
    _set("start_ns", to=2**70),
    _set("start_ns", to=-(2**63)),
    _set("end_ns", to=0),
    _set("end_ns", to=1.5),
    _set("start_ns", to="now"),
    _set("reference", to="nobody"),
    _set("recording_id", to=None),
    _set("recording_id", to={"a": 1}),
    _set("unknown", to=1),
    _set("origin", to=7),
    _set("origin", to={}),
    _set("origin", to={"dataset": "\ud83d", "episode_index": 0}),
    _set("origin", to={"dataset": "a", "episode_index": -1}),
    _set("origin", to={"dataset": "a", "episode_index": 2**70}),
    _set("origin", to={"dataset": "a", "episode_index": 0, "total_episodes": 10**12}),
    _set("origin", to={"dataset": "a", "episode_index": 5, "total_episodes": 2}),
    _set("origin", to={"dataset": "a", "episode_index": 0, "total_episodes": -3}),
    _set("origin", to={"dataset": "a", "episode_index": 1.5}),
)


def _row_damage(change: Callable[[dict[str, Any]], None]) -> Callable[[Mapping[str, Any]], bytes]:
    def damage(row: Mapping[str, Any]) -> bytes:
        changed = copy.deepcopy(dict(row))
        change(changed)
        return json.dumps(changed).encode()

    return damage


ROWS: tuple[Callable[[Mapping[str, Any]], bytes], ...] = (
    *(_row_damage(change) for change in _CHANGES),
    lambda row: b"",
    lambda row: b"null",
    lambda row: b"[]",
    lambda row: b"{",
    lambda row: b"\xff\xfe" + json.dumps(dict(row)).encode("utf-16-le"),
    lambda row: b'{"clip_id": ' * 100_000,
    lambda row: b"1" * 10_000,
    lambda row: json.dumps(dict(row)).encode() + b"\n" + json.dumps(dict(row)).encode(),
    lambda row: json.dumps(dict(row)).encode()[:-9],
    lambda row: json.dumps({**row, "sources": {f"s{k}": row["sources"]["imu"] for k in range(40)}})
    .encode(),
)  # fmt: skip
