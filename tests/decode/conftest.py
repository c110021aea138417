from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
import pytest


@pytest.fixture(scope="session")
def encode(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Write a video of grey frames whose level tells their index."""

    def write(
        name: str,
        codec: str = "libx264",
        *,
        n_frames: int = 10,
        pix_fmt: str = "yuv420p",
        container_format: str | None = None,
        options: dict[str, str] | None = None,
        size_px: tuple[int, int] = (64, 48),
    ) -> Path:
        path = tmp_path_factory.mktemp("video") / name
        with av.open(str(path), "w", format=container_format) as container:
            stream = container.add_stream(codec, rate=30, options=options or {})
            stream.width, stream.height, stream.pix_fmt = *size_px, pix_fmt
            for index in range(n_frames):
                shape = size_px[::-1]
                picture = np.full(shape, (40 + 15 * index) % 240, dtype=np.uint8)
                picture += np.random.default_rng(index).integers(0, 5, shape, dtype=np.uint8)
                frame = av.VideoFrame.from_ndarray(picture, format="gray")
                container.mux(stream.encode(frame.reformat(format=pix_fmt)))
            container.mux(stream.encode(None))
        return path

    return write
