"""Decode through torchcodec's low-level planes (extra ``torchcodec``), on a GPU or the CPU."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from itertools import chain, islice, takewhile
from typing import Any

from syncaudit.decode.back_end import BackEnd, DeviceBatch, first_line
from syncaudit.decode.container import VideoPart
from syncaudit.decode.frame import Plane, UnfitError

_PIXEL_FORMATS = frozenset({"yuv420p", "yuvj420p", "nv12"})
# Frames whose features are computed at once.
BATCH = 16


class TorchcodecDecoder(BackEnd):
    """torchcodec: NVDEC if torch sees a GPU, else FFmpeg with one thread."""

    name = "torchcodec"

    def probe(self) -> str | None:
        """Return why torchcodec cannot be used here, or None."""
        try:
            _library()
        except UnfitError as error:
            return str(error)
        return None

    def decoded(self, part: VideoPart) -> Generator[tuple[int, Plane], None, None]:
        """Yield presentation time and luma, which stays on the device, as `BackEnd` requires."""
        if not part.wanted:
            return
        first, last, n_left = part.wanted[0], part.wanted[-1], len(part.wanted)
        try:
            wanted = takewhile(lambda pair: pair[0] <= last, _from(part))
            planes = ((pts, _luma(frame)) for pts, frame in wanted if pts >= first)
            while batch := tuple(islice(planes, min(BATCH, n_left))):
                n_left -= len(batch)
                yield from _on_device(batch)
        except (RuntimeError, ValueError, OSError) as error:
            raise UnfitError(f"torchcodec failed ({first_line(error)})") from error


def _from(part: VideoPart) -> Iterator[tuple[int, Any]]:
    """Yield times and frames from the first requested one, or from an earlier one."""
    first = part.wanted[0]
    if part.begin:
        frames = _decoded(part, float(first * part.time_base))
        head = next(frames, None)
        # The seek may find a key frame that is shown later than frames which follow it.
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
            # Exact: seconds are a double, and times are far below 2**53 units.
            yield round(frame.pts_seconds * per_s), frame


def _on_device(batch: Sequence[tuple[int, Any]]) -> Iterator[tuple[int, Plane]]:
    torch, _ = _library()
    planes = DeviceBatch(torch.stack([plane for _, plane in batch]))
    return zip((pts for pts, _ in batch), planes, strict=True)


def _luma(frame: Any) -> Any:
    if frame.pixel_format not in _PIXEL_FORMATS:
        raise UnfitError(f"its frames are output as {frame.pixel_format}")
    # Copied, because planes are views of FFmpeg's memory, which may not outlive the arrays.
    return frame.planes[0].clone()


def _library() -> tuple[Any, Any]:
    """Return torch and the decoders of torchcodec, which load FFmpeg's libraries."""
    try:
        import torch
        from torchcodec import _core, decoders
    except (ImportError, OSError, RuntimeError) as error:
        raise UnfitError(
            f"torchcodec cannot be imported ({first_line(error)}); "
            "pip install 'syncaudit[torchcodec]', and FFmpeg's shared libraries"
        ) from error
    # Without them the import succeeds, since it reads images too, but the first video fails.
    if not getattr(_core.ops, "_FFMPEG_AVAILABLE", True):
        raise UnfitError("torchcodec finds no FFmpeg shared libraries; install FFmpeg")
    return torch, decoders
