"""Keep luma planes on a device and compute features there, for many frames at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

_InStream = Callable[[], AbstractContextManager[Any]]


class DeviceBatch:
    """Consecutive frames of one camera: a torch.Tensor of uint8, shape (n, height, width).

    What is requested for one frame is computed for all of them and copied to the host, since it
    will be requested for the others too: one launch and one wait for the device, not one each.
    If the memory of the device is full, the host computes. `in_stream` returns the context of the
    CUDA stream in which the planes were written.
    """

    def __init__(self, planes: Any, in_stream: _InStream = nullcontext) -> None:
        self.planes = planes
        self._in_stream = in_stream
        self._computed: dict[tuple[object, ...], NDArray[Any]] = {}

    def __iter__(self) -> Iterator[DevicePlane]:
        """Yield its frames in order."""
        return (DevicePlane(self, place) for place in range(len(self.planes)))

    def computed(self, feature: Callable[..., Any], arguments: tuple[int, ...]) -> NDArray[Any]:
        """Return a feature of `syncaudit.decode.features` for all frames, on the host."""
        key = (feature, *arguments)
        if key not in self._computed:
            with self._in_stream():
                try:
                    found = feature(self.planes, *arguments)
                except sys.modules["torch"].cuda.OutOfMemoryError:
                    self.planes = self.planes.cpu()
                    found = feature(self.planes, *arguments)
                self._computed[key] = found.cpu().numpy()
        return self._computed[key]

    def to_host(self, place: int) -> NDArray[np.uint8]:
        """Return the plane of one frame."""
        with self._in_stream():
            luma: NDArray[np.uint8] = self.planes[place].cpu().numpy()
        return luma


class DevicePlane:
    """One frame of a batch: a `syncaudit.decode.frame.Plane`."""

    __slots__ = ("_batch", "_place")

    def __init__(self, batch: DeviceBatch, place: int) -> None:
        self._batch = batch
        self._place = place

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width in pixels."""
        _, height, width = self._batch.planes.shape
        return height, width

    def computed(self, feature: Callable[..., Any], arguments: tuple[int, ...]) -> NDArray[Any]:
        """Return a feature of this frame, on the host."""
        found: NDArray[Any] = self._batch.computed(feature, arguments)[self._place]
        return found

    def to_host(self) -> NDArray[np.uint8]:
        """Return the whole plane of this frame alone."""
        return self._batch.to_host(self._place)
