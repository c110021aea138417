"""Unpack compressed contents of bags, up to the largest plausible size of a recording."""

from __future__ import annotations

import bz2
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import IO, Protocol

from syncaudit.limits import UNPACKED_BYTES, UNPACKED_FILE_BYTES, UNPACKED_FOLD

_PIECE = 1 << 20


class UnpackError(ValueError):
    """Compressed data are damaged, or unpack to more than a recording can hold."""


class _Stream(Protocol):
    """A decompressor that can be read in parts."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes; none at the end."""


def _zstd(data: IO[bytes]) -> _Stream:
    import zstandard

    stream: _Stream = zstandard.ZstdDecompressor().stream_reader(data)
    return stream


def _lz4(data: IO[bytes]) -> _Stream:
    import lz4.frame

    stream: _Stream = lz4.frame.LZ4FrameFile(data)
    return stream


_OPENERS: Mapping[str, Callable[[IO[bytes]], _Stream]] = {
    "zstd": _zstd,
    "lz4": _lz4,
    "bz2": lambda data: bz2.BZ2File(data),
}


def error_words(error: Exception) -> str:
    """Format type and text of a decompressor's or parser's error on one line."""
    return " ".join(f"{type(error).__name__} {error}".split())[:120]


def unpack(kind: str, data: bytes) -> bytes:
    """Return the unpacked bytes of a message or chunk.

    `kind` is ``zstd``, ``lz4``, ``bz2``, or ``none`` or "" if it is not compressed. UnpackError if
    it is damaged, of another kind, or larger than `UNPACKED_BYTES`.
    """
    if kind in ("", "none"):
        return data
    if kind not in _OPENERS:
        raise UnpackError(f"the compression {kind[:20]!r} is unknown")
    parts: list[bytes] = []
    left = UNPACKED_BYTES
    try:
        stream = _OPENERS[kind](BytesIO(data))
        while part := stream.read(_PIECE):
            parts.append(part)
            left -= len(part)
            if left < 0:
                raise UnpackError(f"it unpacks to more than {UNPACKED_BYTES >> 20} MiB")
    except UnpackError:
        raise
    except Exception as error:  # decompressors raise their own types
        raise UnpackError(error_words(error)) from error
    return b"".join(parts)


def unpack_file(kind: str, packed: Path, plain: Path) -> str | None:
    """Write the unpacked bytes of a file; describe the fault if the rest is damaged."""
    limit = max(UNPACKED_FILE_BYTES, UNPACKED_FOLD * packed.stat().st_size)
    with packed.open("rb") as source, plain.open("wb") as target:
        stream = _OPENERS[kind](source)
        while True:
            try:
                part = stream.read(_PIECE)
            except Exception as error:  # noqa: BLE001  # as above
                return f"it can be unpacked only up to byte {target.tell()} ({error})"
            if not part:
                return None
            if target.tell() > limit:
                return f"it unpacks to more than {limit >> 20} MiB, and the rest is left out"
            target.write(part)
