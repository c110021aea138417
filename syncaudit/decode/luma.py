"""Define what every decoder back end yields: frames and a count of failures."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Protocol

from syncaudit.decode.frame import Frame
from syncaudit.model import FrameFiles


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
