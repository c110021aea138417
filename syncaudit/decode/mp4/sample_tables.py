"""Read presentation times from the sample tables of an MP4 file: no demuxer, no decoder.

The tables are those of ISO/IEC 14496-12 (ISO base media file format). Only plain files are
read, for which FFmpeg's demuxer is known to output every sample; anything else (fragments,
edits that cut frames off, inconsistent tables, truncated files) is left to the demuxer.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.mp4.boxes import (
    Boxes,
    UnusualFileError,
    any_of,
    least,
    number,
    read_movie_box,
)
from syncaudit.decode.spans import ContainerFrames

# Codecs that FFmpeg always has and whose samples its demuxer passes on one by one, with the box of
# the parameters that the decoder requires.
_CODECS: Mapping[bytes, bytes | None] = {
    b"avc1": b"avcC",
    b"avc3": b"avcC",
    b"hvc1": b"hvcC",
    b"hev1": b"hvcC",
    b"av01": b"av1C",
    b"vp09": b"vpcC",
    b"jpeg": None,
}
# Handlers for which FFmpeg creates streams that are not video.
_OTHER_HANDLERS = frozenset({b"soun", b"text", b"sbtl", b"subt", b"meta", b"tmcd", b"hint"})
# The only data reference: this file.
_OWN_DATA = bytes.fromhex("0000000000000001 0000000c 75726c20 00000001")
# Header of the description table, and of the video entry that follows.
_VISUAL_ENTRY_BYTES = 8 + 86
# Width and height in a track header: 16.16 fixed-point numbers.
_STATED_SIZE = struct.Struct(">II")
# FFmpeg drops a table of composition offsets beyond this.
_MAX_OFFSET = 2**28

# 46 hours at 60 frames per second; longer files go to the demuxer.
_MAX_SAMPLES = 10_000_000
# A chunk table with a single run: from chunk 1 on, this many samples per chunk, description 1.
_ONE_RUN = struct.Struct(">IIIII")
# Duration, start and speed.
_EDIT, _LONG_EDIT = struct.Struct(">IiI"), struct.Struct(">QqI")

_U4, _I4, _I8 = np.dtype(">u4"), np.dtype(">i4"), np.dtype(">i8")


def read_sample_table(path: str, stream: int = 0) -> ContainerFrames | None:
    """Return all frames of a video track with times, as listed in the tables of an MP4 file.

    None if the file is not a plain MP4 or cannot be read: it is then up to a demuxer.
    """
    try:
        data, file_bytes = read_movie_box(path)
        movie = Boxes(data)
        if b"mvex" in movie or b"cmov" in movie or _has_cover(movie):
            return None
        # Defects in any track affect the demuxer, so all are checked.
        videos = []
        for track in movie.all_of(b"trak"):
            description, n_samples = _description_of(track), _count_samples(track, file_bytes)
            if _is_video(track):
                videos.append((track, description, n_samples))
        if not 0 <= stream < len(videos):
            return None
        movie_timescale = _timescale(movie.content(b"mvhd"))
        return _frames_of(*videos[stream], movie_timescale, file_bytes)
    except (UnusualFileError, OSError, MemoryError):
        return None


def _description_of(track: Boxes) -> bytes:
    """Return the only description of a track's samples, all of which lie in this same file."""
    if track.content(b"dinf/dref") != _OWN_DATA:
        raise UnusualFileError("data in another file")
    description = track.content(b"stbl/stsd")
    if number(description, 4) != 1 or number(description, 8) != len(description) - 8:
        raise UnusualFileError("several descriptions of samples")
    return description


def _has_cover(movie: Boxes) -> bool:
    """Return whether the metadata may contain an image: FFmpeg counts it as a stream."""
    return (b"udta" in movie and b"covr" in movie.content(b"udta")) or (
        b"meta" in movie and b"covr" in movie.content(b"meta")
    )


def _is_video(track: Boxes) -> bool:
    handler = track.content(b"mdia/hdlr")[8:12]
    # Chapters refer to a track of frames that the demuxer treats specially.
    if b"tref/chap" in track:
        raise UnusualFileError("chapters")
    if handler != b"vide" and handler not in _OTHER_HANDLERS:
        raise UnusualFileError(f"handler {handler!r}")
    return handler == b"vide"


