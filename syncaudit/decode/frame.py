"""Define what decoder back ends yield: frames, whose features are computed once, and a tally.

Features of luma planes are defined so that every device computes the same bits. Planes are numpy
arrays, which OpenCV reduces, or torch tensors on the host or a GPU, optionally stacked into
batches; so are the results. Sums are integers. Means are rounded as in OpenCV: 2 x 2 pixels half
up, larger blocks to the nearest even.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from syncaudit.model import FrameFiles
from syncaudit.model.clip import Scan, direction_of

# White of 8-bit luma in video range (ITU-R BT.601, section 2.5.3) and in full range.
VIDEO_WHITE, FULL_WHITE = 235, 255
# FFmpeg's number for full range.
_FULL_RANGE = 2
_ONE = Fraction(1)


def white_of(pixel_format: str, color_range: int) -> int:
    """Return the luma of white: video range unless stated otherwise.

    Grey, and formats converted to it, are full range; `color_range` is FFmpeg's number, 0 if the
    stream does not state it.
    """
    is_video = pixel_format.startswith(("yuv", "nv", "p0")) and not pixel_format.startswith("yuvj")
    return VIDEO_WHITE if is_video and color_range != _FULL_RANGE else FULL_WHITE


class Plane(Protocol):
    """A luma plane that lies on another device."""

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width in pixels."""
        ...

    def computed(self, feature: Callable[..., Any], arguments: tuple[int, ...]) -> NDArray[Any]:
        """Return a feature of `syncaudit.decode.frame`, on the host."""
        ...

    def to_host(self) -> NDArray[np.uint8]:
        """Return the whole plane, which costs most of the time that the device saves."""
        ...


class Frame:
    """The brightness of one frame, in 8 bits.

    A frame may be kept: it holds a reference to its memory, which belongs to the decoder (1.5 bytes
    per pixel) and is not a copy. Do not write to it.

    Parameters
    ----------
    index : int
        Index among the frames of the file in presentation order, counting those that could
        not be decoded: the row of the timestamp table that belongs to it.
    plane : ndarray of uint8, shape (height, width), or Plane
        Y plane as coded (video range if the stream states so).
    pts : int, optional
        Presentation time in units of the container; None if it has none.
    time_base : Fraction
        Seconds per unit.
    is_corrupt : bool
        Whether the decoder had to conceal damage in it.
    is_key : bool
        Whether it can be decoded without any other frame.
    white : int
        Luma of white, where pixels clip: 235 in video range, 255 in full range.
    """

    # A frozen dataclass would take three times as long to create, once per frame.
    __slots__ = (
        "_computed",
        "_luma",
        "_plane",
        "index",
        "is_corrupt",
        "is_key",
        "pts",
        "time_base",
        "white",
    )

    def __init__(
        self,
        index: int,
        plane: NDArray[np.uint8] | Plane,
        *,
        pts: int | None = None,
        time_base: Fraction = _ONE,
        is_corrupt: bool = False,
        is_key: bool = True,
        white: int = FULL_WHITE,
    ) -> None:
        self.index = index
        self.pts = pts
        self.time_base = time_base
        self.is_corrupt = is_corrupt
        self.is_key = is_key
        self.white = white
        self._plane = plane
        self._luma = plane if isinstance(plane, np.ndarray) else None
        self._computed: dict[tuple[object, ...], NDArray[Any]] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Height and width in pixels."""
        return self._plane.shape

    @property
    def pts_s(self) -> float | None:
        """Presentation time in seconds; None if the container has none."""
        return None if self.pts is None else float(self.pts * self.time_base)

    @property
    def luma(self) -> NDArray[np.uint8]:
        """The plane on the host, shape (height, width)."""
        if self._luma is None:
            self._luma = self._plane.to_host()  # type: ignore[union-attr]  # arrays are known
        return self._luma

    def columns(self, part: slice) -> Frame:
        """Return some columns of the frame."""
        luma = np.ascontiguousarray(self.luma[:, part])
        return Frame(self.index, luma, white=self.white)

    def scanned(self, scan: Scan | None) -> Frame:
        """Return the frame with its lines as rows, in the order in which they were read."""
        across, down = direction_of(scan)
        if down == 1:
            return self
        luma = (self.luma.T if across else self.luma)[:: across + down]
        return Frame(self.index, np.ascontiguousarray(luma), white=self.white)

    def block_sums(self, n_blocks: int, every: int = 1) -> NDArray[np.int32]:
        """Return sums along rows in blocks of columns, as `block_sums`."""
        return self._feature(block_sums, n_blocks, every)

    def reduced(self, factor: int) -> NDArray[np.uint8]:
        """Return the frame at a fraction of its size, as `reduced`."""
        return self._feature(reduced, factor)

    def rows(self, first: int, every: int) -> NDArray[np.uint8]:
        """Return a copy of every n-th row (n is `every`), starting at row `first`."""
        return self._feature(rows, first, every)

    def _feature(self, feature: Callable[..., Any], *arguments: int) -> NDArray[Any]:
        if self._computed is None:
            self._computed = {}
        key = (feature, *arguments)
        found = self._computed.get(key)
        if found is None:
            if self._luma is not None:
                found = feature(self._luma, *arguments)
            else:
                found = self._plane.computed(feature, arguments)  # type: ignore[union-attr]
            self._computed[key] = found
        return found


class UnfitError(Exception):
    """A back end cannot decode a video, or not as the CPU does; the message gives the reason."""


@dataclass(slots=True, kw_only=True)
class DecodeTally:
    """Running count of a decoder's results for one source."""

    n_decoded: int = 0  # frames
    n_corrupt: int = 0  # frames in which damage was concealed
    n_errors: int = 0  # packets or frames that could not be decoded
    first_error: str | None = None  # what was wrong with the first of them
    fallback: str | None = None  # why the CPU took over from the requested back end, if it did

    def note_error(self, message: str) -> None:
        """Count one packet or frame that could not be decoded."""
        self.n_errors += 1
        if self.first_error is None:
            self.first_error = message


