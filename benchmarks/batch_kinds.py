"""Odd but intact files, and format-specific damage: robot states, videos, boxes, rules."""

# ruff: noqa: ARG001, ARG005  # damages share one signature

from __future__ import annotations

import io
import json
import random
import struct
from collections.abc import Callable, Mapping

import av
import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from batch_clips import START_NS

Damage = Callable[[bytes, random.Random], bytes]

_BOXES = (b"stsz", b"stco", b"stsc", b"stts", b"ctts", b"stss", b"elst", b"mdhd", b"mvhd", b"tkhd")
_ODD_WORDS = (0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x10000, 0x01000000)


def _box(data: bytes, rng: random.Random) -> bytes:
    """Put an odd number into a box of the movie: its size, its count or an entry."""
    spoiled = bytearray(data)
    for _ in range(rng.choice((1, 1, 3))):
        at = data.find(rng.choice(_BOXES))
        if at >= 4:
            place = at + rng.choice((-4, 4, 8, 12, 16, 20, 24))
            spoiled[place : place + 4] = struct.pack(">I", rng.choice(_ODD_WORDS))
    return bytes(spoiled)


def _renamed_box(data: bytes, rng: random.Random) -> bytes:
    return data.replace(rng.choice(_BOXES), b"free")


BOXES: Mapping[str, Damage] = {
    **{f"box {k}": _box for k in range(6)},
    "box lost": _renamed_box,
}


def _state(make: Callable[[int, np.random.Generator], dict[str, np.ndarray]]) -> Damage:
    """Rewrite a state table; `make` receives the number of rows."""

    def damage(data: bytes, rng: random.Random) -> bytes:
        table = pq.read_table(io.BytesIO(data))
        columns = make(table.num_rows, np.random.default_rng(rng.randrange(2**32)))
        n = len(next(iter(columns.values())))
        stamps = table.column("timestamp_ns")[:n]
        sink = io.BytesIO()
        pq.write_table(
            pa.table({"timestamp_ns": stamps} | {k: pa.array(v) for k, v in columns.items()}), sink
        )
        return sink.getvalue()

    return damage


