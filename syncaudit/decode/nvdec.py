"""Decode on an NVIDIA GPU through PyNvVideoCodec (extra ``nvdec``).

Written from the interface of PyNvVideoCodec 2.2, NVIDIA's samples and the published sources of an
earlier release; not run on a GPU yet. Frames of one call are locked until the next call.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Generator, Iterator, Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.back_end import BackEnd, first_line
from syncaudit.decode.device_planes import DeviceBatch
from syncaudit.decode.header import VideoHeader, VideoPart
from syncaudit.decode.luma import UnfitError
from syncaudit.decode.parity import Agreement, compare_with_cpu
from syncaudit.decode.picture import Plane

__all__ = ["NvdecDecoder"]

# Frames that are fetched at once: enough to keep the engine busy, few enough to stay in caches.
BATCH = 16
# CUDA_VISIBLE_DEVICES says which GPU that is.
_GPU = 0
_CODECS = {"h264": "H264", "hevc": "HEVC", "av1": "AV1", "vp9": "VP9", "mjpeg": "JPEG"}


class _Reused(threading.local):
    """The decoder of this thread: a new one costs ten times as much as a reconfigured one."""

    decoder: Any = None


class NvdecDecoder(BackEnd):
    """NVDEC, one decoder a thread; frames stay on the GPU where torch takes them over there."""

    name = "nvdec"
    _reused: ClassVar[_Reused] = _Reused()
    # None: every frame is copied to the host.
    _torch: ClassVar[Any] = None

    def probe(self) -> str | None:
        """Return why there is no NVDEC here, or None."""
        try:
            nvc = _library()
            capable = _capabilities(nvc, nvc.cudaVideoCodec.H264)
        except UnfitError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001  # the driver raises kinds of its own
            return f"the GPU does not answer ({first_line(error)})"
        return None if capable.get("supported", True) else "the GPU does not decode H.264"

    @classmethod
    def compare(cls) -> Agreement:
        """Compare with the CPU what stays on the GPU, and where that fails what is copied."""
        cls._torch = _torch_on_gpu()
        agreement = compare_with_cpu(cls())
        if agreement.general is not None and cls._torch is not None:
            cls._torch = None
            cls._reused.decoder = None  # only this thread has one: all others wait
            agreement = compare_with_cpu(cls())
        return agreement

    @classmethod
    def keeps_on_device(cls) -> bool:
        """Tell whether frames stay on the GPU, so that features are computed there."""
        return cls.agreement().general is None and cls._torch is not None

    def decoded(
        self, part: VideoPart
    ) -> Generator[tuple[int, NDArray[np.uint8] | Plane], None, None]:
        """Yield presentation time and luma, as `BackEnd` asks."""
        nvc = _library()
        try:
            self._check(nvc, part.header)
            decoder = self._decoder(nvc, part.path)
            if part.begin:
                decoder.seek_to_index(part.begin)
            left = len(part.wanted)
            while left > 0:
                batch = decoder.get_batch_frames(min(BATCH, left))
                if not batch:
                    return
                left -= len(batch)
                if self._torch is None:
                    yield from _copied(nvc, batch, part.header)
                else:
                    yield from _on_device(self._torch, nvc, batch, part.header)
        except UnfitError:
            raise
        except Exception as error:  # the driver raises kinds of its own
            self._reused.decoder = None  # what it is in now is unknown
            raise UnfitError(f"the driver failed ({first_line(error)})") from error

    def _decoder(self, nvc: Any, path: str) -> Any:
        if self._reused.decoder is None:
            if self._torch is not None:
                # Frames are taken over in the CUDA context of a thread, which it has from torch's
                # first call on.
                self._torch.cuda.current_stream().synchronize()
            self._reused.decoder = nvc.SimpleDecoder(
                path,
                gpu_id=_GPU,
                use_device_memory=self._torch is not None,
                # It keeps one for each codec; where it keeps fewer, a change of codec makes a new
                # one.
                decoder_cache_size=len(_CODECS),
            )
        else:
            self._reused.decoder.reconfigure_decoder(path)
        return self._reused.decoder

    @staticmethod
    def _check(nvc: Any, header: VideoHeader) -> None:
        """Refuse what the engine of this GPU does not decode."""
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


def _on_device(
    torch: Any, nvc: Any, batch: Sequence[Any], header: VideoHeader
) -> Iterator[tuple[int, Plane]]:
    """Return times and frames, which are copied together, from the GPU to the GPU."""
    times = [frame.getPTS() for frame in batch]
    # Taking a frame over lets the stream of torch wait until it is decoded.
    planes = torch.stack(
        [_cropped(nvc, frame, torch.from_dlpack(frame), header) for frame in batch]
    )
    # From its next call on the decoder writes to these frames, whatever torch still does.
    torch.cuda.current_stream().synchronize()
    return zip(times, DeviceBatch(planes), strict=True)


def _cropped(nvc: Any, frame: Any, rows: Any, header: VideoHeader) -> Any:
    """Return the luma of a frame: rows of luma, then half as many of chroma."""
    _check_format(nvc, frame)
    width_px, height_px = header.width_px, header.height_px
    shape = (height_px + height_px // 2, width_px + width_px % 2)
    if tuple(rows.shape) != shape:
        raise UnfitError(f"a frame has {tuple(rows.shape)} rows and columns, not {shape}")
    return rows[:height_px, :width_px]


def _copied(
    nvc: Any, batch: Sequence[Any], header: VideoHeader
) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    for frame in batch:
        yield frame.getPTS(), _luma(nvc, frame, header)


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
    # Copied, for the buffer is the decoder's and does not live as long as arrays may.
    return rows[:, :width_px].copy()


def _check_format(nvc: Any, frame: Any) -> None:
    if frame.format != nvc.Pixel_Format.NV12:
        raise UnfitError(f"its frames come as {frame.format}")


@cache
def _capabilities(nvc: Any, codec: Any) -> Any:
    """Return what the GPU decodes of 8-bit 4:2:0; asking makes a CUDA context each time."""
    chroma = getattr(nvc.cudaVideoChromaFormat, "420")
    return nvc.GetDecoderCaps(gpuid=_GPU, codec=codec, chromaformat=chroma, bitdepth=8)


def _torch_on_gpu() -> Any:
    """Return torch where it sees a GPU (the first, as the decoder does), or None."""
    try:
        import torch
    except (ImportError, OSError, RuntimeError):
        return None
    return torch if torch.cuda.is_available() else None


def _library() -> Any:
    """Return PyNvVideoCodec, whose import alone asks the driver."""
    try:
        import PyNvVideoCodec
    except ImportError as error:
        raise UnfitError(
            f"PyNvVideoCodec cannot be imported ({first_line(error)}); "
            "pip install 'syncaudit[nvdec]'"
        ) from error
    except Exception as error:
        raise UnfitError(f"there is no NVIDIA driver for video ({first_line(error)})") from error
    return PyNvVideoCodec
