"""Decode on the CPU, one thread: video through PyAV, images through OpenCV; stills in colour."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Generator, Iterator
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.container import open_container, video_stream
from syncaudit.decode.frame import DecodeTally, Frame, LumaFrames, white_of
from syncaudit.decode.spans import has_clock, in_ns, packets_of, ticks_of
from syncaudit.decode.stored import image_bytes, image_error, stored_images
from syncaudit.errors import StreamReadError
from syncaudit.machine_faults import machine_fault
from syncaudit.model import FrameFiles

if TYPE_CHECKING:
    from av.packet import Packet
    from av.video.codeccontext import VideoCodecContext
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

# Plane 0 of these is 8-bit luma, one byte per pixel.
_PLANAR_LUMA = frozenset(
    f"{family}{layout}"
    for family in ("yuv", "yuvj", "yuva")
    for layout in ("410p", "411p", "420p", "422p", "440p", "444p")
) | {"nv12", "nv21", "nv16", "nv24", "gray", "gray8"}

# Plane 0 of these is luma in 16-bit words; the value is the number of bits to drop to reach 8.
_DEEP_LUMA = {
    f"yuv{layout}p{depth}le": depth - 8
    for layout in ("420", "422", "440", "444")
    for depth in (9, 10, 12, 14, 16)
} | {"gray10le": 2, "gray12le": 4, "gray16le": 8, "p010le": 8, "p012le": 8, "p016le": 8}

# FFmpeg outputs damaged images of this codec without reporting it. If told to stop at errors, it
# fails, and the image is decoded again to recover what is possible.
_LENIENT = "mjpeg"

# Maximum number of frames decoded from a key frame on: one image is not worth more.
_MAX_DECODED = 300


class CpuDecoder:
    """Frames from PyAV with one thread, identical to bare FFmpeg (design, section 8)."""

    name = "cpu"
    tells_damage = True

    def probe(self) -> str | None:
        """Return None: PyAV and OpenCV are always installed."""
        return None

    def unavailable_reason(self) -> str | None:
        """Return None: this is the reference for the others."""
        return None

    def open(self, files: FrameFiles) -> LumaFrames:
        """Start decoding; a file that is not a video fails here, not at the first frame."""
        tally = DecodeTally()
        if not files.paths:
            raise StreamReadError("the camera has no image files", code="empty")
        if files.is_images:
            return LumaFrames(_images(files, tally), tally)
        frames = _video(files, tally)
        next(frames)  # open the container now
        return LumaFrames(frames, tally)  # type: ignore[arg-type]  # only the first is None


def _images(files: FrameFiles, tally: DecodeTally) -> Generator[Frame, None, None]:
    # Sensor rows matter for rolling shutter, so EXIF rotation is not applied.
    flags = cv2.IMREAD_GRAYSCALE | cv2.IMREAD_IGNORE_ORIENTATION
    for index, (name, data) in enumerate(_encoded(files, tally), start=files.first):
        if data is None:
            continue
        try:
            luma = cv2.imdecode(np.frombuffer(data, np.uint8), flags) if data else None
        except cv2.error as error:
            tally.note_error(f"{name}: {image_error(error)}")
            continue
        if luma is None:
            what = "not an image that OpenCV can read" if data else "empty (0 bytes)"
            tally.note_error(f"{name}: {what}")
            continue
        is_cut = _is_cut_off(data)
        tally.n_decoded += 1
        tally.n_corrupt += is_cut
        plane: NDArray[np.uint8] = luma.astype(np.uint8, copy=False)
        yield Frame(index, plane, is_corrupt=is_cut)


def _encoded(files: FrameFiles, tally: DecodeTally) -> Iterator[tuple[str, bytes | None]]:
    """Yield (display name, bytes) of every image; None if they cannot be read."""
    if files.column is not None:
        row = 0 if files.rows is None else files.rows[0]
        try:
            for number, data in enumerate(stored_images(files), start=row):
                yield f"{files.paths[0]}: row {number}", data
        except StreamReadError as error:
            if error.machine_fault is not None:
                raise
            tally.note_error(str(error))
        return
    for path in files.paths:
        try:
            yield path, image_bytes(path)
        except OSError as error:
            if machine_fault(error) is not None:
                raise StreamReadError(f"cannot be read ({error.strerror})", path=path) from error
            tally.note_error(f"{path}: {error}")
            yield path, None


def _is_cut_off(data: bytes) -> bool:
    """Return whether a JPEG or PNG lacks its end marker; decoders fill the rest with grey."""
    if data.startswith(b"\xff\xd8"):
        return b"\xff\xd9" not in data[-65536:]
    if data.startswith(b"\x89PNG"):
        return b"IEND" not in data[-65536:]
    return False


def _video(files: FrameFiles, tally: DecodeTally) -> Generator[Frame | None, None, None]:
    path = files.paths[0]
    with open_container(path) as container:
        found = video_stream(container, files.stream, path)
        found.codec_context.thread_type = "NONE"
        found.codec_context.thread_count = 1
        yield None
        is_timed = has_clock(container)
        time_base = Fraction(found.time_base or 1)
        span = ticks_of(files.span_ns if is_timed else None, time_base)
        if found.codec_context.name == _LENIENT:
            found.codec_context.options = {"err_detect": "explode"}
        index = files.first - 1
        seen: list[int] = []  # pts of the packets so far, sorted
        packets = packets_of(container, found, files.span_ns)
        for frame, is_corrupt in _decoded(container.name, found, packets, tally, seen, span):
            pts = frame.pts if is_timed else None
            # A frame's index is its rank among all packets, decodable or not, so that stamps
            # stay with their frames after damage. Without pts, failures are counted in order.
            if pts is None:
                index = max(index + 1, files.first + tally.n_decoded + tally.n_errors)
            elif pts in span:
                index = max(index + 1, files.first + bisect_left(seen, pts))
            else:
                continue  # between the key frame and the span, or after the span
            try:
                luma = luma_of(frame)
            except (ValueError, OSError, MemoryError) as error:
                tally.note_error(f"{path}: frame {index}: {error}")
                continue
            tally.n_decoded += 1
            tally.n_corrupt += is_corrupt
            yield Frame(
                index,
                luma,
                pts=pts,
                time_base=time_base,
                is_corrupt=is_corrupt,
                is_key=frame.key_frame,
                white=white_of(frame.format.name, frame.color_range),
            )


def _decoded(
    name: str,
    stream: VideoStream,
    packets: Iterator[Packet[VideoStream]],
    tally: DecodeTally,
    seen: list[int],
    span: range,
) -> Iterator[tuple[VideoFrame, bool]]:
    """Yield every recoverable frame and whether it is damaged; continue after failures."""
    import av

    failures = (av.FFmpegError, OSError, ValueError, MemoryError)
    packet = None
    while True:
        try:
            packet = next(packets)
        except StopIteration:
            break
        except failures as error:
            tally.note_error(f"{name}: the file is truncated: {error}")
            break
        pts = packet.pts
        if pts is not None and pts in span and packet.size and not packet.is_discard:
            insort(seen, pts)
        try:
            for frame in packet.decode():
                yield frame, frame.is_corrupt
        except EOFError:
            break
        except failures as error:
            message = f"{name}: packet at pts {pts}: {error}"
            frames = _despite_damage(packet) if stream.codec_context.name == _LENIENT else []
            if frames:
                tally.first_error = tally.first_error or message
            else:
                tally.note_error(message)
            for frame in frames:
                yield frame, True
    if packet is None or packet.size:  # the final, flushing packet did not arrive
        with suppress(*failures, EOFError):
            for frame in stream.codec_context.decode(None):
                yield frame, frame.is_corrupt


def _despite_damage(packet: Packet[VideoStream]) -> list[VideoFrame]:
    """Return what can be recovered from a packet that a strict decoder rejected."""
    import av

    try:
        lenient = cast("VideoCodecContext", av.CodecContext.create(_LENIENT, "r"))
        return [*lenient.decode(packet), *lenient.decode(None)]
    except (av.FFmpegError, OSError, ValueError, MemoryError):
        return []


def luma_of(frame: VideoFrame) -> NDArray[np.uint8]:
    """Return the luma of a decoded frame in 8 bits, shape (height, width).

    Plane 0 without a copy if it is 8-bit luma. Deeper luma is shifted down to 8 bits (truncated,
    so that every back end can do the same). RGB and palettes go through FFmpeg's conversion to
    full-range grey.
    """
    name = frame.format.name
    if name in _DEEP_LUMA:
        plane = frame.planes[0]
        shape, strides = (plane.height, frame.width), (plane.line_size, 2)
        words: NDArray[np.uint16] = np.ndarray(shape, "<u2", plane, strides=strides)  # type: ignore[arg-type]  # a buffer
        return (words >> _DEEP_LUMA[name]).astype(np.uint8)
    if name not in _PLANAR_LUMA:
        frame = frame.reformat(format="gray")
    plane = frame.planes[0]
    shape, strides = (plane.height, frame.width), (plane.line_size, 1)
    return np.ndarray(shape, np.uint8, plane, strides=strides)  # type: ignore[arg-type]  # a buffer


def decode_still(files: FrameFiles, *, index: int, pts_ns: int | None) -> NDArray[np.uint8] | None:
    """Return one image, uint8 of shape (height, width, 3) in blue, green, red, or None.

    `index` is that among single images, from 0. Of a video, the last frame at or before the
    presentation time `pts_ns` is taken, within 300 frames of its key frame; None takes the first
    frame. StreamReadError if the file cannot be opened as video at all.
    """
    if files.is_images:
        return _still_image(files.paths[index])
    return _still_frame(files, pts_ns)


def _still_image(path: str) -> NDArray[np.uint8] | None:
    with suppress(OSError, cv2.error):
        data = np.frombuffer(image_bytes(path), np.uint8)
        image = cv2.imdecode(data, cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
        return None if image is None else image.astype(np.uint8, copy=False)
    return None


def _still_frame(files: FrameFiles, pts_ns: int | None) -> NDArray[np.uint8] | None:
    import av

    path, latest = files.paths[0], None
    with open_container(path) as container:
        stream = video_stream(container, files.stream, path)
        stream.codec_context.thread_type = "NONE"
        time_base = Fraction(stream.time_base or 1)
        wanted_ns = pts_ns if has_clock(container) else None
        span = None if wanted_ns is None else (wanted_ns, 2**62)
        with suppress(av.FFmpegError, OSError, ValueError, MemoryError, StopIteration, EOFError):
            frames = (f for packet in packets_of(container, stream, span) for f in packet.decode())
            for n, frame in enumerate(frames):
                is_late = (
                    wanted_ns is not None
                    and frame.pts is not None
                    and in_ns(frame.pts, time_base) > wanted_ns
                )
                if latest is not None and (is_late or n >= _MAX_DECODED):
                    break
                latest = frame
                if wanted_ns is None:
                    break
        return None if latest is None else np.asarray(latest.to_ndarray(format="bgr24"), np.uint8)
