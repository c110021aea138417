"""Write frames to files: H.264, HEVC and MJPEG through PyAV, or a folder of JPEG images."""

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
from av.video.reformatter import ColorRange
from numpy.typing import NDArray

from syncaudit.writing import draft_of

from .camera import CameraConfig

_NEUTRAL_CHROMA = 128
_JPEG_QUALITY = 90


def encode_frames(frames: Iterable[NDArray[np.uint8]], path: Path, camera: CameraConfig) -> int:
    """Write luma frames to a video file, or a folder for ``images``; return their number.

    A single thread and no creation time: the same frames give the same bytes.

    Frames have the shape (height, width); the camera specifies codec, size, rate and quality.
    """
    if camera.codec == "images":
        return _write_images(frames, path)
    options = {"fflags": "+bitexact"}
    with (
        draft_of(path) as draft,
        av.open(str(draft), "w", format="mp4", container_options=options) as file,
    ):
        rate = Fraction(camera.fps).limit_denominator(1000)
        stream = file.add_stream(_ENCODERS[camera.codec], rate=rate, options=_options(camera))
        if not isinstance(stream, av.VideoStream):
            raise TypeError(f"{_ENCODERS[camera.codec]} is not a video encoder")
        stream.width, stream.height = camera.size_px
        stream.pix_fmt = "yuvj420p" if camera.codec == "mjpeg" else "yuv420p"
        stream.codec_context.thread_count = 1
        # Full range 0 to 255, as in machine vision cameras; unmarked video means 16 to 235.
        stream.codec_context.color_range = ColorRange.JPEG
        image = av.VideoFrame(*camera.size_px, stream.pix_fmt)
        for plane in image.planes[1:]:
            plane.update(bytes([_NEUTRAL_CHROMA]) * plane.buffer_size)
        n_frames = 0
        for luma in frames:
            _fill(image.planes[0], luma)
            image.pts = n_frames
            file.mux(stream.encode(image))
            n_frames += 1
        file.mux(stream.encode(None))
    return n_frames


_ENCODERS = {"h264": "libx264", "hevc": "libx265", "mjpeg": "mjpeg"}


def _options(camera: CameraConfig) -> dict[str, str]:
    if camera.codec == "mjpeg":
        return {"qmin": "3", "qmax": "3", "huffman": "default"}
    gop, n_b = str(camera.gop), str(camera.n_b_frames)
    if camera.codec == "hevc":
        private = f"keyint={gop}:bframes={n_b}:pools=none:frame-threads=1:log-level=error"
        return {"preset": "ultrafast", "crf": str(camera.crf), "x265-params": private}
    return {"preset": "veryfast", "crf": str(camera.crf), "g": gop, "bf": n_b, "threads": "1"}


def _fill(plane: av.video.plane.VideoPlane, luma: NDArray[np.uint8]) -> None:
    buffer = np.frombuffer(memoryview(plane), dtype=np.uint8).reshape(plane.height, plane.line_size)
    buffer[:, : luma.shape[1]] = luma


def _write_images(frames: Iterable[NDArray[np.uint8]], folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    n_frames = 0
    for luma in frames:
        name = folder / f"{n_frames:06d}.jpg"
        cv2.imwrite(str(name), luma, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
        n_frames += 1
    return n_frames
