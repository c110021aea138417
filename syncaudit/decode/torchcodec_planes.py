"""Decode through torchcodec's low-level planes (extra ``torchcodec``), on a GPU or the CPU."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.back_end import BackEnd, first_line
from syncaudit.decode.header import VideoPart
from syncaudit.decode.luma import UnfitError

__all__ = ["TorchcodecDecoder"]

_PIXEL_FORMATS = frozenset({"yuv420p", "yuvj420p", "nv12"})


class TorchcodecDecoder(BackEnd):
    """torchcodec: NVDEC where torch sees a GPU, else FFmpeg with one thread."""

    name = "torchcodec"

    def probe(self) -> str | None:
        """Return why torchcodec cannot be used here, or None."""
        try:
            _library()
        except UnfitError as error:
            return str(error)
        return None

    def pictures(self, part: VideoPart) -> Generator[tuple[int, NDArray[np.uint8]], None, None]:
        """Yield presentation time and luma, as `BackEnd` asks."""
        if not part.wanted:
            return
        first, last = part.wanted[0], part.wanted[-1]
        try:
            for pts, frame in _from(part):
                if pts >= first:
                    yield pts, _luma(frame)
                if pts >= last:
                    return
        except (RuntimeError, ValueError, OSError) as error:
            raise UnfitError(f"torchcodec failed ({first_line(error)})") from error


def _from(part: VideoPart) -> Iterator[tuple[int, Any]]:
    """Yield times and frames from the first that is wanted, or earlier."""
    first = part.wanted[0]
    if part.begin:
        frames = _decoded(part, float(first * part.time_base))
        head = next(frames, None)
        # A key frame may be found that is shown later than pictures which follow it.
        if head is not None and head[0] <= first:
            yield head
            yield from frames
            return
    yield from _decoded(part, None)


def _decoded(part: VideoPart, seek_s: float | None) -> Iterator[tuple[int, Any]]:
    torch, decoders = _library()
    demuxer = decoders.Demuxer(part.path)
    decoder = demuxer.streams[0].make_decoder("cuda" if torch.cuda.is_available() else "cpu")
    if seek_s is not None:
        demuxer.seek(seek_s)
    per_s = float(1 / part.time_base)
    flushed = (decoder.drain() for _ in range(1))
    for frames in chain((decoder.decode(packet) for packet in demuxer), flushed):
        for frame in frames:
            # Exact: seconds are a double, and times far below 2**53 units.
            yield round(frame.pts_seconds * per_s), frame


def _luma(frame: Any) -> NDArray[np.uint8]:
    if frame.pixel_format not in _PIXEL_FORMATS:
        raise UnfitError(f"its pictures come as {frame.pixel_format}")
    # Copied, for planes are views of FFmpeg's memory and do not live as long as arrays may.
    luma: NDArray[np.uint8] = np.array(frame.planes[0].cpu().numpy())
    return luma


def _library() -> tuple[Any, Any]:
    """Return torch and the decoders of torchcodec, which load FFmpeg's libraries."""
    try:
        import torch
        from torchcodec import decoders
    except (ImportError, OSError, RuntimeError) as error:
        raise UnfitError(
            f"torchcodec cannot be imported ({first_line(error)}); "
            "pip install 'syncaudit[torchcodec]', and FFmpeg's shared libraries"
        ) from error
    return torch, decoders
