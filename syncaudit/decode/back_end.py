"""Provide the base of back ends: the CPU takes over if one cannot decode as the CPU would.

Luma planes stay on the device, which computes features of many frames at once.
"""

from __future__ import annotations

import sys
import threading
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.container import VideoHeader, VideoPart, list_frames, read_header
from syncaudit.decode.cpu import CpuDecoder
from syncaudit.decode.frame import DecodeTally, Frame, LumaFrames, Plane, UnfitError
from syncaudit.decode.samples import SAMPLES
from syncaudit.decode.spans import in_ns
from syncaudit.errors import StreamReadError
from syncaudit.model import FrameFiles

# JPEG does not fix the rounding of its transform; all other codecs specify every bit.
_LEVELS = {"mjpeg": 1}

# 8-bit 4:2:0: every hardware decoder outputs it as coded.
_PIXEL_FORMATS = frozenset({"yuv420p", "yuvj420p"})


_InStream = Callable[[], AbstractContextManager[Any]]


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


class BackEnd(ABC):
    """A decoder other than the CPU's, which must match what the CPU would yield.

    Every frame must have the presentation time that the container lists for it. If one does not,
    if the driver fails, or if the video cannot be decoded here, the CPU continues at that frame;
    `DecodeTally.fallback` then gives the reason.
    """

    name: str
    tells_damage = False
    # Determined once per process, by the first thread that needs it.
    _agreement: ClassVar[Agreement | None] = None
    _comparing: ClassVar[threading.Lock] = threading.Lock()

    @abstractmethod
    def probe(self) -> str | None:
        """Return why the back end cannot be used here, or None if it can."""

    @abstractmethod
    def decoded(
        self, part: VideoPart
    ) -> Generator[tuple[int, NDArray[np.uint8] | Plane], None, None]:
        """Yield presentation time, in units of the container, and luma of the requested frames.

        Raises UnfitError if it cannot continue.
        """

    def unavailable_reason(self) -> str | None:
        """Return why it may not replace the CPU here (unavailable or different), or None."""
        return self.agreement().general

    def open(self, files: FrameFiles) -> LumaFrames:
        """Start decoding, on the CPU if this back end cannot."""
        tally = DecodeTally()
        frames = self._frames(files, tally)
        next(frames)  # open the file now
        return LumaFrames(frames, tally)  # type: ignore[arg-type]  # only the first is None

    def _frames(self, files: FrameFiles, tally: DecodeTally) -> Generator[Frame | None, None, None]:
        yielded = files.first - 1
        is_open = False
        try:
            part = self._plan(files)
            yield None
            is_open = True
            wanted = part.wanted
            with closing(self.decoded(part)) as frames:
                for pts, luma in frames:
                    if pts not in wanted[tally.n_decoded : tally.n_decoded + 1]:
                        raise UnfitError(
                            f"frame {part.begin + tally.n_decoded} has another timestamp"
                        )
                    tally.n_decoded += 1
                    yielded += 1
                    yield Frame(
                        yielded,
                        luma,
                        pts=pts,
                        time_base=part.time_base,
                        is_key=pts in part.key_pts,
                        white=part.header.white,
                    )
            if tally.n_decoded != len(wanted):
                raise UnfitError(f"{tally.n_decoded} of {len(wanted)} frames were decoded")
            return
        except UnfitError as error:
            tally.fallback = f"{self.name}: {error}"
        with CpuDecoder().open(files) as rest:
            if not is_open:
                yield None
            for frame in rest:
                _take_over(tally, rest)
                if frame.index > yielded:
                    tally.n_decoded += 1
                    yield frame
            _take_over(tally, rest)

    def _plan(self, files: FrameFiles) -> VideoPart:
        """Return which frames are requested, for a video that can be decoded here."""
        if not files.paths or files.is_images:
            raise UnfitError("single images are decoded on the CPU")
        try:
            header = read_header(files)
            listed = list_frames(files.paths[0], files.stream)
        except StreamReadError as error:
            raise UnfitError("the file cannot be opened") from error  # the CPU gives details
        if listed.pts is None or listed.damage is not None:
            raise UnfitError("the container does not list its frames, or is truncated")
        why = self._unavailable_reason_of(header)
        if why is not None:
            raise UnfitError(why)
        part = VideoPart.of(files.paths[0], header, listed)
        if files.span_ns is None:
            return part
        begin, stop = (
            bisect_left(part.pts, limit_ns, key=lambda value: in_ns(value, listed.time_base))
            for limit_ns in files.span_ns
        )
        return replace(part, begin=begin, stop=stop, span_ns=files.span_ns)

    def _unavailable_reason_of(self, header: VideoHeader) -> str | None:
        if header.n_videos != 1:
            return f"the file holds {header.n_videos} video streams"
        if header.pixel_format not in _PIXEL_FORMATS:
            return f"its frames are {header.pixel_format}, not 8-bit 4:2:0"
        return self.agreement().unavailable_reason(header.codec)

    @classmethod
    def agreement(cls) -> Agreement:
        """Return where this back end and the CPU agree; compared once per process."""
        with cls._comparing:
            if cls._agreement is None:
                cls._agreement = cls.compare()
            return cls._agreement

    @classmethod
    def compare(cls) -> Agreement:
        """Decode the samples and compare them with the CPU's."""
        return compare_with_cpu(cls())


