"""Walk the boxes of an ISO media file (MP4, MOV) within bounds, whatever sizes they claim."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.limits import VIDEO_HEADER_BYTES

# A file of tiny boxes is not a video.
MAX_TOP_BOXES = 1000

# Bytes read at a time: the first boxes of a file, and those after its frames.
_HEAD_BYTES, _TAIL_BYTES = 256, 16384

_HEADER = struct.Struct(">I4s")
_LENGTH = struct.Struct(">Q")

# The parts of a track, by the box that contains them.
_PARTS: Mapping[bytes, frozenset[bytes]] = {
    b"trak": frozenset({b"edts", b"mdia", b"tref"}),
    b"mdia": frozenset({b"minf"}),
    b"minf": frozenset({b"dinf", b"stbl"}),
}
# Fragmented movies keep their tables elsewhere; an image item is not a track.
_FRAGMENTS = frozenset({b"moof", b"sidx", b"styp", b"meta"})


class UnusualFileError(ValueError):
    """The file is not a plain MP4; use a demuxer."""


def read_movie_box(path: str) -> tuple[bytes, int]:
    """Return the content of the ``moov`` box of an MP4 file, and the file's size in bytes.

    Little more than box headers is read of the rest. The file is read rather than mapped, so that
    a file truncated meanwhile does not kill the process. Raises UnusualFileError if it is not an
    MP4 file, is fragmented, has two movies, or is truncated.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # do not wait for a pipe
    except ValueError as error:
        raise UnusualFileError("not a file name") from error
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise UnusualFileError("not a regular file")
        size, at, movie = status.st_size, 0, b""
        window, begin = os.pread(file, _HEAD_BYTES, 0), 0
        for n_seen in range(MAX_TOP_BOXES):
            if at == size:
                break
            if at + 16 > begin + len(window):
                # The frames are usually followed by the movie box and nothing else.
                window, begin = os.pread(file, _TAIL_BYTES, at), at
            kind, start, stop = _header(window, at - begin, at, size)
            if (n_seen == 0) != (kind == b"ftyp") or kind in _FRAGMENTS:
                raise UnusualFileError(f"box {kind!r}")
            if kind == b"moov":
                if movie or stop - start > VIDEO_HEADER_BYTES:
                    raise UnusualFileError("two movies, or a huge one")
                movie = window[start - begin : stop - begin]
                if len(movie) != stop - start:
                    movie = os.pread(file, stop - start, start)
                if len(movie) != stop - start:
                    raise UnusualFileError("it is truncated")
            at = stop
    finally:
        os.close(file)
    if at != size or not movie:
        raise UnusualFileError("it is truncated, or holds no movie")
    return movie, size


def _header(data: bytes, place: int, at: int, limit: int) -> tuple[bytes, int, int]:
    """Return kind, start and stop of the content of a box at `at`, which ends before `limit`.

    The header lies at `place` in `data`.
    """
    try:
        length, kind = _HEADER.unpack_from(data, place)
        begin = 8
        if length == 1:
            (length,), begin = _LENGTH.unpack_from(data, place + 8), 16
    except struct.error as error:
        raise UnusualFileError(f"a truncated box at {at}") from error
    if length < begin or at + length > limit:
        raise UnusualFileError(f"a box of {length} bytes at {at}")
    return kind, at + begin, at + length


class Boxes:
    """The boxes inside one box by kind: ``mvhd``; inside the parts of a track: ``stbl/stts``.

    `start` and `stop` are the range of this box's content in that of the movie; `kind` is that of a
    track. Raises UnusualFileError if a box is truncated, or a part of a track occurs twice.
    """

    __slots__ = ("_data", "_places", "_repeated")

    def __init__(
        self, data: bytes, start: int = 0, stop: int | None = None, kind: bytes = b""
    ) -> None:
        self._data = data
        self._places: dict[bytes, tuple[int, int]] = {}
        self._repeated: dict[bytes, list[tuple[int, int]]] = {}
        self._walk(start, len(data) if stop is None else stop, kind)

    def _walk(self, at: int, stop: int, inside: bytes) -> None:
        """List the boxes in a range, which is the content of a box of kind `inside`."""
        data, places, unpack = self._data, self._places, _HEADER.unpack_from
        prefix, parts = inside and inside + b"/", _PARTS.get(inside, ())
        while at < stop:
            try:
                length, kind = unpack(data, at)
            except struct.error:
                length, kind = 0, b""
            if 8 <= length <= stop - at:
                begin, at = at + 8, at + length
            else:
                kind, begin, at = _header(data, at, at, stop)
            path = prefix + kind
            if path in places:
                if kind in parts:
                    raise UnusualFileError(f"not one box {path!r}")
                self._repeated.setdefault(path, []).append((begin, at))
                continue
            places[path] = (begin, at)
            if kind in parts:
                self._walk(begin, at, kind)

    def __contains__(self, kind: bytes) -> bool:
        return kind in self._places

    def all_of(self, kind: bytes) -> Iterator[Boxes]:
        """Yield the boxes of one kind, each with the boxes inside it."""
        if kind in self._places:
            for start, stop in (self._places[kind], *self._repeated.get(kind, ())):
                yield Boxes(self._data, start, stop, kind)

    def content(self, kind: bytes) -> bytes:
        """Return the content of the only box of one kind."""
        start, stop = self._only(kind)
        return self._data[start:stop]

    def table(self, kind: bytes, dtype: np.dtype[Any], n_columns: int) -> NDArray[np.int64]:
        """Return the rows of a table box, shape (n_columns, n_rows); otherwise as `column`."""
        return self.column(kind, dtype, n_columns).reshape(-1, n_columns).T

    def column(
        self, kind: bytes, dtype: np.dtype[Any], per_row: int = 1, *, header_bytes: int = 4
    ) -> NDArray[np.int64]:
        """Return the numbers of a table box, shape (n_rows * per_row,).

        It holds version and flags, a header (`header_bytes` including both), a count, rows. Raises
        UnusualFileError if the box is absent, duplicated, or not as long as its count claims.
        """
        start, stop = self._only(kind)
        begin = start + header_bytes + 4
        n_rows = int.from_bytes(self._data[begin - 4 : begin], "big")
        if begin + n_rows * per_row * dtype.itemsize != stop:
            raise UnusualFileError(f"{kind!r} claims {n_rows} rows")
        return np.frombuffer(self._data, dtype, n_rows * per_row, begin).astype(np.int64)

    def _only(self, kind: bytes) -> tuple[int, int]:
        place = self._places.get(kind)
        if place is None or kind in self._repeated:
            raise UnusualFileError(f"not one box {kind!r}")
        return place


def any_of(flags: NDArray[np.bool_]) -> bool:
    """Return whether any flag is set: `flags.any()` costs four times as much on short tables."""
    return bool(np.count_nonzero(flags))


def least(values: NDArray[np.int64]) -> int:
    """Return the minimum of at least one number: `values.min()` costs four times as much."""
    return int(values.item(values.argmin()))


def number(data: bytes, at: int) -> int:
    """Return the 32-bit number at an offset in a box."""
    return int.from_bytes(data[at : at + 4], "big")
