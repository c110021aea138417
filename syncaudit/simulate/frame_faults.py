"""Frame faults: frames that get lost or doubled between the sensor and the file."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .picture_faults import SpoiltPictures

DROP_MODES = ("frame_and_stamp", "frame_only", "slip")


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameFault:
    """Describe what happens to a camera's frames. The default loses nothing.

    Attributes
    ----------
    dropped : tuple of int
        Capture indices of lost frames.
    drop_mode : str
        ``frame_and_stamp``: both are missing, the rest is right. ``frame_only``: the stamp file is
        longer than the video. ``slip``: stamps run on as though nothing was lost, so that from the
        first loss on each frame carries the stamp of an earlier one.
    doubled : tuple of int
        Capture indices at which the file shows the frame before once more (a frozen frame).
    frozen : tuple of (int, int)
        Half-open ranges of capture indices at which the file shows the frame before the range.
    spoilt : tuple of SpoiltPictures
        Spells of pictures that show something else than the scene.
    """

    dropped: tuple[int, ...] = ()
    drop_mode: str = "frame_and_stamp"
    doubled: tuple[int, ...] = ()
    frozen: tuple[tuple[int, int], ...] = ()
    spoilt: tuple[SpoiltPictures, ...] = ()

    def __post_init__(self) -> None:
        if self.drop_mode not in DROP_MODES:
            raise ValueError(
                f"drop_mode is {self.drop_mode!r}, expected one of {', '.join(DROP_MODES)}"
            )
        if min((*self.dropped, 0)) < 0 or min((*self.doubled, 1)) < 1:
            raise ValueError("dropped frames count from 0, doubled frames from 1")
        if any(not 1 <= first < stop for first, stop in self.frozen):
            raise ValueError(f"frozen is {self.frozen}, expected ranges that begin at 1 or later")

    def apply(self, is_recorded: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return which capture each encoded frame shows, and which capture each stamp belongs to.

        Parameters
        ----------
        is_recorded : ndarray of bool, shape (n_captures,)
            False where a gap took frame and stamp alike.
        """
        captures = np.flatnonzero(is_recorded).astype(np.int64)
        kept = captures[~np.isin(captures, self.dropped)]
        encoded = np.where(np.isin(kept, self.doubled), kept - 1, kept)
        for first, stop in self.frozen:
            encoded[(kept >= first) & (kept < stop)] = first - 1
        if self.drop_mode == "frame_and_stamp":
            return encoded, kept
        if self.drop_mode == "frame_only":
            return encoded, captures
        return encoded, captures[: kept.size]

    def spoil(self, luma: NDArray[np.uint8], position: int) -> NDArray[np.uint8]:
        """Return what the file shows in the place of a picture, shape (height, width)."""
        for spell in self.spoilt:
            luma = spell.apply(luma, position)
        return luma