def _timescale(header: bytes) -> int:
    """Return the units per second of an ``mvhd`` or ``mdhd`` box."""
    at = {0: 12, 1: 20}.get(header[0] if header else -1)
    if at is None:
        raise UnusualFileError("an unknown version of the media header")
    units = number(header, at)
    if not 0 < units < 2**31:
        raise UnusualFileError(f"{units} units per second")
    return units


def _frames_of(
    track: Boxes, description: bytes, n_samples: int, movie_timescale: int, file_bytes: int
) -> ContainerFrames:
    timescale = _timescale(track.content(b"mdia/mdhd"))
    width_px, height_px = _frame_size(description)
    # Sizes are stated twice; if they differ, the stream itself must be checked.
    stated = track.content(b"trak/tkhd")[-8:]
    if stated != _STATED_SIZE.pack(width_px << 16, height_px << 16):
        raise UnusualFileError("non-square pixels, or a wrong size")
    steps = _steps(track, n_samples)
    times = np.zeros(steps.size, np.int64)
    np.add.accumulate(steps[:-1], out=times[1:])
    is_reordered = b"stbl/ctts" in track
    if is_reordered:
        offsets = track.table(b"stbl/ctts", _I4, 2)
        lowest = int(offsets[1].min(initial=0))
        if max(-lowest, int(offsets[1].max(initial=0))) > _MAX_OFFSET:
            raise UnusualFileError("composition offsets out of range")
        # The demuxer shifts all times by the most negative offset.
        times += _expanded(offsets, n_samples) - lowest
    keys = _keys(track, n_samples)
    if b"edts/elst" in track:
        times += _edit_shift(
            track.content(b"edts/elst"),
            times,
            steps,
            keys,
            is_reordered=is_reordered,
            timescale=timescale,
            movie_timescale=movie_timescale,
        )
    key_pts = times[keys]
    if is_reordered:
        times.sort()
    return ContainerFrames(
        n_frames=times.size,
        pts=times,
        key_pts=key_pts,
        time_base=_seconds_a_unit(timescale),
        width_px=width_px,
        height_px=height_px,
        n_bytes=file_bytes,
    )


@lru_cache(maxsize=8)
def _seconds_a_unit(timescale: int) -> Fraction:
    return Fraction(1, timescale)


def _steps(track: Boxes, n_samples: int) -> NDArray[np.int64]:
    """Return the time from each sample to the next in decoding order: positive, except the last."""
    runs = track.table(b"stbl/stts", _I4, 2)
    steps = _expanded(runs, n_samples)
    if any_of(runs <= 0) and (any_of(steps[:-1] <= 0) or steps[-1] < 0):
        raise UnusualFileError("zero or negative steps")
    return steps


def _frame_size(description: bytes) -> tuple[int, int]:
    """Return width and height from the only sample entry, which has a known codec."""
    if description[12:16] not in _CODECS:
        raise UnusualFileError(f"sample entry {description[12:16]!r}")
    inner, parameters = Boxes(description, _VISUAL_ENTRY_BYTES), _CODECS[description[12:16]]
    if parameters is not None and parameters not in inner:
        raise UnusualFileError("no codec parameters")
    size = number(description, 40)
    if not size >> 16 or not size & 0xFFFF:
        raise UnusualFileError("no image size")
    return size >> 16, size & 0xFFFF


def _expanded(runs: NDArray[np.int64], n_samples: int) -> NDArray[np.int64]:
    """Return the value of every sample from runs, shape (2, n_runs): count, value."""
    counts, values = runs[0], runs[1]
    if np.add.reduce(counts) != n_samples or least(counts) < 1:  # n_samples is positive
        raise UnusualFileError("a table that does not cover all samples")
    each: NDArray[np.int64] = values.repeat(counts)
    return each


def _keys(track: Boxes, n_samples: int) -> NDArray[np.int64]:
    """Return the indices of the key frames; without a table, all are."""
    if b"stbl/stss" not in track:
        return np.arange(n_samples)
    numbers = track.column(b"stbl/stss", _U4)
    if numbers.size and (least(numbers) < 1 or numbers[numbers.argmax()] > n_samples):
        raise UnusualFileError("key frames that do not exist")
    return numbers - 1


