"""Read presentation times from the sample tables of an MP4 file: no demuxer, no decoder.

The tables are those of ISO/IEC 14496-12 (ISO base media file format). Only plain files are
read, of which FFmpeg's demuxer is known to hand out every sample; anything else (fragments,
edits that cut frames off, inconsistent tables, files that break off) is left to the demuxer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.edit_lists import edit_shift
from syncaudit.decode.mp4_boxes import Boxes, UnusualFileError, read_movie_box

__all__ = ["SampleTable", "read_sample_table"]

# Codecs that FFmpeg always has, whose samples its demuxer passes on one by one; with the box of
# their parameters, without which no decoder starts.
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
# Handlers that FFmpeg makes streams of which are no video streams.
_OTHER_HANDLERS = frozenset({b"soun", b"text", b"sbtl", b"subt", b"meta", b"tmcd", b"hint"})
# The only data reference: this file.
_OWN_DATA = bytes.fromhex("0000000000000001 0000000c 75726c20 00000001")
# Header of the description table, and of the entry for pictures that follows.
_VISUAL_ENTRY_BYTES = 8 + 86
# 46 hours at 60 frames a second; the demuxer takes longer ones.
_MAX_SAMPLES = 10_000_000
# FFmpeg drops a table of composition offsets beyond this.
_MAX_OFFSET = 2**28

_U4, _I4, _I8 = np.dtype(">u4"), np.dtype(">i4"), np.dtype(">i8")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampleTable:
    """Frames of one video track.

    Parameters
    ----------
    pts : ndarray of int64, shape (n_frames,)
        Presentation times in units of `time_base`, sorted.
    time_base : Fraction
        Seconds per unit.
    width_px, height_px : int
        Picture size.
    """

    pts: NDArray[np.int64]
    time_base: Fraction
    width_px: int
    height_px: int


def read_sample_table(path: str, stream: int = 0) -> SampleTable | None:
    """Return the frames of a video track as the tables of an MP4 file list them.

    Parameters
    ----------
    path : str
        Local file.
    stream : int
        Index among its video tracks.

    Returns
    -------
    SampleTable or None
        None where the file is no plain MP4, or cannot be read: a demuxer then has the say.
    """
    try:
        data, file_bytes = read_movie_box(path)
        movie = Boxes(data)
        if b"mvex" in movie or b"cmov" in movie or _has_cover(movie):
            return None
        # The demuxer stumbles over the faults of any track, so all are looked at.
        tracks = [_Track.of(boxes, file_bytes) for boxes in movie.all_of(b"trak")]
        videos = [track for track in tracks if track.is_video]
        if not 0 <= stream < len(videos):
            return None
        return _table_of(videos[stream], _timescale(movie.content(b"mvhd")))
    except (UnusualFileError, OSError, MemoryError):
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Track:
    """A track, all samples of which lie in this very file."""

    boxes: Boxes
    media: Boxes
    tables: Boxes
    description: bytes
    n_samples: int
    is_video: bool

    @classmethod
    def of(cls, boxes: Boxes, file_bytes: int) -> _Track:
        """Return the track that its box describes."""
        media = boxes.inside(b"mdia")
        information = media.inside(b"minf")
        tables = information.inside(b"stbl")
        if information.inside(b"dinf").content(b"dref") != _OWN_DATA:
            raise UnusualFileError("data in another file")
        description = tables.content(b"stsd")
        if _number(description, 4) != 1 or _number(description, 8) != len(description) - 8:
            raise UnusualFileError("several descriptions of samples")
        sizes = _sizes(tables, file_bytes)
        _check_chunks(tables, sizes, file_bytes)
        return cls(
            boxes=boxes,
            media=media,
            tables=tables,
            description=description,
            n_samples=sizes.size,
            is_video=_is_video(boxes, media),
        )


def _has_cover(movie: Boxes) -> bool:
    """Return whether a picture may stand among the metadata: FFmpeg counts it as a stream."""
    return any(b"covr" in movie.content(kind) for kind in (b"udta", b"meta") if kind in movie)


def _is_video(track: Boxes, media: Boxes) -> bool:
    handler = media.content(b"hdlr")[8:12]
    # Chapters refer to a track of pictures that the demuxer treats in its own way.
    if b"tref" in track and b"chap" in track.inside(b"tref"):
        raise UnusualFileError("chapters")
    if handler != b"vide" and handler not in _OTHER_HANDLERS:
        raise UnusualFileError(f"handler {handler!r}")
    return handler == b"vide"


def _timescale(header: bytes) -> int:
    """Return the units a second of an ``mvhd`` or ``mdhd`` box."""
    at = {0: 12, 1: 20}.get(header[0] if header else -1)
    if at is None:
        raise UnusualFileError("an unknown version of the media header")
    units = _number(header, at)
    if not 0 < units < 2**31:
        raise UnusualFileError(f"{units} units a second")
    return units


def _any(flags: NDArray[np.bool_]) -> bool:
    """Return whether any flag is set: `flags.any()` costs four times as much on short tables."""
    return bool(np.count_nonzero(flags))


def _number(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big")


def _table_of(track: _Track, movie_timescale: int) -> SampleTable:
    tables = track.tables
    timescale = _timescale(track.media.content(b"mdhd"))
    width_px, height_px = _picture_size(track.description)
    # Sizes are stated twice; where they differ, the stream itself has to be asked.
    stated = track.boxes.content(b"tkhd")[-8:]
    if (_number(stated, 0), _number(stated, 4)) != (width_px << 16, height_px << 16):
        raise UnusualFileError("pixels that are not square, or a wrong size")
    steps = _steps(tables, track.n_samples)
    times = np.zeros(steps.size, np.int64)
    np.add.accumulate(steps[:-1], out=times[1:])
    is_reordered = b"ctts" in tables
    if is_reordered:
        offsets = tables.table(b"ctts", _I4, 2)
        least = int(offsets[1].min(initial=0))
        if max(-least, int(offsets[1].max(initial=0))) > _MAX_OFFSET:
            raise UnusualFileError("composition offsets out of range")
        # The demuxer shifts all times by the most negative offset.
        times += _expanded(offsets, track.n_samples) - least
    if b"edts" in track.boxes:
        edits = track.boxes.inside(b"edts")
        if b"elst" in edits:
            times += edit_shift(
                edits.content(b"elst"),
                times,
                steps,
                _keys(tables, track.n_samples),
                timescale=timescale,
                movie_timescale=movie_timescale,
            )
    if is_reordered:
        times.sort()
    return SampleTable(
        pts=times,
        time_base=Fraction(1, timescale),
        width_px=width_px,
        height_px=height_px,
    )


def _steps(tables: Boxes, n_samples: int) -> NDArray[np.int64]:
    """Return the time from every sample to the next in decoding order: forward, but the last."""
    runs = tables.table(b"stts", _I4, 2)
    steps = _expanded(runs, n_samples)
    if _any(runs[1] <= 0) and (_any(steps[:-1] <= 0) or steps[-1] < 0):
        raise UnusualFileError("steps of nothing, or negative ones")
    return steps


def _picture_size(description: bytes) -> tuple[int, int]:
    """Return width and height of the only sample entry, of a codec that is known."""
    if description[12:16] not in _CODECS:
        raise UnusualFileError(f"sample entry {description[12:16]!r}")
    inner, parameters = Boxes(description, _VISUAL_ENTRY_BYTES), _CODECS[description[12:16]]
    if parameters is not None and parameters not in inner:
        raise UnusualFileError("no parameters of the codec")
    size = _number(description, 40)
    if not size >> 16 or not size & 0xFFFF:
        raise UnusualFileError("no picture size")
    return size >> 16, size & 0xFFFF


def _sizes(tables: Boxes, file_bytes: int) -> NDArray[np.int64]:
    """Return the bytes of every sample."""
    sizes: NDArray[np.int64]
    if b"stz2" in tables:
        if b"stsz" in tables:
            raise UnusualFileError("two tables of sizes")
        width = tables.content(b"stz2")[7:8]
        if width not in (b"\x08", b"\x10"):
            raise UnusualFileError("sizes of half a byte")
        sizes = tables.column(b"stz2", np.dtype(f">u{width[0] // 8}"), header_bytes=8)
    else:
        header = tables.content(b"stsz")
        fixed, count = _number(header, 4), _number(header, 8)
        if fixed * count > file_bytes or count > _MAX_SAMPLES:
            raise UnusualFileError(f"{count} samples")
        if fixed:
            sizes = np.full(count, fixed, np.int64)
        else:
            sizes = tables.column(b"stsz", _I4, header_bytes=8)
    if not 0 < sizes.size <= _MAX_SAMPLES or _any(sizes <= 0):
        raise UnusualFileError("no samples, or empty ones")
    return sizes


def _check_chunks(tables: Boxes, sizes: NDArray[np.int64], file_bytes: int) -> None:
    """Refuse samples that do not lie in the file."""
    if b"co64" in tables:
        if b"stco" in tables:
            raise UnusualFileError("two tables of chunks")
        offsets = tables.column(b"co64", _I8)
        if _any(offsets < 0):
            raise UnusualFileError("samples beyond all files")
    else:
        offsets = tables.column(b"stco", _U4)
    runs = tables.table(b"stsc", _U4, 3)
    if offsets.size == 1 and runs.tolist() == [[1], [sizes.size], [1]]:  # all in one chunk
        if int(offsets[0]) + int(np.add.reduce(sizes)) > file_bytes:
            raise UnusualFileError("samples beyond the end of the file")
        return
    firsts, in_chunk, descriptions = runs
    n_in_runs = np.concatenate((firsts[1:], (offsets.size + 1,))) - firsts
    if firsts.size == 0 or firsts[0] != 1 or _any((n_in_runs < 1) | (descriptions != 1)):
        raise UnusualFileError("chunks out of order, or of several descriptions")
    # As floats, so that absurd counts do not overflow.
    if _any(in_chunk < 1) or float(n_in_runs @ in_chunk.astype(np.float64)) != sizes.size:
        raise UnusualFileError("chunks do not hold the samples")
    counts = in_chunk.repeat(n_in_runs)
    chunk_bytes = np.add.reduceat(sizes, counts.cumsum() - counts)
    if _any(offsets > file_bytes - chunk_bytes):
        raise UnusualFileError("samples beyond the end of the file")


def _expanded(runs: NDArray[np.int64], n_samples: int) -> NDArray[np.int64]:
    """Return the value of every sample from runs, shape (2, n_runs): count, value."""
    counts, values = runs
    if _any(counts < 1) or counts.sum() != n_samples:
        raise UnusualFileError("a table that is not of all samples")
    each: NDArray[np.int64] = values.repeat(counts)
    return each


def _keys(tables: Boxes, n_samples: int) -> NDArray[np.int64]:
    """Return the indices of the key frames; without a table, all are."""
    if b"stss" not in tables:
        return np.arange(n_samples)
    numbers = tables.column(b"stss", _U4)
    if _any(numbers < 1) or _any(numbers > n_samples):
        raise UnusualFileError("key frames that do not exist")
    return numbers - 1
