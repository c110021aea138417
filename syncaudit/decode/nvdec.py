"""Decode on an NVIDIA GPU through PyNvVideoCodec (extra ``nvdec``).

Its core decoder receives the packets that PyAV reads, and passes their presentation times on. Its
`SimpleDecoder` (2.2, on an H100) stamps frames with decoding times, and takes duration times rate
as their number: for a Matroska file with a variable rate it returns 29 frames of 40.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.back_end import Agreement, BackEnd, DeviceBatch, compare_with_cpu, first_line
from syncaudit.decode.container import VideoHeader, VideoPart, open_container, video_stream
from syncaudit.decode.frame import Plane, UnfitError
from syncaudit.decode.spans import packets_of

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.packet import Packet
    from av.video.stream import VideoStream

# Frames whose features are computed at once: one wait for the GPU instead of one each.
BATCH = 16
# CUDA_VISIBLE_DEVICES determines which GPU that is.
_GPU = 0
_CODECS = {"h264": "H264", "hevc": "HEVC", "av1": "AV1", "vp9": "VP9", "mjpeg": "JPEG"}
# Bitstream filters that turn the packets of MP4 and Matroska into the byte stream NVDEC parses.
_BYTE_STREAM = {"h264": "h264_mp4toannexb", "hevc": "hevc_mp4toannexb"}
# Coded widths and heights are multiples of no more than this (a coding tree unit of HEVC).
_CODED_MULTIPLE_PX = 64
# Idle decoders kept for the next video; at 854 x 480 one takes 20 MB on the GPU.
_MAX_IDLE = 16


@dataclass(frozen=True, slots=True)
class _Session:
    """A decoder, and the torch CUDA stream in which it and all readers of its frames work."""

    decoder: Any
    stream: Any  # None: its frames are on the host


class _IdleSessions:
    """Decoders that can be reused for a video coded with the same parameters as their last one.

    A new one costs 50 ms, 20 times as much as an idle one. If the parameters differ, the library
    keeps the surfaces of the last video, which may be too few.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: list[tuple[object, _Session]] = []

    def take(self, parameters: object) -> _Session | None:
        with self._lock:
            for place, (own, session) in enumerate(self._sessions):
                if own == parameters:
                    del self._sessions[place]
                    return session
        return None

    def put(self, parameters: object, session: _Session) -> None:
        """Add one, and drop the one that has been idle longest if there are too many."""
        with self._lock:
            self._sessions.append((parameters, session))
            del self._sessions[:-_MAX_IDLE]


class NvdecDecoder(BackEnd):
    """NVDEC; frames stay on the GPU if torch can use them there."""

    name = "nvdec"
    _idle: ClassVar[_IdleSessions] = _IdleSessions()
    # None: every frame is copied to the host.
    _torch: ClassVar[Any] = None

    def probe(self) -> str | None:
        """Return why there is no NVDEC here, or None."""
        try:
            nvc = _library()
            capable = _capabilities(nvc, nvc.cudaVideoCodec.H264)
        except UnfitError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001  # the driver raises its own exception types
            return f"the GPU does not answer ({first_line(error)})"
        return None if capable.get("supported", True) else "the GPU does not decode H.264"

    @classmethod
    def compare(cls) -> Agreement:
        """Compare with the CPU what stays on the GPU, or what is copied if that fails."""
        cls._torch = _torch_on_gpu()
        agreement = compare_with_cpu(cls())
        if agreement.general is not None and cls._torch is not None:
            cls._torch = None
            agreement = compare_with_cpu(cls())
        return agreement

    @classmethod
    def keeps_on_device(cls) -> bool:
        """Return whether frames stay on the GPU, so that features are computed there."""
        return cls.agreement().general is None and cls._torch is not None

    def decoded(
        self, part: VideoPart
    ) -> Generator[tuple[int, NDArray[np.uint8] | Plane], None, None]:
        """Yield presentation time and luma, as `BackEnd` requires."""
        if not part.wanted:
            return
        nvc, torch = _library(), self._torch
        try:
            _check(nvc, part.header)
            with open_container(part.path, fast=True) as container:
                stream = video_stream(container, 0, part.path)
                parameters = (torch, part.header, stream.codec_context.extradata)
                session = self._idle.take(parameters) or _new_session(nvc, torch, part.header)
                frames = _frames(nvc, session.decoder, container, stream, part)
                # Frames before the first requested one lead up to it from the key frame.
                shown = (frame for frame in frames if frame.getPTS() >= part.wanted[0])
                if torch is None:
                    yield from _copied(nvc, shown, part)
                else:
                    yield from _on_device(torch, nvc, session.stream, shown, part)
                for _ in frames:  # leave nothing of this video in the decoder
                    pass
            self._idle.put(parameters, session)
        except UnfitError:
            raise
        except Exception as error:  # the driver raises its own exception types
            raise UnfitError(f"the driver failed ({first_line(error)})") from error


