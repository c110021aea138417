"""Reduce a camera's frames as they arrive to what is needed to find lights in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from syncaudit.decode import Frame
from syncaudit.detectors.flash.flicker import find_flicker
from syncaudit.detectors.flash.lighting import REACH
from syncaudit.detectors.flash.screen import (
    RADIUS,
    is_lit_across,
    lasting_senses,
    lit_candidates,
    step_candidates,
)
from syncaudit.model.arrays import Bools, Floats, Singles

N_BLOCKS = 16
# Four strips of about 120 rows suffice to decide whether a frame needs a closer look; whole frames
# are reduced to 8 x 4 cells.
N_STRIPS = 4
N_STRIP_ROWS = 120
N_CELL_ROWS = 8
# Pixels this close to white count as clipped (encoders ripple by two levels); a cell with a larger
# share of them than this is not used.
NEAR_WHITE = 3
CLIPPED_SHARE = 0.02
# Frames that are looked at in one go.
N_AT_ONCE = 16
# Where this share of the frames may be lit, so are those that a frame is compared with.
CROWDED_SHARE = 0.85
# Frames whose median is the usual brightness of a cell.
N_USUAL = 64
# Halves of the width that are looked at, as parts of it: left, middle and right.
STARTS = 0.0, 0.25, 0.5
# Minimum number of frames that a half shows lit, and how many times as many as the whole width
# does: moving objects light a half now and then.
MIN_LIT_FRAMES = 3
MORE = 1.25


@dataclass(slots=True)
class FrameWindow:
    """Take the frames of one camera in order, all of one size.

    Parameters
    ----------
    has_rows : bool
        Whether rows are exposed one after the other. Where all are exposed at once, frames are
        reduced to `cells` alone, and no image is kept.

    Attributes
    ----------
    candidates : list of int
        Frames, by their position in file order, that may be lit or show a light that goes on or
        off: nearly none of an ordinary clip.
    steps : list of int
        Those between two steady states of different brightness.
    levels, clean : dict of int to ndarray, shape (h, b)
        Brightness of the candidates and of the frames near them, and where it is not clipped.
    """

    has_rows: bool
    candidates: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    levels: dict[int, Singles] = field(default_factory=dict)
    clean: dict[int, Bools] = field(default_factory=dict)
    _frames: list[Frame] = field(default_factory=list)
    _n_done: int = 0
    _wanted: int = -1
    _sums: list[NDArray[np.int32]] = field(default_factory=list)
    _rows: list[Singles] = field(default_factory=list)
    _near: list[Singles] = field(default_factory=list)
    _width_px: int = 0

    def add(self, image: Frame) -> None:
        """Take a frame."""
        height, self._width_px = image.shape
        n_blocks = min(N_BLOCKS, self._width_px)
        self._sums.append(image.block_sums(n_blocks, max(1, height // N_STRIP_ROWS)))
        if self.has_rows:
            self._frames.append(image)
            stop = len(self._frames) - RADIUS
            if stop - self._n_done >= N_AT_ONCE:
                self._screen(stop)
        elif len(self._sums) == N_AT_ONCE:
            self._reduce()

    def finish(self) -> None:
        """Process the remaining frames."""
        stop = len(self._frames)
        if stop > self._n_done:
            self._screen(stop)
        else:
            self._reduce()

    def remove_flicker(self, places: Mapping[int, int], frame_s: Floats) -> None:
        """Take the ripple of lamps on the mains out of rows and levels, after `finish`.

        `places` are the positions among the frames by those in file order, `frame_s`, shape (n,),
        the times of the frames.
        """
        rows = self.rows()
        flicker = find_flicker(rows, frame_s)
        if flicker is None:
            return
        self._rows = [flicker.removed(rows, np.median(rows, axis=0), slice(None))]
        if self.levels:
            some = list(self.levels.values())[:: max(1, len(self.levels) // N_USUAL)]
            usual = np.median(some, axis=0)
            self.levels = {
                index: flicker.removed(own, usual, places[index])
                for index, own in self.levels.items()
            }

    def senses(self, places: Mapping[int, int]) -> dict[int, int]:
        """Return whether light goes on (+1) or off (-1) at each step that lasts.

        `places`: as for `remove_flicker`.
        """
        at = np.array([places[index] for index in self.steps], dtype=np.int64)
        senses = lasting_senses(self.rows(), at)
        return {k: sense for k, sense in zip(self.steps, senses, strict=True) if sense}

    def changes(self) -> Floats:
        """Return the mean change of rows from the previous frame to each, in levels, (n,)."""
        steps = np.diff(self.rows(), axis=0)
        return np.append(0.0, np.abs(steps, out=steps).mean(axis=(1, 2), dtype=np.float64))

    def rows(self) -> Singles:
        """Return the brightness of about 120 rows in column blocks, of all frames, (n, r, b)."""
        if len(self._rows) > 1:
            self._rows = [np.concatenate(self._rows)]
        return self._rows[0]

    def cells(self) -> Singles:
        """Return the brightness of all frames in 8 groups of rows and a few strips, (n, 8, s)."""
        return _frame_cells(self.rows()) if self.has_rows else self.rows()

    def lit_half(self) -> slice | None:
        """Return the half of the width that light reaches, or None where it reaches most of it.

        A lamp beside a camera lights what is near it: most of the blocks of a row stay dark at
        every flash, so no row of the whole width counts as lit.
        """
        levels = self.rows()
        n_blocks = levels.shape[2]
        size = round(0.5 * n_blocks)
        if size == 0:
            return None
        starts = [round(start * n_blocks) for start in STARTS]
        n_lit = [_n_lit(levels[:, :, start : start + size]) for start in starts]
        most = max(n_lit)
        if most < max(MIN_LIT_FRAMES, MORE * _n_lit(levels)):
            return None
        first = starts[n_lit.index(most)]
        width_px = self._width_px
        return slice(first * width_px // n_blocks, (first + size) * width_px // n_blocks)

    def _screen(self, stop: int) -> None:
        """Screen the frames from `_n_done` to `stop`, and forget the oldest."""
        self._reduce()
        frames, near, start = self._frames, np.concatenate(self._near), self._n_done
        strips = _strips(near)
        changed = step_candidates(strips, start, stop)
        lit = lit_candidates(strips, start, stop)
        if len(lit) < CROWDED_SHARE * (stop - start) or not _is_crowd(near, lit):
            lit = [at for at in lit if is_lit_across(near, at)]
        found = sorted(frames[at].index for at in {*lit, *changed})
        self.candidates += found
        self.steps += [frames[at].index for at in changed]
        for frame in frames:
            is_near = frame.index <= self._wanted or any(
                abs(frame.index - index) <= REACH for index in found
            )
            if is_near and frame.index not in self.levels:
                self.levels[frame.index] = block_levels(frame)
                self.clean[frame.index] = clean_blocks(frame)
        if found:
            self._wanted = found[-1] + REACH
        n_kept = min(stop, max(RADIUS, REACH))
        self._frames, self._near = frames[stop - n_kept :], [near[stop - n_kept :]]
        self._n_done = n_kept

    def _reduce(self) -> None:
        """Reduce the frames that arrived since; many at once cost little more than one."""
        if self._sums:
            n_px = self._width_px // self._sums[0].shape[1]
            levels = np.stack(self._sums).astype(np.float32) / np.float32(n_px)
            self._sums.clear()
            self._rows.append(levels if self.has_rows else _frame_cells(levels))
            if self.has_rows:
                self._near.append(levels)


def block_levels(frame: Frame) -> Singles:
    """Return the mean luma of each row in each column block, shape (h, b), without odd columns."""
    width = frame.shape[1]
    n_blocks = min(N_BLOCKS, width)
    return frame.block_sums(n_blocks).astype(np.float32) / np.float32(width // n_blocks)


def clean_blocks(frame: Frame) -> Bools:
    """Return where at most 2 % of the pixels are clipped, shape (h, b)."""
    clipped = cv2.threshold(frame.luma, frame.white - NEAR_WHITE, 1, cv2.THRESH_BINARY)[1]
    if not cv2.countNonZero(clipped):
        return np.ones((frame.shape[0], min(N_BLOCKS, frame.shape[1])), dtype=np.bool_)
    return block_levels(Frame(0, np.asarray(clipped, dtype=np.uint8))) <= CLIPPED_SHARE


def _strips(levels: Singles) -> Singles:
    """Return the mean brightness in up to four strips, shape (m, n, s), of blocks (m, n, b)."""
    m, n, n_blocks = levels.shape
    if n_blocks % N_STRIPS:
        return levels
    strips: Singles = levels.reshape(m, n, N_STRIPS, -1).mean(axis=3)
    return strips


def _frame_cells(levels: Singles) -> Singles:
    """Return the mean of 8 groups of rows in every strip, shape (m, 8, s) of (m, n, b)."""
    n = levels.shape[1]
    starts = np.linspace(0, n, min(N_CELL_ROWS, n), endpoint=False).astype(np.int64)
    sums = np.add.reduceat(_strips(levels), starts, axis=1)
    counts = np.diff(np.append(starts, n)).astype(np.float32)
    return np.asarray(sums / counts[:, None], dtype=np.float32)


def _is_crowd(levels: Singles, lit: Sequence[int]) -> bool:
    """Return whether most of some frames are lit, though the frames beside may be lit as well."""
    n_lit = sum(is_lit_across(levels, at, is_crowded=True) for at in lit)
    return 2 * n_lit > len(lit)


def _n_lit(levels: Singles) -> int:
    """Return how many frames have lit rows."""
    return sum(is_lit_across(levels, at) for at in lit_candidates(_strips(levels), 0, len(levels)))
