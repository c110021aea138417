"""Any frame of a camera as an image, decoded on one thread per camera; no Qt in here.

The thread of a camera always serves the newest request. Frames of a video file are found by index:
one pass over its packets, then exact seeks. Others are stored as single image files.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.container import open_container, video_stream
from syncaudit.decode.spans import has_clock, is_inside
from syncaudit.errors import StreamReadError, SyncAuditError
from syncaudit.model import FrameFiles

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream


T = TypeVar("T")

# Decoded frames kept per camera: 140 of 640x480, 20 of 1920x1080.
CAPACITY_BYTES = 64 << 20

Pixels = NDArray[np.uint8]


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
        width, height = _fitted(frame.width, frame.height, width_px, height_px)
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


class ImageFrames:
    """Images of a folder, a glob or a table, by their position in the list."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        self._paths = paths

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return len(self._paths)

    def key_of(self, index: int) -> int:
        """Return the frame that is quickest to decode near another: itself."""
        return index

    def until(self, index: int, is_stopped: Callable[[], bool]) -> Iterator[tuple[int, Pixels]]:
        """Yield the single requested frame.

        StreamReadError if the file holds no image.
        """
        if is_stopped():
            return
        path = self._paths[index]
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise StreamReadError(error.strerror or "cannot be read", path=path) from error
        # As everywhere in syncaudit, EXIF rotation is not applied: rows are sensor rows.
        flags = cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), flags) if data else None
        if pixels is None:
            what = "not an image that OpenCV can read" if data else "the file is empty (0 bytes)"
            raise StreamReadError(what, path=path)
        yield index, np.asarray(pixels, dtype=np.uint8)

    def size_of(self, frame: Pixels) -> int:
        """Return the size of a frame in bytes."""
        return int(frame.nbytes)

    def scaled(self, frame: Pixels, width_px: int, height_px: int) -> Pixels:
        """Return a frame as BGRA that fits into a box."""
        size = _fitted(frame.shape[1], frame.shape[0], width_px, height_px)
        small = cv2.resize(frame, size, interpolation=cv2.INTER_AREA)
        return np.asarray(cv2.cvtColor(small, cv2.COLOR_BGR2BGRA), dtype=np.uint8)

    def close(self) -> None:
        """Do nothing: no file is kept open."""


_Frames = ImageFrames | VideoFrames


