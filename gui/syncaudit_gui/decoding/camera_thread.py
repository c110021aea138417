"""One thread per camera that always serves the newest request."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from syncaudit.errors import SyncAuditError
from syncaudit.model import FrameFiles
from syncaudit_gui.decoding.frame_image import FrameImage, FrameRequest
from syncaudit_gui.decoding.image_files import ImageFrames
from syncaudit_gui.decoding.video import VideoFrames

T = TypeVar("T")

# Decoded frames kept per camera: 140 of 640x480, 20 of 1920x1080.
CAPACITY_BYTES = 64 << 20


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
