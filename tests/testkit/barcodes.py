"""Videos whose frames carry their own number as a barcode, readable from any rendering of them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from testkit.videos import grey_frame, write_video

N_BITS = 10


def barcode(index: int, width: int = 160, height: int = 96) -> NDArray[np.uint8]:
    """Return a grey image: the bits from left to right, their complement below as a check."""
    bits = [(index >> k) & 1 for k in range(N_BITS)]
    frame = np.full((height, width), 128, dtype=np.uint8)
    block = width // N_BITS
    for k, bit in enumerate(bits):
        columns = slice(k * block, (k + 1) * block)
        frame[: height // 2, columns] = 220 if bit else 35
        frame[height // 2 :, columns] = 35 if bit else 220
    return frame


def read_barcode(grey: NDArray[np.integer]) -> int:
    """Return the number in an image of a frame, at any scale; fail if it holds none."""
    height, width = grey.shape
    top, bottom = grey[height // 4], grey[(3 * height) // 4]
    middles = ((np.arange(N_BITS) + 0.5) * width / N_BITS).astype(int)
    upper, lower = top[middles] > 128, bottom[middles] > 128
    assert bool(np.all(upper != lower)), "no barcode in the image"
    return int(sum(int(bit) << k for k, bit in enumerate(upper)))


def write_barcodes(
    path: Path,
    n_frames: int = 60,
    *,
    gop: int = 12,
    b_frames: int = 2,
    rate: int = 30,
    size: tuple[int, int] = (160, 96),
    pts: list[int] | None = None,
    codec: str = "libx264",
) -> Path:
    """Write a barcode video; `pts` in milliseconds give it a variable frame rate."""
    options = {"g": str(gop), "bf": str(b_frames), "sc_threshold": "0", "preset": "ultrafast"}
    frames = (grey_frame(barcode(index, *size)) for index in range(n_frames))
    time_base = None if pts is None else Fraction(1, 1000)
    return write_video(
        path, frames, codec, rate=rate, options=options, time_base=time_base, pts=pts
    )
