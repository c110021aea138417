"""Videos with a telemetry track, as GoPro cameras write them (GPMF; gopro/gpmf-parser, README)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from testkit.videos import grey_frame, write_video

PAYLOAD_MS = 1001
_SIZES = {"s": 2, "S": 2, "l": 4, "L": 4, "J": 8, "c": 1, "f": 4}
_CODES = {"s": ">i2", "S": ">u2", "l": ">i4", "L": ">u4", "J": ">u8", "f": ">f4"}


def entry(key: str, kind: str, samples: bytes, size: int | None = None) -> bytes:
    """Return one entry of samples; those of kind "" are nested entries."""
    size = size or (1 if not kind else _SIZES[kind])
    head = struct.pack(">4scBH", key.encode(), kind.encode() or b"\0", size, len(samples) // size)
    return head + samples + bytes(-len(samples) % 4)


def numbers(key: str, kind: str, rows: object) -> bytes:
    """Return an entry of rows of numbers."""
    values = np.atleast_2d(np.asarray(rows))
    data = values.astype(_CODES[kind]).tobytes()
    return entry(key, kind, data, _SIZES[kind] * values.shape[1])


def text(key: str, value: str) -> bytes:
    """Return an entry of text."""
    return entry(key, "c", value.encode())


def stream(*entries: bytes) -> bytes:
    """Return one stream of a device."""
    return entry("STRM", "", b"".join(entries))


def device(*entries: bytes) -> bytes:
    """Return one payload."""
    return entry("DEVC", "", b"".join(entries))


def gyro_payloads(
    n: int = 3,
    *,
    rate_hz: float = 198.6,
    chunk: int = 7,
    stamp: str | None = "STMP",
    rates: np.ndarray | None = None,
    more: bytes = b"",
) -> list[bytes]:
    """Return payloads of a gyroscope that are emitted once whole chunks of samples are complete.

    The number of samples per payload therefore varies, and payload times are off by half a chunk.
    `rates` are in rad/s, as many as needed; zero if None.
    """
    ends = [int((k + 1) * PAYLOAD_MS * 1e-3 * rate_hz) // chunk * chunk for k in range(n)]
    payloads, first = [], 0
    for end in ends:
        values = np.zeros((end - first, 3)) if rates is None else rates[first:end]
        own = b""
        if stamp == "STMP":
            own = numbers("STMP", "J", [round(5e6 + 1e6 * first / rate_hz)])
        elif stamp == "TICK":
            own = numbers("TICK", "L", [round(5e3 + 1e3 * first / rate_hz)])
        payloads.append(
            device(
                text("DVNM", "HERO Test"),
                stream(
                    own,
                    numbers("TSMP", "L", [end]),
                    numbers("SCAL", "s", [1000]),
                    numbers("GYRO", "s", np.rint(1000 * values)),
                ),
                more,
            )
        )
        first = end
    return payloads


def write_gopro(
    path: Path, payloads: Sequence[bytes], *, settings: bytes = b"", n_frames: int = 30
) -> Path:
    """Write a small video whose metadata track holds a payload every 1.001 s."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(8)
    pictures = (rng.integers(0, 255, (48, 64), dtype=np.uint8) for _ in range(n_frames))
    write_video(path, map(grey_frame, pictures), container_format="mp4")
    data = path.read_bytes()
    at = data.index(b"moov") - 4
    (size,) = struct.unpack(">I", data[at : at + 4])
    track = _track(payloads, len(data) + len(_track(payloads, 0)) + len(_user(settings)) + 8)
    movie = _box(b"moov", data[at + 8 : at + size] + track + _user(settings))
    path.write_bytes(data[:at] + movie + data[at + size :] + _box(b"mdat", b"".join(payloads)))
    return path


def _user(settings: bytes) -> bytes:
    return _box(b"udta", _box(b"GPMF", settings)) if settings else b""


def _track(payloads: Sequence[bytes], start: int) -> bytes:
    n, total = len(payloads), PAYLOAD_MS * len(payloads)
    sizes = [len(payload) for payload in payloads]
    places = [start + sum(sizes[:k]) for k in range(n)]
    tables = _box(
        b"stbl",
        _full(b"stsd", struct.pack(">I", 1) + _box(b"gpmd", bytes(6) + struct.pack(">H", 1))),
        _full(b"stts", struct.pack(">3I", 1, n, PAYLOAD_MS)),
        _full(b"stsc", struct.pack(">4I", 1, 1, 1, 1)),
        _full(b"stsz", struct.pack(">2I", 0, n) + struct.pack(f">{n}I", *sizes)),
        _full(b"stco", struct.pack(">I", n) + struct.pack(f">{n}I", *places)),
    )
    reference = _full(b"dref", struct.pack(">I", 1) + struct.pack(">I4sI", 12, b"url ", 1))
    media = _box(b"minf", _full(b"nmhd", b""), _box(b"dinf", reference), tables)
    matrix = struct.pack(">9I", 65536, 0, 0, 0, 65536, 0, 0, 0, 1 << 30)
    head = struct.pack(">5I", 0, 0, 99, 0, total) + bytes(16) + matrix + bytes(8)
    return _box(
        b"trak",
        _full(b"tkhd", head, flags=3),
        _box(
            b"mdia",
            _full(b"mdhd", struct.pack(">4IHH", 0, 0, 1000, total, 0x55C4, 0)),
            _full(b"hdlr", bytes(4) + b"meta" + bytes(12) + b"GoPro MET\0"),
            media,
        ),
    )


def _box(kind: bytes, *content: bytes) -> bytes:
    data = b"".join(content)
    return struct.pack(">I4s", 8 + len(data), kind) + data


def _full(kind: bytes, data: bytes, *, flags: int = 0) -> bytes:
    return _box(kind, struct.pack(">I", flags), data)
