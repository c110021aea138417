from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from testkit.videos import grey_frame, write_video


@pytest.fixture(scope="session")
def encode(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Write a video of grey frames whose level encodes their index."""

    def write(
        name: str,
        codec: str = "libx264",
        *,
        n_frames: int = 10,
        pix_fmt: str = "yuv420p",
        container_format: str | None = None,
        options: dict[str, str] | None = None,
        size_px: tuple[int, int] = (64, 48),
        pts_ms: Sequence[int] | None = None,
    ) -> Path:
        path = tmp_path_factory.mktemp("video") / name
        shape = size_px[::-1]
        pictures = (
            np.full(shape, (40 + 15 * index) % 240, dtype=np.uint8)
            + np.random.default_rng(index).integers(0, 5, shape, dtype=np.uint8)
            for index in range(n_frames)
        )
        frames = (grey_frame(frame, pix_fmt) for frame in pictures)
        return write_video(
            path,
            frames,
            codec,
            options=options,
            container_format=container_format,
            time_base=None if pts_ms is None else Fraction(1, 1000),
            pts=pts_ms,
        )

    return write
