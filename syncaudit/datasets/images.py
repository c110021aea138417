"""Write images to a file of their own, losslessly and without re-encoding compressed ones."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

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
# Images buffered until one can be decoded: a video may start between key frames.
_MOST_WAITING = 600
_TICKS = Fraction(1, 1000)  # Matroska's
# Codecs copied into Matroska; stills of other kinds become files in a folder.
_VIDEO = {
    "h264": "h264",
    "x264": "h264",
    "x265": "hevc",
    "h265": "hevc",
    "hevc": "hevc",
    "vp9": "vp9",
    "av1": "av1",
}
_STILLS = {b"\x89PNG": "png", b"RIFF": "webp", b"BM": "bmp", b"II*\0": "tiff", b"MM\0*": "tiff"}

# Units of an image at which decoding can start: instantaneous refresh, or parameter sets
# (ITU-T H.264, table 7-1; H.265, table 7-1).
_KEY_UNITS = {"h264": frozenset({5, 7}), "hevc": frozenset({*range(16, 24), 32, 33, 34})}


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


def codec_of(data: bytes, said: str) -> str:
    """Return the codec of a compressed image, from its first bytes or else from the bag."""
    if data[:2] == b"\xff\xd8":
        return "mjpeg"
    for magic, codec in _STILLS.items():
        if data.startswith(magic):
            return codec
    words = said.lower()
    for word, codec in _VIDEO.items():
        if word in words:
            return codec
    if "jpeg" in words or "jpg" in words:
        return "mjpeg"  # damaged at its start: the decoder will report it
    raise ImageError(f"images of the format '{said}' are not known")


class ImageFile:
    """Images of one topic in order: a Matroska file, or a folder of stills."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._form = ""
        self._waiting: list[tuple[bytes, int]] = []  # until one reveals the image size
        self._video: _Video | None = None
        self.uri: str | None = None
        self.n_kept = 0
        self.n_skipped = 0  # images before the first one at which decoding can start

    def add(self, data: bytes, codec: str, at_ns: int) -> None:
        """Add a compressed image unchanged; its codec is from `codec_of`.

        The receive time `at_ns` becomes the container's clock, which is not evidence. ImageError
        if the topic changes its codec, or none of its first images can be decoded.
        """
        self._expect(codec)
        if not self.n_kept and codec in _KEY_UNITS and not _is_key(data, codec):
            self.n_skipped += 1
            return
        if codec in _STILLS.values():
            self._path.mkdir(parents=True, exist_ok=True)
            self._path.joinpath(f"{self.n_kept:07d}.{codec}").write_bytes(data)
            self.uri = str(self._path)
        elif self._video is not None:
            self._video.mux(data, at_ns)
        else:
            self._waiting.append((data, at_ns))
            size = _size_of(data, codec)
            if size is None and len(self._waiting) == _MOST_WAITING:
                raise ImageError(f"none of the first {_MOST_WAITING} images can be decoded")
            if size is not None:
                self._video = _Video(self._path, codec, *size)
                for waiting in self._waiting:
                    self._video.mux(*waiting)
                self._waiting = []
        self.n_kept += 1

    def add_raw(self, frame: VideoFrame, at_ns: int) -> None:
        """Add an uncompressed image from `raw_image`; FFV1 is lossless."""
        self._expect(f"{frame.format.name} {frame.width}x{frame.height}")
        if self._video is None:
            size = (frame.width, frame.height)
            self._video = _Video(self._path, "ffv1", *size, pixels=frame.format.name)
        self._video.encode(frame, at_ns)
        self.n_kept += 1

    def close(self) -> None:
        """Finish the file; if no image could be decoded, none is kept."""
        if self._video is not None:
            self.uri = self._video.close()
        self.n_kept -= len(self._waiting)
        self._waiting = []

    def _expect(self, form: str) -> None:
        self._form = self._form or form
        if form != self._form:
            raise ImageError(f"the images change from {self._form} to {form}")


class _Video:
    """A Matroska file that is being written."""

    def __init__(
        self, path: Path, codec: str, width: int, height: int, *, pixels: str | None = None
    ) -> None:
        import av

        self._target = path.with_name(path.name + ".mkv")
        self._part = path.with_name(path.name + ".mkv.part")
        self._output = av.open(str(self._part), "w", format="matroska")
        self._stream: Any
        if pixels is None:
            self._stream = self._output.add_mux_stream(
                codec, width=width, height=height, time_base=_TICKS
            )
        else:
            self._stream = self._output.add_stream(codec, rate=30)
            self._stream.width, self._stream.height = width, height
            self._stream.pix_fmt = pixels
            self._stream.codec_context.time_base = _TICKS
            self._stream.codec_context.thread_count = 1
        self._codec = codec
        self._is_encoder = pixels is not None
        self._last = -1
        self._first_ns: int | None = None

    def mux(self, data: bytes, at_ns: int) -> None:
        import av

        packet = av.Packet(data)
        packet.stream = self._stream
        packet.pts = packet.dts = self._tick(at_ns)
        packet.time_base = _TICKS
        packet.is_keyframe = _is_key(data, self._codec)
        self._output.mux(packet)

    def encode(self, frame: VideoFrame, at_ns: int) -> None:
        frame.pts, frame.time_base = self._tick(at_ns), _TICKS
        self._output.mux(self._stream.encode(frame))

    def close(self) -> str:
        if self._is_encoder:
            self._output.mux(self._stream.encode(None))
        self._output.close()
        self._part.replace(self._target)
        return str(self._target)

    def _tick(self, at_ns: int) -> int:
        """Return a presentation time that increases by at least one, as containers require."""
        if self._first_ns is None:
            self._first_ns = at_ns
        self._last = max(self._last + 1, (at_ns - self._first_ns) // 10**6)
        return self._last


def _is_key(data: bytes, codec: str) -> bool:
    """Return whether decoding can start at an image: viewers seek to such images."""
    if codec not in _KEY_UNITS:
        return codec == "mjpeg"
    at = data.find(b"\0\0\1")
    while 0 <= at < len(data) - 3:
        head = data[at + 3]
        kind = head & 0x1F if codec == "h264" else head >> 1 & 0x3F
        if kind in _KEY_UNITS[codec]:
            return True
        at = data.find(b"\0\0\1", at + 3, at + 4096)
    return False


def _size_of(data: bytes, codec: str) -> tuple[int, int] | None:
    """Return width and height of the first image that can be decoded."""
    import av
    from av.video.codeccontext import VideoCodecContext

    try:
        decoder = av.CodecContext.create(codec, "r")
        if not isinstance(decoder, VideoCodecContext):
            return None
        decoder.thread_count = 1  # dav1d may wait for its threads forever when it closes
        frames = [*decoder.decode(av.Packet(data)), *decoder.decode(None)]
    except (av.FFmpegError, ValueError, MemoryError):
        return None
    return (frames[0].width, frames[0].height) if frames else None
