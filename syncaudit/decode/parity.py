"""Check whether a back end decodes sample videos as the CPU does, frame by frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.container import list_frames
from syncaudit.decode.cpu import CpuDecoder
from syncaudit.decode.frame import Frame
from syncaudit.decode.header import VideoPart, read_header
from syncaudit.decode.luma import UnfitError
from syncaudit.decode.samples import SAMPLES
from syncaudit.model import FrameFiles

if TYPE_CHECKING:
    from syncaudit.decode.back_end import BackEnd

# JPEG does not fix the rounding of its transform; all other codecs specify every bit.
_LEVELS = {"mjpeg": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What a back end may decode instead of the CPU."""

    general: str | None = None  # why it may decode nothing
    # by FFmpeg's name, why that codec is left to the CPU; None: they agree
    by_codec: Mapping[str, str | None] = field(default_factory=dict)

    def unavailable_reason(self, codec: str) -> str | None:
        """Return why videos of a codec are left to the CPU, or None."""
        if self.general is not None:
            return self.general
        return self.by_codec.get(codec, f"no {codec} sample to compare it with")


def compare_with_cpu(back_end: BackEnd) -> Agreement:
    """Decode the samples with a back end and with the CPU, and compare integer features.

    If it is unavailable, or does not agree on H.264, they agree on nothing.
    """
    why = back_end.probe()
    if why is not None:
        return Agreement(general=why)
    by_codec: dict[str, str | None] = {}
    for path in SAMPLES.values():
        files = FrameFiles(paths=(str(path),))
        header = read_header(files)
        part = VideoPart.of(str(path), header, list_frames(str(path)))
        by_codec[header.codec] = _difference(back_end, files, part)
    if by_codec["h264"] is not None:
        return Agreement(general=f"it does not decode as the CPU does ({by_codec['h264']})")
    return Agreement(by_codec=by_codec)


def _difference(back_end: BackEnd, files: FrameFiles, part: VideoPart) -> str | None:
    """Describe the first difference between the back end and the CPU, or return None."""
    n_frames, levels = 0, _LEVELS.get(part.header.codec, 0)
    try:
        with CpuDecoder().open(files) as frames, closing(back_end.decoded(part)) as theirs:
            for frame, (pts, plane) in zip(frames, theirs, strict=False):
                decoded = Frame(frame.index, plane)
                if pts != part.pts[n_frames]:
                    return f"frame {n_frames} of a sample has another timestamp"
                if decoded.shape != frame.shape:
                    return f"a sample has {decoded.shape} pixels, not {frame.shape}"
                if not _is_equal(decoded, frame, levels):
                    return f"frame {n_frames} of a sample has other pixels"
                n_frames += 1
    except UnfitError as error:
        return str(error)
    if n_frames != len(part.pts):
        return f"{n_frames} of the {len(part.pts)} frames of a sample were decoded"
    return None


def _is_equal(one: Frame, other: Frame, levels: int) -> bool:
    if levels:
        return int(np.abs(one.luma.astype(np.int16) - other.luma).max()) <= levels
    pairs = zip(_asked_of(one), _asked_of(other), strict=True)
    return all(np.array_equal(*pair) for pair in pairs)


def _asked_of(decoded: Frame) -> Iterator[NDArray[Any]]:
    """Yield what detectors request from a frame, and the whole frame."""
    yield decoded.block_sums(16)
    yield decoded.block_sums(4, 4)
    yield from (decoded.reduced(factor) for factor in (1, 2, 13))
    yield decoded.rows(4, 16)
    yield decoded.luma