def _count_samples(track: Boxes, file_bytes: int) -> int:
    """Return the number of samples of a track.

    Raises UnusualFileError if samples are empty or beyond the end of the file, or if its tables
    contradict each other.
    """
    sizes = _sizes(track, file_bytes)
    _check_chunks(track, sizes, file_bytes)
    return sizes.size


def _check_chunks(track: Boxes, sizes: NDArray[np.int64], file_bytes: int) -> None:
    """Reject samples that do not lie in the file."""
    if b"stbl/co64" not in track and track.content(b"stbl/stsc") == _ONE_RUN.pack(
        0, 1, 1, sizes.size, 1
    ):
        place = track.content(b"stbl/stco")
        if len(place) == 12 and number(place, 4) == 1:  # all samples are in one chunk
            if number(place, 8) + int(np.add.reduce(sizes)) > file_bytes:
                raise UnusualFileError("samples beyond the end of the file")
            return
    if b"stbl/co64" in track:
        if b"stbl/stco" in track:
            raise UnusualFileError("two tables of chunks")
        offsets = track.column(b"stbl/co64", _I8)
        if any_of(offsets < 0):
            raise UnusualFileError("samples beyond any file")
    else:
        offsets = track.column(b"stbl/stco", _U4)
    firsts, in_chunk, descriptions = track.table(b"stbl/stsc", _U4, 3)
    n_in_runs = np.concatenate((firsts[1:], (offsets.size + 1,))) - firsts
    if firsts.size == 0 or firsts[0] != 1 or any_of((n_in_runs < 1) | (descriptions != 1)):
        raise UnusualFileError("chunks out of order, or with several descriptions")
    # As floats, so that absurd counts do not overflow.
    if any_of(in_chunk < 1) or float(n_in_runs @ in_chunk.astype(np.float64)) != sizes.size:
        raise UnusualFileError("chunks that do not hold the samples")
    counts = in_chunk.repeat(n_in_runs)
    chunk_bytes = np.add.reduceat(sizes, counts.cumsum() - counts)
    if any_of(offsets > file_bytes - chunk_bytes):
        raise UnusualFileError("samples beyond the end of the file")


def _sizes(track: Boxes, file_bytes: int) -> NDArray[np.int64]:
    """Return the size of every sample in bytes."""
    sizes: NDArray[np.int64]
    if b"stbl/stz2" in track:
        if b"stbl/stsz" in track:
            raise UnusualFileError("two tables of sizes")
        width = track.content(b"stbl/stz2")[7:8]
        if width not in (b"\x08", b"\x10"):
            raise UnusualFileError("sizes of half a byte")
        sizes = track.column(b"stbl/stz2", np.dtype(f">u{width[0] // 8}"), header_bytes=8)
    else:
        header = track.content(b"stbl/stsz")
        fixed, count = number(header, 4), number(header, 8)
        if fixed * count > file_bytes or count > _MAX_SAMPLES:
            raise UnusualFileError(f"{count} samples")
        if fixed:
            sizes = np.full(count, fixed, np.int64)
        else:
            sizes = track.column(b"stbl/stsz", _I4, header_bytes=8)
    if not 0 < sizes.size <= _MAX_SAMPLES or least(sizes) <= 0:
        raise UnusualFileError("no samples, or empty ones")
    return sizes


def _edit_shift(
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
    pause, rows = 0, _edits(content)
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


def _edits(content: bytes) -> list[tuple[int, int, int]]:
    """Return duration, start and speed of every edit, for both versions of the box."""
    layout = _LONG_EDIT if content[:1] == b"\x01" else _EDIT
    if len(content) != 8 + number(content, 4) * layout.size:
        raise UnusualFileError("an edit list shorter than it claims")
    return list(layout.iter_unpack(content[8:]))


def _rescaled(duration: int, up: int, down: int) -> int:
    """Return ``duration * up / down`` rounded to the nearest integer, halves up."""
    return (2 * duration * up + down) // (2 * down)
