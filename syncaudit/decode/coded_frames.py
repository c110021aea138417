"""List what a video's packets tell of its frames: which are key frames, and how large each is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.container import open_container, video_stream
from syncaudit.decode.spans import has_clock, is_inside, packets_of
from syncaudit.errors import StreamReadError
from syncaudit.model import FrameFiles

__all__ = ["CodedFrames", "list_coded"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CodedFrames:
    """The frames of a video as they are coded, in the order in which they are shown.

    Parameters
    ----------
    is_key : ndarray of bool, shape (n,)
        Whether decoding can begin at a frame.
    n_bytes : ndarray of int, shape (n,)
        Size of its packet.
    """

    is_key: NDArray[np.bool_]
    n_bytes: NDArray[np.int64]


def list_coded(files: FrameFiles) -> CodedFrames | None:
    """Return how the frames of a video, or of its part in `files.span_ns`, are coded.

    None where that cannot be told: images, elementary streams, damaged files, frames without times.
    """
    import av

    if files.is_images or not files.paths:
        return None
    try:
        with open_container(files.paths[0], fast=True) as container:
            stream = video_stream(container, files.stream, files.paths[0])
            time_base = Fraction(stream.time_base or 1)
            listed = [
                (packet.pts, packet.is_keyframe, packet.size)
                for packet in packets_of(container, stream, files.span_ns)
                if packet.size and not packet.is_discard
                if is_inside(packet.pts, time_base, files.span_ns)
            ]
            is_timed = has_clock(container)
    except (StreamReadError, av.FFmpegError, OSError, ValueError):
        return None
    if not is_timed or not listed or any(pts is None for pts, _, _ in listed):
        return None
    pts, is_key, n_bytes = (
        np.array(column, dtype=np.int64) for column in zip(*listed, strict=True)
    )
    order = np.argsort(pts, kind="stable")
    return CodedFrames(is_key=is_key[order] != 0, n_bytes=n_bytes[order])
