"""Compute the effect of an MP4 track's edit list on its sample times (ISO/IEC 14496-12)."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.mp4.boxes import UnusualFileError, least, number

__all__ = ["edit_shift"]

# Duration, start and speed.
_EDIT, _LONG_EDIT = struct.Struct(">IiI"), struct.Struct(">QqI")


def edit_shift(
    content: bytes,
    times: NDArray[np.int64],
    steps: NDArray[np.int64],
    keys: NDArray[np.int64],
    *,
    is_reordered: bool,
    timescale: int,
    movie_timescale: int,
) -> int:
    """Return what an ``elst`` box adds to the times of all samples, given in decoding order.

    `keys` are indices of the key frames, in any order; timescales are units per second of the
    media, and of the movie, in which durations are stated. Raises UnusualFileError if the list cuts
    frames off, changes the speed or joins several parts.
    """
    pause, rows = 0, _rows(content)
    for duration, _, rate in rows:
        if rate != 0x10000 or duration <= 0:
            raise UnusualFileError("edits that change the speed or have no end")
    if len(rows) == 2 and rows[0][1] == -1:
        pause, rows = _rescaled(rows[0][0], timescale, movie_timescale), rows[1:]
    if len(rows) != 1 or rows[0][1] < 0:
        raise UnusualFileError("several edits")
    duration, start, _ = rows[0]
    stop = start + _rescaled(duration, timescale, movie_timescale)
    first, last = (times.min(), times.max()) if is_reordered else (times[0], times[-1])
    is_whole = times[0] == start == first and last < stop and keys.size and least(keys) == 0
    if not is_whole or (is_reordered and _ends_early(times, steps, keys, stop)):
        raise UnusualFileError("edits that cut off frames")
    return pause - start


def _ends_early(
    times: NDArray[np.int64], steps: NDArray[np.int64], keys: NDArray[np.int64], stop: int
) -> bool:
    """Return whether a key frame reaches the end before the last sample: demuxing stops there."""
    early = keys[keys < times.size - 1]
    return bool(np.count_nonzero(times[early] + steps[early] >= stop))


def _rows(content: bytes) -> list[tuple[int, int, int]]:
    """Return duration, start and speed of every edit, for both versions of the box."""
    layout = _LONG_EDIT if content[:1] == b"\x01" else _EDIT
    if len(content) != 8 + number(content, 4) * layout.size:
        raise UnusualFileError("an edit list shorter than it claims")
    return list(layout.iter_unpack(content[8:]))


def _rescaled(duration: int, up: int, down: int) -> int:
    """Return ``duration * up / down`` rounded to the nearest integer, halves up."""
    return (2 * duration * up + down) // (2 * down)