def _walk(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.cumsum(rng.normal(size=n)) * 1e-2


STATES: Mapping[str, Damage] = {
    "constant state": _state(lambda n, rng: {"j": np.full(n, rng.choice([0.0, 1e9, -1e-300]))}),
    "state all NaN": _state(lambda n, rng: {"j": np.full(n, np.nan)}),
    "state half NaN": _state(
        lambda n, rng: {"j": np.where(rng.random(n) < 0.5, np.nan, _walk(n, rng))}
    ),
    "huge state": _state(lambda n, rng: {"j": _walk(n, rng) * 10.0 ** rng.choice([25, 40, 305])}),
    "tiny state": _state(lambda n, rng: {"j": _walk(n, rng) * 10.0 ** -rng.choice([30, 200, 310])}),
    "one row of state": _state(lambda n, rng: {"j": np.zeros(1)}),
    "few rows of state": _state(lambda n, rng: {"j": _walk(int(rng.integers(2, 12)), rng)}),
    "1000 columns": _state(lambda n, rng: {f"j{k}": _walk(n, rng) for k in range(1000)}),
    "1000 constant columns": _state(lambda n, rng: {f"j{k}": np.full(n, k) for k in range(1000)}),
    "same column 300 times": _state(
        lambda n, rng: dict.fromkeys(map(str, range(300)), _walk(n, rng))
    ),
    "one spike": _state(lambda n, rng: {"j": np.eye(1, n, n // 2)[0] * 1e29}),
    "integers at the end": _state(lambda n, rng: {"j": rng.choice([2**63 - 1, -(2**63)], size=n)}),
    "bits": _state(lambda n, rng: {"j": rng.integers(0, 2, n).astype(bool)}),
    "any float": _state(lambda n, rng: {"j": rng.integers(0, 2**63, n).view(np.float64)}),
}


def _video(size_px: tuple[int, int], n_frames: int, *, codec: str = "libx264") -> Damage:
    def damage(data: bytes, rng: random.Random) -> bytes:
        sink = io.BytesIO()
        noise = np.random.default_rng(rng.randrange(2**32))
        with av.open(sink, "w", format="mp4") as container:
            stream = container.add_stream(codec, rate=30)
            stream.width, stream.height, stream.pix_fmt = *size_px, "yuv420p"
            for _ in range(n_frames):
                frame = noise.integers(0, 255, (size_px[1], size_px[0], 3), np.uint8)
                container.mux(stream.encode(av.VideoFrame.from_ndarray(frame)))
            container.mux(stream.encode(None))
        return sink.getvalue()

    return damage


VIDEOS: Mapping[str, Damage] = {
    "2x2 video": _video((2, 2), 120),
    "16x2 video": _video((16, 2), 120),
    "one frame": _video((160, 120), 1),
    "two frames": _video((160, 120), 2),
    "one frame of 2x2": _video((2, 2), 1),
    "120 frames of noise": _video((64, 48), 120),
    "120 frames of MPEG-4": _video((32, 16), 120, codec="mpeg4"),
    # Two movies in a row: the second has a different size.
    "two sizes": lambda data, rng: data + _video((64, 48), 60)(data, rng),
}


def _picture(shape: tuple[int, ...], suffix: str = ".png", dtype: str = "uint8") -> Damage:
    def damage(data: bytes, rng: random.Random) -> bytes:
        noise = np.random.default_rng(rng.randrange(2**32)).integers(0, 255, shape)
        return cv2.imencode(suffix, noise.astype(dtype))[1].tobytes()

    return damage


PICTURES: Mapping[str, Damage] = {
    "1x1 image": _picture((1, 1)),
    "2x2 image": _picture((2, 2, 3)),
    "1x4000 image": _picture((1, 4000)),
    "other size": _picture((96, 128, 3), ".jpg"),
    "16 bits": _picture((48, 64), dtype="uint16"),
    "with alpha": _picture((48, 64, 4)),
    "a bitmap": _picture((48, 64, 3), ".bmp"),
}


def _stored(change: Callable[[list[bytes | None], random.Random], None]) -> Damage:
    """Change the images stored in a table."""

    def damage(data: bytes, rng: random.Random) -> bytes:
        table = pq.read_table(io.BytesIO(data))
        rows = table.column("still").to_pylist()
        pictures: list[bytes | None] = [row["bytes"] for row in rows]
        change(pictures, rng)
        column = pa.array(
            [{"bytes": each, "path": "x.png"} for each in pictures],
            table.schema.field("still").type,
        )
        sink = io.BytesIO()
        place = table.column_names.index("still")
        pq.write_table(table.set_column(place, "still", column), sink)
        return sink.getvalue()

    return damage


def _each(change: Damage, share: float) -> Damage:
    def damage(pictures: list[bytes | None], rng: random.Random) -> None:
        for k, frame in enumerate(pictures):
            if rng.random() < share:
                pictures[k] = change(frame or b"", rng)

    return _stored(damage)


def _lost(pictures: list[bytes | None], rng: random.Random) -> None:
    pictures[rng.randrange(len(pictures))] = None


STORED: Mapping[str, Damage] = {
    "an image lost": _stored(_lost),
    "an image cut off": _each(lambda data, rng: data[: rng.randrange(len(data))], 0.1),
    "changing sizes": _each(_picture((20, 30, 3)), 0.5),
    "all 2x2": _each(_picture((2, 2)), 1.0),
    "all 1x1": _each(_picture((1, 1)), 1.0),
    "all 16 bits": _each(_picture((48, 64), dtype="uint16"), 1.0),
    "all empty": _each(lambda data, rng: b"", 1.0),
    "all noise": _each(lambda data, rng: rng.randbytes(300), 1.0),
}


def wave_of_floats(data: bytes, rng: random.Random) -> bytes:
    """Return a WAV of float32 in which some samples are NaN, infinite, huge or tiny."""
    n = 4 * 16_000
    noise = np.random.default_rng(rng.randrange(2**32))
    samples = (0.1 * noise.standard_normal(n)).astype("<f4")
    odd = rng.choice((np.nan, np.inf, 3.4e38, 1e30, 1e20, -1e15, 1e-44))
    at = rng.randrange(n)
    samples[at : at + rng.choice((1, 100, n))] = odd
    size = samples.nbytes
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + size, b"WAVE", b"fmt ", 16, 3, 1, 16_000,
                       64_000, 4, 32, b"data", size)  # fmt: skip
    return head + samples.tobytes()


def _rules(content: object) -> tuple[str, bytes]:
    return ".json", json.dumps(content).encode()


_MATCH = {"match": "*.mp4", "kind": "camera", "name": "{stem}"}
RULES: tuple[tuple[str, bytes], ...] = (
    _rules({"source": [_MATCH]}),
    _rules([]),
    _rules(None),
    _rules({"source": {}}),
    _rules({"source": [7]}),
    _rules({"source": [[]]}),
    _rules({"sources": [_MATCH]}),
    *(
        _rules({"source": [_MATCH | change]})
        for change in (
            {"match": 7}, {"match": ""}, {"match": []}, {"match": [[]]}, {"match": "["},
            {"match": "**/*"}, {"match": "../*"}, {"match": "/*"}, {"match": "a\0b"},
            {"kind": "sonar"}, {"kind": None}, {"name": "{nothing}"}, {"name": "{"}, {"name": ""},
            {"name": "{stem.__class__}"}, {"name": "{0}"}, {"name": "{stem:>999999}"},
            {"name": 7}, {"timestamps": "{stem}.csv"}, {"timestamps": [7]}, {"timestamps": ["{"]},
            {"timestamps": ["\0"]}, {"line_delay_s": "x"}, {"line_delay_s": 1e400},
            {"uri": "elsewhere.mp4"}, {"kind": "can", "signals": 7}, {"kind": "can", "dbc": []},
            {"clock": {"a": 1}}, {"start_ns": 2**70}, {"stamps": ""}, {"columns": 7},
        )
    ),
    (".json", b"[" * 100_000),
    (".json", b"\xff\xfe{}"),
    (".toml", b"source = " + b"[" * 100_000),
    (".toml", b"a." * 100_000 + b"b = 1"),
    (".toml", b"[[source]]\nmatch = 1979-05-27T07:32:00\nkind = 'camera'\n"),
    (".toml", b"[[source]]\nmatch = '*.csv'\nkind = 'imu'\nexpected_offset_s = nan\n"),
    (".toml", b"\0"),
    (".toml", b""),
)  # fmt: skip


def stills(n: int) -> pa.Table:
    """Return a table of timestamps and images, as LeRobot stores them."""
    rng = np.random.default_rng(5)
    pictures = [
        {
            "bytes": cv2.imencode(".png", rng.integers(0, 255, (48, 64, 3), np.uint8))[1].tobytes(),
            "path": f"{k}.png",
        }
        for k in range(n)
    ]
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    stamps = START_NS + np.arange(n) * 10**8
    return pa.table({"timestamp_ns": stamps, "still": pa.array(pictures, kind)})
