"""A stand-in for PyNvVideoCodec 2.2: same names and signatures, frames decoded by PyAV.

The behaviour was observed on an H100 and read from the docstrings of its extension module: the
DLPack protocol and shapes, that the frames of one call are overwritten by the next in the
decoder's stream, that an empty packet flushes, and that asking for capabilities costs a CUDA
context. Frames lie in host memory as NV12 without padding, even those "on the device", which are
accessible only through DLPack.
"""

# ruff: noqa: ARG005  # the signatures are those of the package
from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from types import SimpleNamespace
from typing import Any, ClassVar

import av
import numpy as np
from numpy.typing import NDArray


class Pixel_Format(Enum):  # noqa: N801  # as there
    NV12 = 0
    P016 = 2


class cudaVideoCodec(Enum):  # noqa: N801
    H264 = 4
    JPEG = 5
    HEVC = 8
    VP9 = 10
    AV1 = 11


cudaVideoChromaFormat = Enum("cudaVideoChromaFormat", {"Monochrome": 0, "420": 1, "422": 2})  # noqa: N816


class PyNvVCException(Exception):  # noqa: N818
    """Not a RuntimeError in the real package either."""


class Stream:
    """Stand-in for torch's CUDA stream: tensors on the host are synchronous."""

    current: ClassVar[threading.local] = threading.local()

    def __init__(self, device: int) -> None:
        assert device == 0
        self.cuda_stream = id(self)

    @classmethod
    @contextmanager
    def working_in(cls, stream: Stream) -> Iterator[None]:
        before = cls.in_use()
        cls.current.handle = stream.cuda_stream
        try:
            yield
        finally:
            cls.current.handle = before

    @classmethod
    def in_use(cls) -> int:
        return getattr(cls.current, "handle", 0)


class Faults:
    """Faults to be injected by tests."""

    unsupported: ClassVar[set[str]] = set()
    level_error: ClassVar[dict[str, int]] = {}
    fail_at: ClassVar[int | None] = None
    end_at: ClassVar[int | None] = None
    late_by: ClassVar[int] = 0
    pixel_format: ClassVar[Pixel_Format] = Pixel_Format.NV12
    is_absent: ClassVar[bool] = False
    n_created: ClassVar[int] = 0
    n_asked: ClassVar[int] = 0
    dlpack_error: ClassVar[Exception | None] = None
    device_level_error: ClassVar[int] = 0
    threads: ClassVar[set[str]] = set()

    @classmethod
    def clear(cls) -> None:
        cls.unsupported, cls.level_error, cls.threads = set(), {}, set()
        cls.n_asked = cls.device_level_error = 0
        cls.dlpack_error = None
        cls.fail_at = cls.end_at = None
        cls.late_by = cls.n_created = 0
        cls.pixel_format, cls.is_absent = Pixel_Format.NV12, False


def torch_on_gpu(torch: Any) -> Any:
    """Return torch as if on a GPU, as far as taking over frames needs it."""
    return SimpleNamespace(
        from_dlpack=torch.from_dlpack,
        empty=lambda shape, dtype, device: torch.full(shape, 99, dtype=dtype),
        uint8=torch.uint8,
        cuda=SimpleNamespace(Stream=Stream, stream=Stream.working_in),
    )


def GetDecoderCaps(  # noqa: N802
    gpuid: int = 0,
    codec: cudaVideoCodec = cudaVideoCodec.H264,
    chromaformat: Any = None,
    bitdepth: int = 8,
) -> dict[str, int]:
    Faults.n_asked += 1
    if Faults.is_absent:
        raise PyNvVCException("cuInit failed: no CUDA-capable device is detected\nat line 3")
    lowest = {cudaVideoCodec.H264: (48, 16), cudaVideoCodec.JPEG: (64, 64)}.get(codec, (128, 128))
    return {
        "supported": int(codec.name not in Faults.unsupported),
        "num_decoder_engines": 7,
        "width_min": lowest[0],
        "width_max": 4096,
        "height_min": lowest[1],
        "height_max": 4096,
        "mb_num_max": 65536,
    }


