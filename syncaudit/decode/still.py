"""Decode one image in colour for display."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

import cv2
import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.container import open_container, video_stream
from syncaudit.decode.spans import has_clock, in_ns, packets_of
from syncaudit.decode.stored import image_bytes
from syncaudit.model import FrameFiles

# Maximum number of frames decoded from a key frame on: one image is not worth more.
_MAX_DECODED = 300


def decode_still(files: FrameFiles, *, index: int, pts_ns: int | None) -> NDArray[np.uint8] | None:
    """Return one image, uint8 of shape (height, width, 3) in blue, green, red, or None.

    `index` is that among single images, from 0. Of a video, the last frame at or before the
    presentation time `pts_ns` is taken, within 300 frames of its key frame; None takes the first
    frame. StreamReadError if the file cannot be opened as video at all.
    """
    if files.is_images:
        return _image(files.paths[index])
    return _frame(files, pts_ns)


def _image(path: str) -> NDArray[np.uint8] | None:
    with suppress(OSError, cv2.error):
        data = np.frombuffer(image_bytes(path), np.uint8)
        image = cv2.imdecode(data, cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
        return None if image is None else image.astype(np.uint8, copy=False)
    return None


def _frame(files: FrameFiles, pts_ns: int | None) -> NDArray[np.uint8] | None:
    import av

    path, latest = files.paths[0], None
    with open_container(path) as container:
        stream = video_stream(container, files.stream, path)
        stream.codec_context.thread_type = "NONE"
        time_base = Fraction(stream.time_base or 1)
        wanted_ns = pts_ns if has_clock(container) else None
        span = None if wanted_ns is None else (wanted_ns, 2**62)
        with suppress(av.FFmpegError, OSError, ValueError, MemoryError, StopIteration, EOFError):
            frames = (f for packet in packets_of(container, stream, span) for f in packet.decode())
            for n, frame in enumerate(frames):
                is_late = (
                    wanted_ns is not None
                    and frame.pts is not None
                    and in_ns(frame.pts, time_base) > wanted_ns
                )
                if latest is not None and (is_late or n >= _MAX_DECODED):
                    break
                latest = frame
                if wanted_ns is None:
                    break
        return None if latest is None else np.asarray(latest.to_ndarray(format="bgr24"), np.uint8)
