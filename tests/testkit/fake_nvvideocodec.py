"""A stand-in for PyNvVideoCodec 2.2: same names and signatures, pictures by PyAV.

What it imitates was read from the wheel (`SimpleDecoder` is Python there, the rest is documented by
the docstrings of its extension modules) and from the published sources of an earlier release: how
DLPack is spoken and in what shape, that frames of one call are overwritten after the next, and that
one capability more costs a CUDA context. Frames lie in host memory as NV12 without padding, those
"on the device" too; only DLPack reaches these.
"""

# ruff: noqa: ARG002  # the signatures are those of the package
from __future__ import annotations

import ctypes
import threading
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import av
import numpy as np
from numpy.typing import NDArray


class Pixel_Format(Enum):  # noqa: N801  # as there
    NV12 = 0
    P016 = 2


class OutputColorType(Enum):
    NATIVE = 0
    RGB = 1


class cudaVideoCodec(Enum):  # noqa: N801
    H264 = 4
    JPEG = 5
    HEVC = 8
    VP9 = 10
    AV1 = 11


cudaVideoChromaFormat = Enum("cudaVideoChromaFormat", {"Monochrome": 0, "420": 1, "422": 2})  # noqa: N816


class PyNvVCException(Exception):  # noqa: N818
    """Not a RuntimeError there either."""


class Stream:
    """Stands for torch's CUDA stream of a thread: what it still does, and whether it has a context.

    Real tensors on the host do all at once; only what has to be waited for is kept account of.
    """

    own: ClassVar[threading.local] = threading.local()

    @classmethod
    def synchronize(cls) -> None:
        cls.own.has_context, cls.own.is_reading = True, False


class Faults:
    """What goes wrong, to be set by tests."""

    unsupported: ClassVar[set[str]] = set()
    level_error: ClassVar[dict[str, int]] = {}
    fail_at: ClassVar[int | None] = None
    end_at: ClassVar[int | None] = None
    late_by: ClassVar[int] = 0
    pixel_format: ClassVar[Pixel_Format] = Pixel_Format.NV12
    is_absent: ClassVar[bool] = False
    n_created: ClassVar[int] = 0
    n_reconfigured: ClassVar[int] = 0
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
        cls.late_by = cls.n_created = cls.n_reconfigured = 0
        cls.pixel_format, cls.is_absent = Pixel_Format.NV12, False


def torch_on_gpu(torch: Any) -> Any:
    """Return torch as if on a GPU, in so far as frames are taken over with it."""
    return SimpleNamespace(
        from_dlpack=torch.from_dlpack,
        stack=torch.stack,
        cuda=SimpleNamespace(current_stream=Stream),
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


class DecodedFrame:
    """One frame, the decoder's own until it is overwritten."""

    def __init__(self, luma: NDArray[np.uint8], pts: int, *, is_on_device: bool) -> None:
        height, width = luma.shape
        self._data = np.zeros((height + height // 2, width + width % 2), np.uint8)
        self._data[:height, :width] = luma
        self._pts = pts
        self._is_on_device = is_on_device
        self.format = Faults.pixel_format

    def framesize(self) -> int:
        return self._data.nbytes

    def GetPtrToPlane(self, arg0: int) -> int:  # noqa: N802
        assert arg0 == 0
        assert not self._is_on_device, "the host cannot read it"
        return int(self._data.ctypes.data_as(ctypes.c_void_p).value or 0)

    def __dlpack__(self, stream: int | None = None) -> Any:
        assert self._is_on_device
        if Faults.dlpack_error is not None:
            raise Faults.dlpack_error
        assert getattr(Stream.own, "has_context", False), "invalid device context"
        Stream.own.is_reading = True
        return self._data.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._data.__dlpack_device__()

    def overwrite(self) -> None:
        self._data[:] = 255

    def getPTS(self) -> int:  # noqa: N802
        return self._pts


class SimpleDecoder:
    """Decodes whole files, and others after it."""

    def __init__(
        self,
        enc_file_path: str,
        gpu_id: int = 0,
        cuda_context: int = 0,
        cuda_stream: int = 0,
        use_device_memory: bool = True,
        max_width: int = 0,
        max_height: int = 0,
        need_scanned_stream_metadata: int = 0,
        decoder_cache_size: int = 4,
        output_color_type: OutputColorType = OutputColorType.NATIVE,
        bWaitForSessionWarmUp: bool = False,
        enableDecodeStats: bool = False,
    ) -> None:
        assert decoder_cache_size >= len(("H264", "HEVC", "AV1", "VP9", "JPEG"))
        Faults.n_created += 1
        self._is_on_device = use_device_memory
        self._thread = threading.current_thread()
        self._lent: list[DecodedFrame] = []
        self._load(enc_file_path)

    def _load(self, path: str) -> None:
        self._take_back()
        Faults.threads.add(self._thread.name)
        self._frames: list[DecodedFrame] = []
        self._next = 0
        with av.open(path) as container:
            codec = container.streams.video[0].codec_context.codec.canonical_name
            shift = Faults.level_error.get(codec, 0)
            shift += self._is_on_device * Faults.device_level_error
            for frame in container.decode(video=0):
                plane = frame.planes[0]
                rows = np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, -1)
                luma = rows[:, : frame.width] + np.uint8(shift)
                pts = (frame.pts or 0) + Faults.late_by
                self._frames.append(DecodedFrame(luma, pts, is_on_device=self._is_on_device))

    def _take_back(self) -> None:
        assert self._thread is threading.current_thread(), "one decoder a thread"
        assert not getattr(Stream.own, "is_reading", False), "torch still reads what was lent"
        for frame in self._lent:
            frame.overwrite()
        self._lent = []

    def get_batch_frames(self, batch_size: int) -> list[DecodedFrame]:
        self._take_back()
        stop = self._next + batch_size
        if Faults.fail_at is not None and self._next <= Faults.fail_at < stop:
            raise PyNvVCException("cuvidDecodePicture returned error 999\nat line 812")
        frames = self._frames[self._next : stop][: None if Faults.end_at is None else Faults.end_at]
        self._next = stop
        self._lent = frames
        return frames

    def seek_to_index(self, index: int) -> None:
        self._next = index

    def reconfigure_decoder(self, new_source: str) -> None:
        Faults.n_reconfigured += 1
        self._load(str(Path(new_source)))
