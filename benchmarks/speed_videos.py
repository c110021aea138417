"""The same frames in several codecs and sizes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
from base_clips import base_clip
from numpy.typing import NDArray

from syncaudit.decode import iter_luma
from syncaudit.model import CameraStream, FrameFiles, SourceKind

N_FRAMES = 150
SIZES = {"480p12": ((854, 480), 12), "720p30": ((1280, 720), 30), "1080p30": ((1920, 1080), 30)}
_X264 = {"preset": "veryfast", "crf": "26", "g": "48", "threads": "1"}
_X265 = "keyint=48:bframes=2:pools=none:frame-threads=1:log-level=none"
# Encoder and its options.
CODECS: Mapping[str, tuple[str, dict[str, str]]] = {
    "H.264": ("libx264", _X264 | {"bf": "0"}),
    "H.264, B-frames": ("libx264", _X264 | {"bf": "2"}),
    "HEVC": ("libx265", {"preset": "ultrafast", "crf": "26", "x265-params": _X265}),
    "MJPEG": ("mjpeg", {"qmin": "3", "qmax": "3", "huffman": "default"}),
    "AV1": ("libsvtav1", {"preset": "10", "crf": "38", "svtav1-params": "lp=1"}),
}


def made_videos(
    codecs: Mapping[str, tuple[str, dict[str, str]]],
    sizes: Mapping[str, tuple[tuple[int, int], int]],
    folder: Path,
) -> Iterator[tuple[str, CameraStream]]:
    """Yield the name of each video and its camera; report and skip what cannot be encoded."""
    folder.mkdir(parents=True, exist_ok=True)
    for codec, (encoder, options) in codecs.items():
        if encoder not in av.codecs_available:
            print(f"  {codec} is left out: this PyAV has no {encoder}")
            continue
        for name, (size_px, rate_hz) in sizes.items():
            path = folder / f"{codec.replace(', ', '_')}_{name}.mp4"
            if not path.exists():
                _encode(path, encoder, options, size_px, rate_hz)
            yield f"{codec} {name}", _camera(path, size_px, rate_hz)


def _encode(
    path: Path, encoder: str, options: dict[str, str], size_px: tuple[int, int], rate_hz: int
) -> None:
    os.environ["SVT_LOG"] = "1"  # errors only
    unfinished = path.with_suffix(".part.mp4")
    with av.open(str(unfinished), "w") as file:
        stream = file.add_stream(encoder, rate=Fraction(rate_hz), options=options)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height = size_px
        stream.pix_fmt = "yuvj420p" if encoder == "mjpeg" else "yuv420p"
        for k, luma in enumerate(_pictures(size_px)):
            grey = av.VideoFrame.from_ndarray(luma, format="gray")
            frame = grey.reformat(format=stream.pix_fmt)
            frame.pts, frame.time_base = k, Fraction(1, rate_hz)
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    unfinished.rename(path)


def _pictures(size_px: tuple[int, int]) -> Iterator[NDArray[np.uint8]]:
    """Yield frames of the base clip's front camera, enlarged, with sensor noise."""
    base = base_clip(0, size_px=SIZES["480p12"][0], seed=1000)
    noise = np.random.default_rng(0).normal(0.0, 1.5, (size_px[1] + 16, size_px[0] + 16))
    for k, image in enumerate(iter_luma(FrameFiles(paths=(str(base.folder / "cam_front.mp4"),)))):
        if k == N_FRAMES:
            return
        y, x = k * 7 % 17, k * 11 % 17
        large = cv2.resize(image.luma, size_px, interpolation=cv2.INTER_CUBIC)
        noisy = large + noise[y : y + size_px[1], x : x + size_px[0]]
        yield np.clip(noisy + 0.5, 0, 255).astype(np.uint8)


def _camera(path: Path, size_px: tuple[int, int], rate_hz: int) -> CameraStream:
    return CameraStream(
        name="cam",
        clock="cam",
        kind=SourceKind.CAMERA,
        time_ns=np.round(np.arange(N_FRAMES) / rate_hz * 1e9).astype(np.int64),
        files=FrameFiles(paths=(str(path),)),
        width_px=size_px[0],
        height_px=size_px[1],
        line_delay_s=1e-5,
    )
