"""Hostile files of clips: several clips per run, each with one untrusted file or number."""

# ruff: noqa: E501, S105, SIM102  # tables of cases read best on a line

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tests_on_path  # noqa: F401  # before testkit

GIB = 2**30
# Clips per run: each may take 50 s, the run 60 s per clip.
N_TOGETHER = 6
_IMU = "timestamp_ns,gyro_x,gyro_y,gyro_z\n" + "".join(
    f"{1_000_000_000 + k * 10_000_000},{k % 7},{k % 5},{k % 3}\n" for k in range(400)
)
_STAMPS = "timestamp_ns\n" + "".join(f"{1_000_000_000 + k * 33_000_000}\n" for k in range(40))
_DBC = 'VERSION ""\nBU_: A\nBO_ 1 M: 8 A\n SG_ Speed {} "" A\n'

Write = Callable[[Path], object]
# (name, function that writes into the folder of the clip, the hostile source)
Hostile = tuple[str, Write, Mapping[str, Any]]


def _text(name: str, text: str | bytes) -> Write:
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return lambda folder: (folder / name).write_bytes(data)


def _nothing(folder: Path) -> None:
    """Write nothing."""


def _sparse(name: str, head: bytes = b"", size: int = 20 * GIB) -> Write:
    def write(folder: Path) -> None:
        with (folder / name).open("wb") as file:
            file.write(head)
            file.truncate(size)

    return write


def _both(*writes: Write) -> Write:
    return lambda folder: [write(folder) for write in writes]


def _odd_numbers() -> Iterator[Hostile]:
    camera = {"kind": "camera", "uri": "cam.mp4", "start_ns": 1_000_000_000}
    for key, value in (
        ("fov_deg", 179.999999), ("focal_px", 1e-300), ("focal_px", 1e300), ("stream", 10**9),
        ("expected_offset_s", 1e300), ("expected_offset_s", -1e9), ("line_delay_s", 0.999),
        ("exposure_s", 1e-300), ("start_ns", 2**63 - 1), ("start_ns", -(2**63)),
        ("pts_ns", [-(2**63), 2**63 - 1]), ("pts_ns", [2**62, 2**63 - 1]), ("pts_ns", [0, 10**30]),
        ("rows", [0, 2**62]), ("rows", [2**62, 2**63]), ("stream", 2**31), ("stream", 2**70),
    ):  # fmt: skip
        yield f"camera {key} {value}", _video, camera | {key: value}
    bent = {"focal_px": 500.0, "distortion": {"model": "fisheye", "k": [1e308, -1e308, 1e308, 0]}}
    yield "camera distortion", _video, camera | bent
    imu = {"kind": "imu", "uri": "imu2.csv"}
    for key, value in (
        ("expected_offset_s", 1e308), ("rows", [0, 2**63 - 1]), ("rows", [10**18, 10**18 + 1]),
        ("stamps", "gyro_x"), ("clock", "imu"), ("columns", {"gyro_x": "gyro_x[99999999999]"}),
        ("columns", {"gyro_x": "timestamp_ns"}), ("rows", [0, 10**30]),
    ):  # fmt: skip
        yield f"imu {key} {value}", _text("imu2.csv", _IMU), imu | {key: value}


def _video(folder: Path) -> None:
    from testkit.data_sets.lerobot_data import video

    video(folder / "cam.mp4", list(range(40, 80)))


