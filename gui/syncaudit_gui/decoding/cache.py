"""Decoded frames of one camera, the least recently used ones dropped."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

__all__ = ["FrameCache"]

T = TypeVar("T")

# Of decoded frames per camera: 140 of 640x480, 20 of 1920x1080.
CAPACITY_BYTES = 64 << 20


class FrameCache(Generic[T]):
    """Frames by index.

    Parameters
    ----------
    capacity : int
        Bytes; the newest frame is kept even where it is larger.
    """

    def __init__(self, capacity: int = CAPACITY_BYTES) -> None:
        self._capacity = capacity
        self._frames: OrderedDict[int, tuple[T, int]] = OrderedDict()
        self._size = 0

    def __contains__(self, index: object) -> bool:
        return index in self._frames

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self._frames)

    def get(self, index: int) -> T | None:
        """Return a frame, now the most recently used; None where it is not there."""
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
