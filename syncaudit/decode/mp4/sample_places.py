"""Count the samples of an MP4 track, and check that all of them lie in its file."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.mp4.boxes import Boxes, UnusualFileError, any_of, least, number

__all__ = ["count_samples"]

# 46 hours at 60 frames per second; longer files go to the demuxer.
_MAX_SAMPLES = 10_000_000
# A chunk table with a single run: from chunk 1 on, this many samples per chunk, description 1.
_ONE_RUN = struct.Struct(">IIIII")
_U4, _I4, _I8 = np.dtype(">u4"), np.dtype(">i4"), np.dtype(">i8")


def count_samples(track: Boxes, file_bytes: int) -> int:
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
