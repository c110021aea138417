"""Decode on an NVIDIA GPU through PyNvVideoCodec (extra ``nvdec``).

Written from the interface of PyNvVideoCodec 2.2 and NVIDIA's samples; not run on a GPU yet.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Generator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.back_end import BackEnd, first_line
from syncaudit.decode.header import VideoHeader, VideoPart
from syncaudit.decode.luma import UnfitError

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
    """NVDEC, one decoder a thread; luma is copied to the host."""

    name = "nvdec"
    _reused: ClassVar[_Reused] = _Reused()

    def probe(self) -> str | None:
        """Return why there is no NVDEC here, or None."""
        try:
            nvc = _library()
            capable = nvc.GetDecoderCaps(gpuid=_GPU, codec=nvc.cudaVideoCodec.H264)
        except UnfitError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001  # the driver raises kinds of its own
            return f"the GPU does not answer ({first_line(error)})"
        return None if capable.get("supported", True) else "the GPU does not decode H.264"

    def pictures(self, part: VideoPart) -> Generator[tuple[int, NDArray[np.uint8]], None, None]:
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
                for frame in batch:
                    yield frame.getPTS(), _luma(nvc, frame, part.header)
        except UnfitError:
            raise
        except Exception as error:  # the driver raises kinds of its own
            self._reused.decoder = None  # what it is in now is unknown
            raise UnfitError(f"the driver failed ({first_line(error)})") from error

    def _decoder(self, nvc: Any, path: str) -> Any:
        if self._reused.decoder is None:
            self._reused.decoder = nvc.SimpleDecoder(path, gpu_id=_GPU, use_device_memory=False)
        else:
            self._reused.decoder.reconfigure_decoder(path)
        return self._reused.decoder

    @staticmethod
    def _check(nvc: Any, header: VideoHeader) -> None:
        """Refuse what the engine of this GPU does not decode."""
        codec = getattr(nvc.cudaVideoCodec, _CODECS.get(header.codec, ""), None)
        if codec is None:
            raise UnfitError(f"NVDEC has no {header.codec}")
        can = nvc.GetDecoderCaps(
            gpuid=_GPU,
            codec=codec,
            chromaformat=getattr(nvc.cudaVideoChromaFormat, "420"),
            bitdepth=8,
        )
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


def _luma(nvc: Any, frame: Any, header: VideoHeader) -> NDArray[np.uint8]:
    """Return the luma of a frame in host memory, cropped to the display size.

    NV12 without padding: rows of luma, then half as many of chroma, of an even width.
    """
    if frame.format != nvc.Pixel_Format.NV12:
        raise UnfitError(f"its pictures come as {frame.format}")
    width_px, height_px = header.width_px, header.height_px
    stride = width_px + width_px % 2
    n_bytes = stride * (height_px + (height_px + 1) // 2)
    if frame.framesize() != n_bytes:
        raise UnfitError(f"a picture has {frame.framesize()} bytes, not {n_bytes}")
    address = ctypes.cast(frame.GetPtrToPlane(0), ctypes.POINTER(ctypes.c_uint8))
    rows = np.ctypeslib.as_array(address, shape=(height_px, stride))
    # Copied, for the buffer is the decoder's and does not live as long as arrays may.
    return rows[:, :width_px].copy()


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