class PacketData:
    """Bytes to decode, owned by the caller; no bytes mark the end."""

    bsl_data = 0
    bsl = 0
    pts = 0


class DecodedFrame:
    """One frame, owned by the decoder until it is overwritten."""

    def __init__(self, luma: NDArray[np.uint8], pts: int, stream: int, *, on_device: bool) -> None:
        height, width = luma.shape
        self._data = np.zeros((height + height // 2, width + width % 2), np.uint8)
        self._data[:height, :width] = luma
        self._pts = pts
        self._stream = stream
        self._is_on_device = on_device
        self.format = Faults.pixel_format

    def framesize(self) -> int:
        return self._data.nbytes

    def GetPtrToPlane(self, arg0: int) -> int:  # noqa: N802
        assert arg0 == 0
        assert not self._is_on_device, "the host cannot read it"
        return int(self._data.ctypes.data_as(ctypes.c_void_p).value or 0)

    def __dlpack__(self, stream: int | None = None) -> Any:
        assert self._is_on_device
        assert Stream.in_use() == self._stream, "the decoder may write to it while it is read"
        if Faults.dlpack_error is not None:
            raise Faults.dlpack_error
        return self._data.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._data.__dlpack_device__()

    def overwrite(self) -> None:
        self._data[:] = 255

    def getPTS(self) -> int:  # noqa: N802
        return self._pts


class Decoder:
    """Decode one video, and others coded with the same parameters after it."""

    def __init__(self, codec: cudaVideoCodec, stream: int, *, on_device: bool) -> None:
        Faults.n_created += 1
        self._codec = codec
        self._stream = stream
        self._is_on_device = on_device
        self._is_at_work = threading.Lock()
        self._lent: list[DecodedFrame] = []
        self._context: Any = None
        self._n_decoded = 0

    def Decode(self, arg0: PacketData) -> list[DecodedFrame]:  # noqa: N802
        assert self._is_at_work.acquire(blocking=False), "one thread at a time"
        try:
            Faults.threads.add(threading.current_thread().name)
            for frame in self._lent:
                frame.overwrite()
            self._lent = list(self._decoded(arg0))
            return self._lent
        finally:
            self._is_at_work.release()

    def _decoded(self, sent: PacketData) -> Iterator[DecodedFrame]:
        if self._context is None:  # the first packet, or the first after the end
            named = {"JPEG": "mjpeg", "AV1": "libdav1d"}
            name = named.get(self._codec.name, self._codec.name.lower())
            self._context = av.CodecContext.create(name, "r")
            self._context.thread_count = 1  # dav1d may wait for its threads forever when it closes
            self._n_decoded = 0
        packet = None
        if sent.bsl:
            packet = av.Packet(ctypes.string_at(sent.bsl_data, sent.bsl))
            packet.pts = sent.pts
        name = self._context.codec.canonical_name
        shift = Faults.level_error.get(name, 0)
        shift += self._is_on_device * Faults.device_level_error
        for frame in self._context.decode(packet):
            if self._n_decoded == Faults.fail_at:
                raise PyNvVCException("cuvidDecodePicture returned error 999\nat line 812")
            if self._n_decoded == Faults.end_at:
                break
            self._n_decoded += 1
            plane = frame.planes[0]
            rows = np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, -1)
            luma = rows[:, : frame.width] + np.uint8(shift)
            pts = frame.pts + Faults.late_by
            yield DecodedFrame(luma, pts, self._stream, on_device=self._is_on_device)
        if packet is None:
            self._context = None


def CreateDecoder(  # noqa: N802
    gpuid: int = 0,
    codec: cudaVideoCodec = cudaVideoCodec.H264,
    cudacontext: int = 0,
    cudastream: int = 0,
    usedevicememory: bool = False,
    maxwidth: int = 0,
    maxheight: int = 0,
) -> Decoder:
    assert usedevicememory == bool(cudastream)
    assert maxwidth % 64 == maxheight % 64 == 0
    return Decoder(codec, cudastream, on_device=usedevicememory)
