"""Convert uncompressed images losslessly to a format that FFV1 supports."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ImageError", "raw_image"]

# Encodings of sensor_msgs/Image: FFmpeg's name for the same bytes, and the lossless format for
# FFV1. A Bayer mosaic is stored unchanged, as grey: every detector halves images by 2x2 means.
_RAW = {
    "mono8": ("gray", "gray"), "8UC1": ("gray", "gray"),
    "bayer_rggb8": ("gray", "gray"), "bayer_bggr8": ("gray", "gray"),
    "bayer_gbrg8": ("gray", "gray"), "bayer_grbg8": ("gray", "gray"),
    "bgr8": ("bgr24", "bgr0"), "8UC3": ("bgr24", "bgr0"), "rgb8": ("rgb24", "bgr0"),
    "bgra8": ("bgra", "bgra"), "8UC4": ("bgra", "bgra"), "rgba8": ("rgba", "bgra"),
    "mono16": ("gray16le", "gray16le"), "16UC1": ("gray16le", "gray16le"),
    "uyvy": ("uyvy422", "yuv422p"), "yuv422": ("uyvy422", "yuv422p"),
    "yuyv": ("yuyv422", "yuv422p"), "yuv422_yuy2": ("yuyv422", "yuv422p"),
}  # fmt: skip
_BYTES = {"gray": 1, "bgr24": 3, "rgb24": 3, "bgra": 4, "rgba": 4, "gray16le": 2}
_BYTES |= {"uyvy422": 2, "yuyv422": 2}


class ImageError(ValueError):
    """An image is of a kind that cannot be stored."""


def raw_image(
    data: bytes, encoding: str, *, width: int, height: int, step: int, is_big: bool
) -> Any:
    """Return an uncompressed image as a frame in a lossless format for FFV1.

    `data` are rows of `step` bytes, the encoding is one of ``sensor_msgs/Image``; 16-bit words may
    be big endian (`is_big`). ImageError if the encoding is unknown or bytes are missing.
    """
    import av

    known = _RAW.get(encoding)
    if known is None:
        raise ImageError(f"raw images of the encoding '{encoding}' are not known")
    given, kept = known
    n_row = width * _BYTES[given]
    if not n_row or step < n_row or len(data) < step * (height - 1) + n_row:
        raise ImageError(
            f"a raw image of {width}x{height} ({encoding}, {step} bytes a row) has {len(data)} "
            "bytes"
        )
    padded = data.ljust(step * height, b"\0")[: step * height]
    rows = np.frombuffer(padded, np.uint8).reshape(height, step)[:, :n_row]
    if given == "gray16le":
        words = np.ascontiguousarray(rows).view(">u2" if is_big else "<u2")
        return av.VideoFrame.from_ndarray(words.astype("<u2"), format=given)
    if given in ("uyvy422", "yuyv422"):
        luma, blue, red = (1, 0, 2) if given == "uyvy422" else (0, 1, 3)
        planes = [rows[:, luma::2], rows[:, blue::4], rows[:, red::4]]
        return _planar(planes, width, height)
    shape = (height, width) if given == "gray" else (height, width, _BYTES[given])
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(rows).reshape(shape), format=given)
    return frame if given == kept else frame.reformat(format=kept)


def _planar(planes: list[NDArray[np.uint8]], width: int, height: int) -> Any:
    """Return a 4:2:2 frame from its planes; FFmpeg's scaler would round them."""
    import av

    frame = av.VideoFrame(width, height, "yuv422p")
    for plane, values in zip(frame.planes, planes, strict=True):
        rows = np.zeros((plane.height, plane.line_size), np.uint8)
        rows[:, : values.shape[1]] = values
        plane.update(rows.tobytes())
    return frame