def _new_session(nvc: Any, torch: Any, header: VideoHeader) -> _Session:
    stream = None if torch is None else torch.cuda.Stream(_GPU)
    width_px, height_px = (
        -(-size // _CODED_MULTIPLE_PX) * _CODED_MULTIPLE_PX
        for size in (header.width_px, header.height_px)
    )
    decoder = nvc.CreateDecoder(
        gpuid=_GPU,
        codec=getattr(nvc.cudaVideoCodec, _CODECS[header.codec]),
        # In its own stream it copies without waiting, and never behind other decoders.
        cudastream=0 if stream is None else stream.cuda_stream,
        usedevicememory=stream is not None,
        maxwidth=width_px,
        maxheight=height_px,
    )
    return _Session(decoder, stream)


def _frames(
    nvc: Any, decoder: Any, container: InputContainer, stream: VideoStream, part: VideoPart
) -> Iterator[Any]:
    """Yield frames in display order; each belongs to the decoder until the next is requested.

    The first is that of the key frame before the requested range; those still held by the decoder
    come last.
    """
    for packet in byte_stream(container, stream, part.span_ns):
        yield from decoder.Decode(packet_data(nvc, packet))
    yield from decoder.Decode(nvc.PacketData())


def byte_stream(
    container: InputContainer, stream: VideoStream, span_ns: tuple[int, int] | None
) -> Iterator[Packet[VideoStream]]:
    """Yield the packets needed for the frames of a span, as NVDEC parses them."""
    from av.bitstream import BitStreamFilterContext

    name = _BYTE_STREAM.get(stream.codec_context.codec.canonical_name)
    to_bytes = None if name is None else BitStreamFilterContext(name, stream)
    for read in packets_of(container, stream, span_ns):
        if not read.size:
            return
        yield from (read,) if to_bytes is None else to_bytes.filter(read)


def packet_data(nvc: Any, packet: Packet[VideoStream]) -> Any:
    """Return a packet in the decoder's format; its bytes belong to `packet`, which must be kept."""
    sent = nvc.PacketData()
    sent.bsl_data, sent.bsl, sent.pts = packet.buffer_ptr, packet.buffer_size, packet.pts
    return sent


def _on_device(
    torch: Any, nvc: Any, stream: Any, frames: Iterator[Any], part: VideoPart
) -> Iterator[tuple[int, Plane]]:
    """Yield times and frames, copied together within the GPU."""
    header, n_left = part.header, len(part.wanted)
    in_stream = partial(torch.cuda.stream, stream)
    while n_left:
        times = []
        with in_stream():
            shape = (min(BATCH, n_left), header.height_px, header.width_px)
            planes = torch.empty(shape, dtype=torch.uint8, device=f"cuda:{_GPU}")
            for plane, frame in zip(planes.unbind(), frames, strict=False):
                # The decoder overwrites it in the same stream, hence after this.
                plane.copy_(_cropped(nvc, frame, torch.from_dlpack(frame), header))
                times.append(frame.getPTS())
        if not times:
            return
        n_left -= len(times)
        yield from zip(times, DeviceBatch(planes[: len(times)], in_stream), strict=True)


def _cropped(nvc: Any, frame: Any, rows: Any, header: VideoHeader) -> Any:
    """Return the luma of a frame: rows of luma, then half as many of chroma."""
    _check_format(nvc, frame)
    width_px, height_px = header.width_px, header.height_px
    shape = (height_px + height_px // 2, width_px + width_px % 2)
    if tuple(rows.shape) != shape:
        raise UnfitError(f"a frame has {tuple(rows.shape)} rows and columns, not {shape}")
    return rows[:height_px, :width_px]


def _copied(
    nvc: Any, frames: Iterator[Any], part: VideoPart
) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    for _, frame in zip(part.wanted, frames, strict=False):
        yield frame.getPTS(), _luma(nvc, frame, part.header)


def _luma(nvc: Any, frame: Any, header: VideoHeader) -> NDArray[np.uint8]:
    """Return the luma of a frame in host memory, cropped to the display size.

    NV12 without padding: rows of luma, then half as many of chroma, of an even width.
    """
    _check_format(nvc, frame)
    width_px, height_px = header.width_px, header.height_px
    stride = width_px + width_px % 2
    n_bytes = stride * height_px * 3 // 2
    if frame.framesize() != n_bytes:
        raise UnfitError(f"a frame has {frame.framesize()} bytes, not {n_bytes}")
    address = ctypes.cast(frame.GetPtrToPlane(0), ctypes.POINTER(ctypes.c_uint8))
    rows = np.ctypeslib.as_array(address, shape=(height_px, stride))
    # Copied, because the buffer belongs to the decoder and may not outlive the arrays.
    return rows[:, :width_px].copy()


def _check(nvc: Any, header: VideoHeader) -> None:
    """Reject what the engine of this GPU cannot decode."""
    codec = getattr(nvc.cudaVideoCodec, _CODECS.get(header.codec, ""), None)
    if codec is None:
        raise UnfitError(f"NVDEC has no {header.codec}")
    can = _capabilities(nvc, codec)
    if not can.get("supported", True):
        raise UnfitError(f"this GPU does not decode {header.codec}")
    size = (header.width_px, header.height_px)
    lowest = (can.get("width_min", 0), can.get("height_min", 0))
    highest = (can.get("width_max", size[0]), can.get("height_max", size[1]))
    if not all(a <= b <= c for a, b, c in zip(lowest, size, highest, strict=True)):
        raise UnfitError(
            f"this GPU decodes {header.codec} from {lowest[0]} x {lowest[1]} to "
            f"{highest[0]} x {highest[1]} pixels, not {size[0]} x {size[1]}"
        )


def _check_format(nvc: Any, frame: Any) -> None:
    if frame.format != nvc.Pixel_Format.NV12:
        raise UnfitError(f"its frames are output as {frame.format}")


@cache
def _capabilities(nvc: Any, codec: Any) -> Any:
    """Return what the GPU decodes of 8-bit 4:2:0; each query creates a CUDA context."""
    chroma = getattr(nvc.cudaVideoChromaFormat, "420")
    return nvc.GetDecoderCaps(gpuid=_GPU, codec=codec, chromaformat=chroma, bitdepth=8)


def _torch_on_gpu() -> Any:
    """Return torch if it sees a GPU (the first, like the decoder), or None."""
    try:
        import torch
    except (ImportError, OSError, RuntimeError):
        return None
    return torch if torch.cuda.is_available() else None


def _library() -> Any:
    """Return PyNvVideoCodec, whose import alone queries the driver."""
    try:
        import PyNvVideoCodec
    except ImportError as error:
        raise UnfitError(
            f"PyNvVideoCodec cannot be imported ({first_line(error)}); "
            "pip install 'syncaudit[nvdec]'"
        ) from error
    except Exception as error:
        raise UnfitError(f"no NVIDIA video driver ({first_line(error)})") from error
    return PyNvVideoCodec