def _take_over(tally: DecodeTally, rest: LumaFrames) -> None:
    """Count the damage found by the CPU, including in frames that it decoded again."""
    tally.n_corrupt, tally.n_errors = rest.tally.n_corrupt, rest.tally.n_errors
    tally.first_error = rest.tally.first_error


def first_line(error: Exception) -> str:
    """Return the first line of an error of a driver or library, which may be long."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


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


class DeviceBatch:
    """Consecutive frames of one camera: a torch.Tensor of uint8, shape (n, height, width).

    What is requested for one frame is computed for all of them and copied to the host, since it
    will be requested for the others too: one launch and one wait for the device, not one each.
    If the memory of the device is full, the host computes. `in_stream` returns the context of the
    CUDA stream in which the planes were written.
    """

    def __init__(self, planes: Any, in_stream: _InStream = nullcontext) -> None:
        self.planes = planes
        self._in_stream = in_stream
        self._computed: dict[tuple[object, ...], NDArray[Any]] = {}

    def __iter__(self) -> Iterator[DevicePlane]:
        """Yield its frames in order."""
        return (DevicePlane(self, place) for place in range(len(self.planes)))

    def computed(self, feature: Callable[..., Any], arguments: tuple[int, ...]) -> NDArray[Any]:
        """Return a feature of `syncaudit.decode.frame` for all frames, on the host."""
        key = (feature, *arguments)
        if key not in self._computed:
            with self._in_stream():
                try:
                    found = feature(self.planes, *arguments)
                except sys.modules["torch"].cuda.OutOfMemoryError:
                    self.planes = self.planes.cpu()
                    found = feature(self.planes, *arguments)
                self._computed[key] = found.cpu().numpy()
        return self._computed[key]

    def to_host(self, place: int) -> NDArray[np.uint8]:
        """Return the plane of one frame."""
        with self._in_stream():
            luma: NDArray[np.uint8] = self.planes[place].cpu().numpy()
        return luma


class DevicePlane:
    """One frame of a batch: a `syncaudit.decode.frame.Plane`."""

    __slots__ = ("_batch", "_place")

    def __init__(self, batch: DeviceBatch, place: int) -> None:
        self._batch = batch
        self._place = place

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width in pixels."""
        _, height, width = self._batch.planes.shape
        return height, width

    def computed(self, feature: Callable[..., Any], arguments: tuple[int, ...]) -> NDArray[Any]:
        """Return a feature of this frame, on the host."""
        found: NDArray[Any] = self._batch.computed(feature, arguments)[self._place]
        return found

    def to_host(self) -> NDArray[np.uint8]:
        """Return the whole plane of this frame alone."""
        return self._batch.to_host(self._place)
