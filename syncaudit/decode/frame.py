"""Define what decoder back ends yield: frames, whose features are computed once, and a tally."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode import features
from syncaudit.model import FrameFiles
from syncaudit.model.camera import Scan, direction_of

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
        """Return a feature of `syncaudit.decode.features`, on the host."""
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
        """Return sums along rows in blocks of columns, as `features.block_sums`."""
        return self._feature(features.block_sums, n_blocks, every)

    def reduced(self, factor: int) -> NDArray[np.uint8]:
        """Return the frame at a fraction of its size, as `features.reduced`."""
        return self._feature(features.reduced, factor)

    def rows(self, first: int, every: int) -> NDArray[np.uint8]:
        """Return a copy of every n-th row (n is `every`), starting at row `first`."""
        return self._feature(features.rows, first, every)

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
