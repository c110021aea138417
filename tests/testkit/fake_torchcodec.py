"""A stand-in for torchcodec's low-level decoders: the names used here, frames decoded by PyAV."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import av
import numpy as np

from syncaudit.decode.cpu import luma_of


class Demuxer:
    def __init__(self, path: str) -> None:
        self._container = av.open(path)
        self._stream = self._container.streams.video[0]
        self._stream.codec_context.thread_count = 1
        self.streams = [self]

    def make_decoder(self, device: str) -> Demuxer:
        assert device == "cpu"
        return self

    def seek(self, seconds: float) -> None:
        at = round(seconds / self._stream.time_base)
        self._container.seek(at, stream=self._stream)

    def __iter__(self) -> Iterator[Any]:
        return (packet for packet in self._container.demux(self._stream) if packet.size)

    def decode(self, packet: Any) -> list[Any]:
        return [_frame(frame, self._stream.time_base) for frame in packet.decode()]

    def drain(self) -> list[Any]:
        flushed = self._stream.codec_context.decode(None)
        return [_frame(frame, self._stream.time_base) for frame in flushed]


def _frame(frame: av.VideoFrame, time_base: Any) -> Any:
    import torch

    return SimpleNamespace(
        pts_seconds=float(frame.pts * time_base),
        pixel_format=frame.format.name,
        planes=[torch.from_numpy(np.array(luma_of(frame)))],
    )
