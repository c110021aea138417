"""What the edit list of an MP4 track does to the times of its samples (ISO/IEC 14496-12)."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.mp4_boxes import UnusualFileError, least

__all__ = ["edit_shift"]


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
    """Return what an edit list adds to the times of all samples.

    Parameters
    ----------
    content : bytes
        Of the ``elst`` box.
    times, steps : ndarray of int64, shape (n_samples,)
        In decoding order.
    keys : ndarray of int64, shape (n_keys,)
        Indices of the key frames, in any order.
    is_reordered : bool
        Whether samples are shown in another order than they are decoded in.
    timescale, movie_timescale : int
        Units a second of the media, and of the movie, in which durations are stated.

    Raises
    ------
    UnusualFileError
        If the list cuts frames off, changes the speed or joins several parts.
    """
    rows = _rows(content)
    if any(rate != 0x10000 or duration <= 0 for duration, _, rate in rows):
        raise UnusualFileError("edits that change the speed, or last for ever")
    durations = [_rescaled(duration, timescale, movie_timescale) for duration, _, _ in rows]
    starts = [start for _, start, _ in rows]
    pause = 0
    if len(starts) == 2 and starts[0] == -1:
        pause, durations, starts = durations[0], durations[1:], starts[1:]
    if len(starts) != 1 or starts[0] < 0:
        raise UnusualFileError("several edits")
    start, stop = starts[0], starts[0] + durations[0]
    first, last = (times.min(), times.max()) if is_reordered else (times[0], times[-1])
    is_whole = times[0] == start == first and last < stop and keys.size and least(keys) == 0
    if not is_whole or (is_reordered and _ends_early(times, steps, keys, stop)):
        raise UnusualFileError("edits that cut frames off")
    return pause - start


def _ends_early(
    times: NDArray[np.int64], steps: NDArray[np.int64], keys: NDArray[np.int64], stop: int
) -> bool:
    """Tell whether a key frame reaches the end before the last sample: there the demuxer stops."""
    early = keys[keys < times.size - 1]
    return bool(np.count_nonzero(times[early] + steps[early] >= stop))


def _rows(content: bytes) -> list[tuple[int, int, int]]:
    """Return duration, start and speed of every edit, of the two versions of the box."""
    layout = ">QqI" if content[:1] == b"\x01" else ">IiI"
    if len(content) != 8 + int.from_bytes(content[4:8], "big") * struct.calcsize(layout):
        raise UnusualFileError("an edit list that is not as long as it claims")
    return list(struct.iter_unpack(layout, content[8:]))


def _rescaled(duration: int, up: int, down: int) -> int:
    """Return ``duration * up / down`` as the nearest whole number, halves up."""
    return (2 * duration * up + down) // (2 * down)