class LumaFrames(Iterator[Frame]):
    """Iterator of the frames of one camera.

    `tally` counts what was decoded, with its damage; it is complete once the iterator is exhausted.
    """

    def __init__(self, frames: Generator[Frame, None, None], tally: DecodeTally) -> None:
        self._frames = frames
        self.tally = tally

    def __iter__(self) -> LumaFrames:
        return self

    def __next__(self) -> Frame:
        return next(self._frames)

    def close(self) -> None:
        """Release the file; iteration cannot continue."""
        self._frames.close()

    def __enter__(self) -> LumaFrames:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class FrameDecoder(Protocol):
    """A decoder back end.

    All back ends yield the same luma: coded plane cropped to the display size, difference 0
    for 8-bit H.264, HEVC and AV1, at most 1 level for MJPEG (design, section 8).
    """

    name: str
    tells_damage: bool
    """Whether frames with concealed damage are marked; only the CPU back end does so."""

    def probe(self) -> str | None:
        """Return why the back end cannot be used here, or None if it can."""
        ...

    def unavailable_reason(self) -> str | None:
        """Return why it may not replace the CPU here (unavailable or different), or None."""
        ...

    def open(self, files: FrameFiles) -> LumaFrames:
        """Start decoding the frames of one camera."""
        ...


def block_sums(luma: Any, n_blocks: int, every: int = 1) -> Any:
    """Return sums of every n-th row of planes (..., height, width), in blocks of columns.

    Blocks have equal width; left-over columns are not summed. The sums are int32, shape
    (..., ceil(height / every), n_blocks): exact up to 8.4 million pixels per block.
    """
    width = luma.shape[-1] // n_blocks
    chosen = luma[..., ::every, : n_blocks * width]
    if isinstance(luma, np.ndarray):
        return _block_sums(chosen, n_blocks, width)
    return chosen.unflatten(-1, (n_blocks, width)).sum(-1, dtype=_torch().int32)


def _block_sums(luma: NDArray[np.uint8], n_blocks: int, width: int) -> NDArray[np.int32]:
    n_rows = luma.shape[0]
    if n_blocks > 1:
        luma = np.ascontiguousarray(luma).reshape(n_rows * n_blocks, width)
    sums = cv2.reduce(luma, 1, cv2.REDUCE_SUM, dtype=cv2.CV_32S)
    return np.asarray(sums, dtype=np.int32).reshape(n_rows, n_blocks)


def reduced(luma: Any, factor: int) -> Any:
    """Return planes (..., height, width) at 1 / `factor` of their size, the means of squares.

    Trailing rows and columns that do not fill a square are left out; factor 1 returns the planes.
    """
    if factor == 1:
        return luma
    height, width = luma.shape[-2] // factor, luma.shape[-1] // factor
    cut = luma[..., : height * factor, : width * factor]
    if isinstance(luma, np.ndarray):
        if not cut.size:
            return np.empty((height, width), np.uint8)
        small = cv2.resize(cut, (width, height), interpolation=cv2.INTER_AREA)
        return np.asarray(small, dtype=np.uint8)
    torch = _torch()
    squares = cut.unflatten(-1, (width, factor)).unflatten(-3, (height, factor))
    sums = squares.sum((-3, -1), dtype=torch.int32)
    if factor == 2:
        return ((sums + 2) >> 2).to(luma.dtype)
    return torch.round(sums.to(torch.float32) * np.float32(1.0 / factor**2)).to(luma.dtype)


def rows(luma: Any, first: int, every: int) -> Any:
    """Return every n-th row (n is `every`) from row `first` on, contiguous, as a copy."""
    chosen = luma[..., first::every, :]
    return chosen.copy() if isinstance(luma, np.ndarray) else chosen.clone()


def _torch() -> Any:
    return sys.modules["torch"]
