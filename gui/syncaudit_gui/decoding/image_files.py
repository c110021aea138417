"""Frames stored as single image files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from syncaudit.errors import StreamReadError
from syncaudit_gui.decoding.frame_image import fitted

Pixels = NDArray[np.uint8]


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
        size = fitted(frame.shape[1], frame.shape[0], width_px, height_px)
        small = cv2.resize(frame, size, interpolation=cv2.INTER_AREA)
        return np.asarray(cv2.cvtColor(small, cv2.COLOR_BGR2BGRA), dtype=np.uint8)

    def close(self) -> None:
        """Do nothing: no file is kept open."""
