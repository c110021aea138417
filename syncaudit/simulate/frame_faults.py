"""Frame faults: frames lost, doubled, frozen or spoilt between the sensor and the file."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SPOILS = ("black", "zero", "grey", "white", "covered", "grey_blocks", "half_grey", "half_repeated")
DROP_MODES = ("frame_and_stamp", "frame_only", "slip")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoiltFrames:
    """Describe a sequence of images that do not show the scene."""

    # One of `SPOILS`. ``black``: luma 16; ``zero``: luma 0, which is green where the chroma is zero
    # as well; ``grey``: 128; ``white``: overexposed; ``covered``: a dark lens cap with the noise of
    # the sensor; ``grey_blocks``: two thirds of the macroblocks are 128, as after a missing
    # reference; ``half_grey``: the lower 45 % are 128, ``half_repeated``: they repeat one row.
    how: str
    # half-open range of positions in the file
    first: int
    stop: int

    def __post_init__(self) -> None:
        if self.how not in SPOILS:
            raise ValueError(f"how is {self.how!r}, expected one of {', '.join(SPOILS)}")
        if not 0 <= self.first < self.stop:
            raise ValueError(f"images {self.first} to {self.stop} are no range")

    def apply(self, luma: NDArray[np.uint8], position: int) -> NDArray[np.uint8]:
        """Return the image in the file at a position, shape (height, width)."""
        if not self.first <= position < self.stop:
            return luma
        rng = np.random.default_rng(position)
        level = {"black": 16, "zero": 0, "grey": 128}.get(self.how)
        if level is not None:
            return np.full_like(luma, level)
        if self.how == "white":
            return np.clip(luma.astype(np.int64) // 2 + 215, 0, 255).astype(np.uint8)
        if self.how == "covered":
            return np.clip(rng.normal(24.0, 4.0, luma.shape), 0, 255).astype(np.uint8)
        spoilt = luma.copy()
        cut = round(0.55 * luma.shape[0])
        if self.how == "half_grey":
            spoilt[cut:] = 128
        elif self.how == "half_repeated":
            spoilt[cut:] = luma[cut]
        else:
            blocks = rng.random((-(-luma.shape[0] // 16), -(-luma.shape[1] // 16))) < 2 / 3
            is_grey = np.kron(blocks, np.ones((16, 16), dtype=np.bool_))
            spoilt[is_grey[: luma.shape[0], : luma.shape[1]]] = 128
        return spoilt


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameFault:
    """Describe faults of a camera's frames. The default has none."""

    dropped: tuple[int, ...] = ()  # capture indices of lost frames
    # ``frame_and_stamp``: both are missing, the rest is right. ``frame_only``: the timestamp file
    # is longer than the video. ``slip``: timestamps continue as if nothing was lost, so that from
    # the first loss each frame has the timestamp of an earlier one.
    drop_mode: str = "frame_and_stamp"
    # capture indices at which the file repeats the previous frame (a frozen frame)
    doubled: tuple[int, ...] = ()
    # half-open ranges of capture indices at which the file repeats the frame before the range
    frozen: tuple[tuple[int, int], ...] = ()
    spoilt: tuple[SpoiltFrames, ...] = ()  # sequences of images that do not show the scene

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
        """Return the capture index of each encoded frame, and that of each timestamp.

        `is_recorded`, shape (n_captures,): false where a gap removed both frame and timestamp.
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
        """Return the image in the file at a position, spoilt if need be, shape (height, width)."""
        for spell in self.spoilt:
            luma = spell.apply(luma, position)
        return luma