class CameraThread:
    """Decodes, scales and delivers the frames of one camera.

    `deliver` receives every `FrameImage`, on this thread.
    """

    def __init__(self, files: FrameFiles, deliver: Callable[[FrameImage], None]) -> None:
        self._files = files
        self._deliver = deliver
        self._wake = threading.Condition()
        self._wanted: FrameRequest | None = None
        self._is_closing = False
        self._cache: FrameCache[Any] = FrameCache()
        self.n_served = 0
        self._thread = threading.Thread(target=self._run, name="syncaudit-camera", daemon=True)
        self._thread.start()

    def ask(self, request: FrameRequest) -> None:
        """Request a frame; an older unanswered request is dropped."""
        with self._wake:
            self._wanted = request
            self._wake.notify()

    def begin_close(self) -> None:
        """Tell the thread to end, without waiting for it."""
        with self._wake:
            self._is_closing = True
            self._wake.notify()

    def close(self) -> None:
        """End the thread and wait until it has closed its file."""
        self.begin_close()
        self._thread.join()

    def _run(self) -> None:
        frames: _Frames | None = None
        try:
            while (request := self._next_request()) is not None:
                try:
                    if frames is None:
                        files = self._files
                        frames = ImageFrames(files.paths) if files.is_images else VideoFrames(files)
                    self._serve(frames, request)
                except (SyncAuditError, OSError, ValueError, MemoryError) as error:
                    self._hand_over(request, None, request.index, error=str(error))
        finally:
            if frames is not None:
                frames.close()

    def _next_request(self) -> FrameRequest | None:
        with self._wake:
            while self._wanted is None and not self._is_closing:
                self._wake.wait()
            request, self._wanted = self._wanted, None
            return None if self._is_closing else request

    def _has_newer(self) -> bool:
        return self._wanted is not None or self._is_closing

    def _serve(self, frames: _Frames, request: FrameRequest) -> None:
        frame, size_px = self._cache.get(request.index), (request.width_px, request.height_px)
        if frame is None and request.is_hasty:
            key = frames.key_of(request.index)
            if key != request.index:
                near = self._decoded(frames, key)
                if near is not None:
                    self._hand_over(request, frames.scaled(near, *size_px), key)
                if self._has_newer():
                    return
        if frame is None:
            frame = self._decoded(frames, request.index)
        if frame is not None:
            self._hand_over(request, frames.scaled(frame, *size_px), request.index)
        elif not self._has_newer():
            why = f"frame {request.index} cannot be decoded"
            n_frames = frames.n_frames
            if n_frames is not None and request.index >= n_frames:
                why = f"frame {request.index} has a timestamp, but the file has {n_frames} frames"
            self._hand_over(request, None, request.index, error=why)
        self._look_ahead(frames, request)

    def _decoded(self, frames: _Frames, index: int) -> Any:
        frame = self._cache.get(index)
        if frame is not None:
            return frame
        found: Any
        for rank, found in frames.until(index, self._has_newer):
            if rank >= 0:
                self._cache.put(rank, found, frames.size_of(found))
            if rank == index:
                return found
        return None

    def _look_ahead(self, frames: _Frames, request: FrameRequest) -> None:
        for index in range(request.index + 1, request.index + 1 + request.n_ahead):
            is_past_end = frames.n_frames is not None and index >= frames.n_frames
            if self._has_newer() or is_past_end:
                return
            self._decoded(frames, index)

    def _hand_over(
        self,
        request: FrameRequest,
        pixels: NDArray[np.uint8] | None,
        shown_index: int,
        *,
        error: str = "",
    ) -> None:
        if self._is_closing:
            return
        self.n_served += 1
        self._deliver(
            FrameImage(index=request.index, pixels=pixels, shown_index=shown_index, error=error)
        )


class FrameCache(Generic[T]):
    """Recently used frames by index.

    `capacity` is a limit in bytes; the newest frame is kept even if it is larger.
    """

    def __init__(self, capacity: int = CAPACITY_BYTES) -> None:
        self._capacity = capacity
        self._frames: OrderedDict[int, tuple[T, int]] = OrderedDict()
        self._size = 0

    def __contains__(self, index: object) -> bool:
        return index in self._frames

    def __len__(self) -> int:
        return len(self._frames)

    def get(self, index: int) -> T | None:
        """Return a frame and mark it as recently used; None if it is not cached."""
        found = self._frames.get(index)
        if found is None:
            return None
        self._frames.move_to_end(index)
        return found[0]

    def put(self, index: int, frame: T, size: int) -> None:
        """Keep a frame of `size` bytes."""
        self._size += size - self._frames.pop(index, (frame, 0))[1]
        self._frames[index] = (frame, size)
        while self._size > self._capacity and len(self._frames) > 1:
            _, (_, dropped) = self._frames.popitem(last=False)
            self._size -= dropped


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameRequest:
    """Request for one frame at a size."""

    index: int
    width_px: int  # largest size wanted; the image keeps its aspect ratio
    height_px: int
    # Whether a nearby key frame may be shown until the frame itself is decoded.
    is_hasty: bool = False
    n_ahead: int = 0  # frames to decode next while there is no other request


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FrameImage:
    """One frame, ready to draw."""

    index: int  # the requested frame
    # shape (height, width, 4): blue, green, red, 255. None if it is not available.
    pixels: NDArray[np.uint8] | None
    shown_index: int  # the frame that `pixels` show: a different one if `is_coarse`
    error: str = ""  # why it is not available

    @property
    def is_coarse(self) -> bool:
        """Whether it is a stand-in until the frame itself is decoded."""
        return self.shown_index != self.index


def _fitted(
    width_px: int, height_px: int, box_width_px: int, box_height_px: int
) -> tuple[int, int]:
    """Return the largest size with an image's aspect ratio within a box; at least a pixel."""
    if width_px <= 0 or height_px <= 0:
        return 1, 1
    scale = min(box_width_px / width_px, box_height_px / height_px)
    return max(1, round(width_px * scale)), max(1, round(height_px * scale))
