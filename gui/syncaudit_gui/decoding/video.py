"""Frames of a video file by index: one pass over its packets, then exact seeks."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.container import open_container, video_stream
from syncaudit.decode.spans import has_clock, is_inside
from syncaudit.model import FrameFiles
from syncaudit_gui.decoding.frame_image import fitted

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream


class VideoFrames:
    """Decoded frames of one video stream; every call must come from one thread.

    The index of a frame is its rank among the presentation times of the packets, as the readers
    count them. A seek aims half a frame past the key frame: its exact time would land a whole GOP
    too early if there are B-frames. Without presentation times (raw streams) frames are counted
    from the beginning. StreamReadError if it cannot be opened as video.
    """

    def __init__(self, files: FrameFiles) -> None:
        import av.video.reformatter

        self._files = files
        self._path = files.paths[0]
        self._pts, self._keys, self._half = _packet_times(files)
        self._open = ExitStack()
        self._container: InputContainer
        self._stream: VideoStream
        self._frames: Iterator[VideoFrame] = iter(())
        self._last: int | None = None
        self._reformatter = av.video.reformatter.VideoReformatter()
        self.n_decoded = 0
        self._start()

    @property
    def n_frames(self) -> int | None:
        """Number of frames; None if only decoding would show it."""
        return len(self._pts) or None

    def key_of(self, index: int) -> int:
        """Return the key frame at which decoding of a frame has to start."""
        if not self._pts or not self._keys:
            return 0
        pts = self._pts[min(index, len(self._pts) - 1)]
        key = self._keys[max(0, bisect_right(self._keys, pts) - 1)]
        return bisect_left(self._pts, key)

    def until(self, index: int, is_stopped: Callable[[], bool]) -> Iterator[tuple[int, VideoFrame]]:
        """Yield frames from the decoder's position, or from the key frame, up to `index`.

        It ends without `index` if `is_stopped` returns true or that frame is damaged.
        """
        if self._last is None or not self.key_of(index) <= self._last < index:
            self._seek(index)
        for frame in self._frames:
            rank = self._rank(frame)
            self._last = rank
            if rank > index:
                return
            self.n_decoded += 1
            yield rank, frame
            if rank == index or is_stopped():
                return
        self._last = None  # the end: the decoder only continues after a seek

    def size_of(self, frame: VideoFrame) -> int:
        """Return the size of a frame in bytes."""
        return sum(plane.buffer_size for plane in frame.planes)

    def scaled(self, frame: VideoFrame, width_px: int, height_px: int) -> NDArray[np.uint8]:
        """Return a frame as BGRA that fits into a box."""
        width, height = fitted(frame.width, frame.height, width_px, height_px)
        small = self._reformatter.reformat(frame, width, height, "bgra", interpolation="BILINEAR")
        plane = small.planes[0]
        rows = np.frombuffer(memoryview(plane), np.uint8).reshape(height, plane.line_size)
        return rows[:, : 4 * width].reshape(height, width, 4).copy()

    def close(self) -> None:
        """Close the file."""
        self._frames = iter(())
        self._open.close()

    def _start(self) -> None:
        self.close()
        self._container = self._open.enter_context(open_container(self._path))
        self._stream = video_stream(self._container, self._files.stream, self._path)
        self._stream.codec_context.thread_type = "NONE"
        self._stream.codec_context.thread_count = 1
        self._frames = _decoded(self._container, self._stream)
        self._last = None

    def _seek(self, index: int) -> None:
        import av

        if not self._pts:
            if self._last is not None and self._last < index:
                return
            self._start()
            return
        key_pts = self._pts[self.key_of(index)]
        self._last = None
        try:
            self._container.seek(key_pts + self._half, stream=self._stream)
            self._frames = _decoded(self._container, self._stream)
        except (av.FFmpegError, OSError, ValueError):
            self._start()  # not seekable: start from the beginning

    def _rank(self, frame: VideoFrame) -> int:
        if not self._pts:
            return 0 if self._last is None else self._last + 1
        if frame.pts is None:
            return -1 if self._last is None else self._last + 1
        if self._files.span_ns is not None and frame.pts < self._pts[0]:
            return -1  # between the key frame and the span
        return bisect_left(self._pts, frame.pts)


def _packet_times(files: FrameFiles) -> tuple[list[int], list[int], int]:
    """Return sorted presentation times of all frames, of the key frames, and half a period."""
    import av

    pts: list[int] = []
    keys: list[int] = []
    path = files.paths[0]
    with open_container(path, fast=True) as container:
        stream = video_stream(container, files.stream, path)
        if not has_clock(container):
            return [], [], 0
        time_base = Fraction(stream.time_base or 1)
        try:
            for packet in container.demux(stream):
                if not packet.size:
                    continue
                if packet.pts is None:
                    return [], [], 0
                if packet.is_keyframe:
                    keys.append(packet.pts)  # including one hidden by an edit list
                if not packet.is_discard and is_inside(packet.pts, time_base, files.span_ns):
                    pts.append(packet.pts)
        except (av.FFmpegError, OSError):
            pass  # truncated container: frames before the end can be shown
    pts.sort()
    keys.sort()
    steps = np.diff(np.array(pts, dtype=np.int64))
    return pts, keys, max(1, int(np.median(steps)) // 2) if steps.size else 1


def _decoded(container: InputContainer, stream: VideoStream) -> Iterator[VideoFrame]:
    """Yield every decodable frame, skipping packets that fail."""
    import av

    failures = (av.FFmpegError, OSError, ValueError)
    packets = container.demux(stream)
    while True:
        try:
            packet = next(packets)
        except (StopIteration, *failures):
            return
        try:
            yield from packet.decode()
        except EOFError:
            return
        except failures:
            continue
