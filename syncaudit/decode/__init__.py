"""Decode video and image files into luma planes: one protocol, one table of back ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from syncaudit.decode.cpu import CpuDecoder, decode_still
from syncaudit.decode.frame import Frame, FrameDecoder, LumaFrames
from syncaudit.errors import UsageError, nearest_name
from syncaudit.model import FrameFiles
from syncaudit.plugins import made_on_demand

__all__ = ["DECODERS", "Frame", "FrameDecoder", "LumaFrames", "decode_still", "iter_luma"]

DECODERS: Mapping[str, Callable[[], FrameDecoder]] = {
    "cpu": CpuDecoder,
    "nvdec": made_on_demand("syncaudit.decode.nvdec", "NvdecDecoder"),
    "torchcodec": made_on_demand("syncaudit.decode.torchcodec_planes", "TorchcodecDecoder"),
}


def iter_luma(files: FrameFiles, *, decoder: str = "cpu") -> LumaFrames:
    """Decode the frames of a camera in order; close the iterator if you stop early.

    `decoder` is a key of `DECODERS`; the CPU decodes whatever it cannot. UsageError if there is no
    such back end, StreamReadError if the file cannot be opened as video at all; later damage is
    counted instead.
    """
    if decoder not in DECODERS:
        raise UsageError(
            f"decoder is {decoder!r}, which does not exist", hint=nearest_name(decoder, DECODERS)
        )
    return DECODERS[decoder]().open(files)
