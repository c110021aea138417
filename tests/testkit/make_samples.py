"""Regenerate the sample videos of `syncaudit/decode/samples`: ``python make_samples.py FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

# Hardware decoders require at least 144 x 144; not a multiple of 16, so that cropping shows.
WIDTH_PX, HEIGHT_PX = 190, 150
N_FRAMES = 8

_X265 = "keyint=8:bframes=2:log-level=none"
CODECS = {
    "h264.mp4": ("libx264", "yuv420p", {"bf": "2", "crf": "30", "preset": "veryslow"}),
    "hevc.mp4": ("libx265", "yuv420p", {"crf": "30", "x265-params": _X265}),
    "av1.mp4": ("libsvtav1", "yuv420p", {"crf": "40", "preset": "8"}),
    "vp9.mp4": ("libvpx-vp9", "yuv420p", {"crf": "40", "b": "0"}),
    "mjpeg.avi": ("mjpeg", "yuvj420p", {"q": "8"}),
}


def image(index: int) -> NDArray[np.uint8]:
    """Return a gradient that brightens over time, with a square moving across it."""
    rows, columns = np.mgrid[:HEIGHT_PX, :WIDTH_PX]
    luma = 30 + 8 * index + rows * 0.4 + columns * 0.3
    at = 10 + 9 * index
    luma[at : at + 40, 2 * at : 2 * at + 30] += 60
    return np.clip(luma, 16, 235).astype(np.uint8)


def write(path: Path) -> None:
    """Encode the frames with the codec and options in the name of `path`."""
    codec, pix_fmt, options = CODECS[path.name]
    with av.open(str(path), "w", options={"fflags": "+bitexact"}) as container:
        stream = container.add_stream(codec, rate=10, options=options)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = WIDTH_PX, HEIGHT_PX, pix_fmt
        for index in range(N_FRAMES):
            frame = av.VideoFrame.from_ndarray(image(index), format="gray")
            container.mux(stream.encode(frame.reformat(format=pix_fmt)))
        container.mux(stream.encode(None))


if __name__ == "__main__":
    for name in CODECS:
        write(Path(sys.argv[1]) / name)