def _tables() -> Iterator[Hostile]:
    def imu(uri: str) -> Mapping[str, Any]:
        return {"kind": "imu", "uri": uri}

    for suffix in ("csv", "parquet", "npy"):
        yield f"20 GiB of nothing .{suffix}", _sparse(f"x.{suffix}"), imu(f"x.{suffix}")
    yield "csv of one line", _text("x.csv", b"1" * 60_000_000), imu("x.csv")
    yield "csv of a million columns", _text("x.csv", ",".join(map(str, range(10**6)))), imu("x.csv")
    yield "csv with a bomb of quotes", _text("x.csv", '"' * 20_000_001), imu("x.csv")
    head = "timestamp_ns,gyro_x,gyro_y,gyro_z\n"
    for cell in ("9" * 400, "nan", "1e400", "0x1", "-0", "9223372036854775807", "\ud83d", "\0"):
        rows = "".join(f"{k},{cell},{cell},{cell}\n" for k in range(50))
        yield f"csv cell {cell[:9]!r}", _text("x.csv", head + rows), imu("x.csv")
        rows = "".join(f"{cell},1,2,3\n" for _ in range(50))
        yield f"csv stamp {cell[:9]!r}", _text("x.csv", head + rows), imu("x.csv")
    far = "".join(f"{(k % 2) * (2**63 - 1)},1,2,3\n" for k in range(50))
    yield "csv stamps from end to end", _text("x.csv", head + far), imu("x.csv")

    def packed(folder: Path) -> None:
        n = 50_000_000  # 1.6 GB of numbers in a few kilobytes
        zeros = pa.array(np.zeros(n // 50))
        part = pa.table(dict.fromkeys(("gyro_x", "gyro_y", "gyro_z"), zeros) | {
            "timestamp_ns": pa.array(np.zeros(n // 50, np.int64))})  # fmt: skip
        with pq.ParquetWriter(folder / "x.parquet", part.schema, compression="zstd") as writer:
            for _ in range(50):
                writer.write_table(part)

    yield "parquet bomb", packed, imu("x.parquet")

    def claims(folder: Path) -> None:
        header = "{'descr': '<i8', 'fortran_order': False, 'shape': (999999999999999,), }"
        (folder / "gyro").mkdir()
        for name in ("timestamp_ns", "gyro_x"):
            body = header.ljust(117) + "\n"
            (folder / "gyro" / f"{name}.npy").write_bytes(
                b"\x93NUMPY\1\0" + struct.pack("<H", len(body)) + body.encode()
            )

    yield "npy that claims 10^15", claims, imu("gyro")
    yield "npy of objects", _text(
        "x.npy", b"\x93NUMPY\1\0" + struct.pack("<H", 118)
        + b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(117) + b"\ncos\nsystem\n"
    ), imu("x.npy")  # fmt: skip
    yield "fifo", lambda folder: os.mkfifo(folder / "x.csv"), imu("x.csv")
    for place in ("/dev/zero", "/dev/stdin", "/proc/self/mem", "/proc/kmsg", "/", "/etc/shadow",
                  "..", "x.csv/", "**/*", "/dev/../dev/zero"):  # fmt: skip
        yield f"imu {place}", _nothing, imu(place)
    for uri in ("webhdfs://127.0.0.1:9/a.csv", "ftp://127.0.0.1:9/a.csv", "reference://a.csv",
                "simplecache::file:///etc/passwd", "filecache::/etc/passwd", "ssh://127.0.0.1/a.csv",
                "http://127.0.0.1:9/a.csv", "tar://a.csv::imu.csv", "zip://a.csv::imu.csv",
                "file:///etc/passwd", "github://a:b@c/d", "jlab://127.0.0.1/a", "dask::s3://a/b"):  # fmt: skip
        yield f"imu {uri}", _nothing, imu(uri)


def _outside() -> Iterator[Hostile]:
    secret = "../../outside/secret.txt"
    for source in (
        {"kind": "imu", "uri": secret}, {"kind": "can", "uri": secret},
        {"kind": "can", "uri": "c.log", "dbc": secret, "signals": {"speed": "Speed"}},
        {"kind": "events", "uri": secret}, {"kind": "state", "uri": secret},
        {"kind": "audio", "uri": secret, "start_ns": 1}, {"kind": "camera", "uri": secret},
        {"kind": "camera", "uri": "cam.mp4", "timestamps": secret},
        {"kind": "imu", "uri": "imu2.csv", "arrivals": secret},
        {"kind": "imu", "uri": secret, "stamps": "x"},
    ):  # fmt: skip
        files = _both(_video, _text("imu2.csv", _IMU), _text("c.log", "(1.0) can0 001#00\n"))
        yield f"outside {json.dumps(source)}", files, source
    yield (
        "outside by a link",
        lambda folder: (folder / "l.csv").symlink_to(folder.parent.parent / "outside/secret.txt"),
        {"kind": "imu", "uri": "l.csv"},
    )


def _pictures() -> Iterator[Hostile]:
    def named(target: str) -> Hostile:
        def write(folder: Path) -> None:
            (folder / "images").mkdir()
            os.mkfifo(folder / "images" / "fifo.png")
            with (folder / "images" / "vast.png").open("wb") as file:
                file.truncate(20 * GIB)
            rows = "".join(f"{10**9 + k * 33_000_000},{target}\n" for k in range(9))
            (folder / "t.csv").write_text("timestamp_ns,file\n" + rows)

        source = {"kind": "camera", "uri": "images", "timestamps": "t.csv"}
        return f"image {target}", write, source

    for target in ("fifo.png", "vast.png", "/dev/zero", "/proc/self/mem", "../../../outside/secret.txt",
                   "..", "", "http://127.0.0.1:9/a.png", "a\0b", "x" * 5000):  # fmt: skip
        yield named(target)

    def bomb(folder: Path) -> None:
        size = 30_000
        packer = zlib.compressobj(9)
        data = b"".join(packer.compress(bytes(size * 3 + 1)) for _ in range(size)) + packer.flush()
        head = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)

        def chunk(kind: bytes, body: bytes) -> bytes:
            check = struct.pack(">I", zlib.crc32(kind + body))
            return struct.pack(">I", len(body)) + kind + body + check

        (folder / "images").mkdir()
        (folder / "images" / "0.png").write_bytes(
            b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
        )
        (folder / "t.csv").write_text("timestamp_ns\n1000000000\n")

    yield "png bomb", bomb, {"kind": "camera", "uri": "images", "timestamps": "t.csv"}
    for head in ("ffconcat version 1.0\nfile /etc/passwd\n", "#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",
                 "ffconcat version 1.0\nfile ../../outside/secret.txt\n", "<MPD></MPD>", "#EXTM3U\n" * 9,
                 "[playlist]\nFile1=/etc/passwd\n", "v=0\no=- 0 0 IN IP4 127.0.0.1\n",
                 "ffconcat version 1.0\nfile http://127.0.0.1:9/a.mp4\n"):  # fmt: skip
        source = {"kind": "camera", "uri": "cam.mp4", "start_ns": 10**9}
        yield f"playlist {head[:24]!r}", _text("cam.mp4", head), source
        yield (
            f"sound {head[:24]!r}",
            _text("a.mp3", head),
            {"kind": "audio", "uri": "a.mp3", "start_ns": 1},
        )
    source = {"kind": "camera", "uri": "cam.mp4", "timestamps": "t.csv"}
    stamps = _text("t.csv", _STAMPS)
    boxes = struct.pack(">I4s4sI", 16, b"ftyp", b"isom", 0)
    yield "20 GiB of nothing .mp4", _both(stamps, _sparse("cam.mp4")), source
    yield "mp4 of nothing", _both(stamps, _sparse("cam.mp4", boxes)), source
    for kind in (b"stsz", b"stts", b"ctts", b"stco", b"stsc", b"elst"):

        def count(folder: Path, kind: bytes = kind) -> None:
            _video(folder)
            data = bytearray((folder / "cam.mp4").read_bytes())
            at = data.find(kind)
            if at > 0:
                data[at + 8 : at + 16] = b"\xff" * 8
            (folder / "cam.mp4").write_bytes(data)

        yield f"mp4 {kind.decode()} of 2^32", _both(stamps, count), source


def _sounds_and_words() -> Iterator[Hostile]:
    wave = b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\1\0\1\0\x80\xbb\0\0\0w\1\0\2\0\x10\0data\xff\xff\xff\xff"
    yield (
        "wav of 4 GiB",
        _sparse("a.wav", wave, 4 * GIB),
        {"kind": "audio", "uri": "a.wav", "start_ns": 1},
    )
    fast = wave.replace(b"\x80\xbb\0\0", b"\xff\xff\xff\x7f")
    yield (
        "wav of 2 GHz",
        _text("a.wav", fast + bytes(9999)),
        {"kind": "audio", "uri": "a.wav", "start_ns": 1},
    )
    slow = wave.replace(b"\x80\xbb\0\0", b"\1\0\0\0")
    yield (
        "wav of 1 Hz",
        _text("a.wav", slow + bytes(9999)),
        {"kind": "audio", "uri": "a.wav", "start_ns": 1},
    )
    for start, length in (("0", "2000000000"), ("2000000000", "8"), ("0", "0"), ("0", "99999")):
        line = _DBC.format(f": {start}|{length}@1+ (1e400,0) [0|1]")
        yield (
            f"dbc {start}|{length}",
            _both(_text("v.dbc", line), _text("c.log", "(1.0) can0 001#0000000000000000\n" * 50)),
            {"kind": "can", "uri": "c.log", "dbc": "v.dbc", "signals": {"speed": "Speed"}},
        )
    for log in (
        "(9" * 9999,
        "(1e400) can0 1#00\n" * 50,
        "(1.0) can0 1#" + "00" * 10**6,
        "\0" * 9999,
    ):
        yield (
            f"log {log[:15]!r}",
            _both(_text("v.dbc", _DBC.format(": 0|8@1+ (1,0) [0|1]")), _text("c.log", log)),
            {"kind": "can", "uri": "c.log", "dbc": "v.dbc", "signals": {"speed": "Speed"}},
        )
    blf = b"LOGG" + struct.pack("<L", 144) + bytes(136)
    bomb = zlib.compress(bytes(GIB // 4), 9)
    body = b"LOBJ" + struct.pack("<HHLL", 16, 1, 32 + len(bomb), 10)
    body += struct.pack("<HHLL", 2, 0, 0, 2**32 - 1)[:12] + struct.pack("<L", 0) + bomb
    yield (
        "blf bomb",
        _both(_text("v.dbc", _DBC.format(": 0|8@1+ (1,0) [0|1]")), _text("c.blf", blf + body)),
        {"kind": "can", "uri": "c.blf", "dbc": "v.dbc", "signals": {"speed": "Speed"}},
    )


CASES: Sequence[Hostile] = [
    *_odd_numbers(), *_tables(), *_outside(), *_pictures(), *_sounds_and_words(),
]  # fmt: skip


def _together(cases: Sequence[Hostile]) -> Callable[[Path], list[str]]:
    def prepare(folder: Path) -> list[str]:
        rows = []
        for number, (name, write, source) in enumerate(cases):
            place = folder / f"c{number}"
            place.mkdir()
            write(place)
            (place / "imu.csv").write_text(_IMU)
            moved = dict(source)
            for key in ("uri", "timestamps", "dbc", "arrivals"):
                if key in moved and not str(moved[key]).startswith("/") and "::" not in moved[key]:
                    if "://" not in moved[key]:
                        moved[key] = f"c{number}/{moved[key]}"
            rows.append(
                {"clip_id": f"{number} {name[:60]}".encode("ascii", "replace").decode()
                 .replace("\0", "?").replace("\n", "?").replace("\x1b", "?"),
                 "sources": {"imu": {"kind": "imu", "uri": f"c{number}/imu.csv"}, "x": moved}}
            )  # fmt: skip
        (folder / "m.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
        return ["validate", str(folder / "m.jsonl"), "--out", "{out}", "--workers", "1",
                "--memory-limit", "1G", "--timeout", "50"]  # fmt: skip

    return prepare


# A number out of range invalidates the whole manifest: those are passed one at a time.
CLIPS = {
    f"clips: {'; '.join(case[0] for case in part)[:200]}": (_together(part), len(part))
    for part in (
        [[case] for case in _odd_numbers()]
        + [
            list(CASES[k : k + N_TOGETHER])
            for k in range(len(list(_odd_numbers())), len(CASES), N_TOGETHER)
        ]
    )
}
