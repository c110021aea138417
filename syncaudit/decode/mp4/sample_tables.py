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
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.container_frames import ContainerFrames
from syncaudit.decode.mp4.boxes import (
    Boxes,
    UnusualFileError,
    any_of,
    least,
    number,
    read_movie_box,
)
from syncaudit.decode.mp4.edit_lists import edit_shift
from syncaudit.decode.mp4.sample_places import count_samples

__all__ = ["read_sample_table"]

# Codecs that FFmpeg always has and whose samples its demuxer passes on one by one, with the box of
# the parameters that the decoder requires.
_CODECS: Mapping[bytes, bytes | None] = MappingProxyType(
    {
        b"avc1": b"avcC",
        b"avc3": b"avcC",
        b"hvc1": b"hvcC",
        b"hev1": b"hvcC",
        b"av01": b"av1C",
        b"vp09": b"vpcC",
        b"jpeg": None,
    }
)
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

_U4, _I4 = np.dtype(">u4"), np.dtype(">i4")


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
            description, n_samples = _description_of(track), count_samples(track, file_bytes)
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
        times += edit_shift(
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
