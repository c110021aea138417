"""Encode videos of given images."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

Frame = NDArray[np.uint8]


def exact_frame(luma: Frame) -> av.VideoFrame:
    """Return a frame with exactly this luma, shape (height, width), without colour."""
    height, width = luma.shape
    colour = np.full((height // 2, width), 128, np.uint8)
    return av.VideoFrame.from_ndarray(np.vstack([luma, colour]), format="yuv420p")


def grey_frame(image: Frame, pix_fmt: str = "yuv420p") -> av.VideoFrame:
    """Return a frame of a grey image, scaled to the luma range of `pix_fmt`."""
    return av.VideoFrame.from_ndarray(image, format="gray").reformat(format=pix_fmt)


def write_video(
    path: Path,
    frames: Iterable[av.VideoFrame],
    codec: str = "libx264",
    *,
    rate: int = 30,
    options: dict[str, str] | None = None,
    container_format: str | None = None,
    time_base: Fraction | None = None,
    pts: Iterable[int] | None = None,
) -> Path:
    """Encode frames of one size; `pts`, in units of `time_base`, default to 0, 1, 2, ..."""
    ticks = iter(pts) if pts is not None else None
    with av.open(str(path), "w", format=container_format) as container:
        stream = None
        for index, frame in enumerate(frames):
            if stream is None:
                stream = container.add_stream(codec, rate=rate, options=options or {})
                stream.width, stream.height = frame.width, frame.height
                stream.pix_fmt = frame.format.name
                if time_base is not None:
                    stream.codec_context.time_base = time_base
            frame.pts = index if ticks is None else next(ticks)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path
