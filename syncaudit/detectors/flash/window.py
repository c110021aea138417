"""Keep what is needed to find lights from a camera's frames as they arrive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode import Frame
from syncaudit.detectors.flash.flicker import find_flicker
from syncaudit.detectors.flash.lighting import REACH
from syncaudit.detectors.flash.rows import FrameRows, row_sums, strips_of
from syncaudit.detectors.flash.screen import RADIUS, is_lit_across, lit_candidates
from syncaudit.detectors.flash.step_screen import lasting_senses, step_candidates
from syncaudit.detectors.flash.whole_frames import FrameCells

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]

# Frames that are looked at in one go.
N_AT_ONCE = 16
# Where this share of the frames may be lit, so are those that a frame is compared with.
CROWDED_SHARE = 0.85
# Frames whose median is the usual brightness of a cell.
N_USUAL = 64


@dataclass(slots=True)
class FrameWindow:
    """Take the frames of one camera in order, all of one size.

    Attributes
    ----------
    cells : FrameCells
        Cells of all frames.
    candidates : list of int
        Frames, by their position in file order, that may be lit or show a light that goes on or
        off: nearly none of an ordinary clip.
    steps : list of int
        Those between two steady states of different brightness.
    levels, clean : dict of int to ndarray, shape (h, b)
        Brightness of the candidates and of the frames near them, and where it is not clipped.

    Parameters
    ----------
    has_rows : bool
        Whether rows are exposed one after the other. Where all are exposed at once, frames are
        reduced to `cells` alone, and no image is kept.
    """

    has_rows: bool
    cells: FrameCells = field(default_factory=FrameCells)
    candidates: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    levels: dict[int, Singles] = field(default_factory=dict)
    clean: dict[int, NDArray[np.bool_]] = field(default_factory=dict)
    _frames: list[FrameRows] = field(default_factory=list)
    _n_done: int = 0
    _wanted: int = -1
    _sums: list[NDArray[np.int32]] = field(default_factory=list)
    _rows: list[Singles] = field(default_factory=list)
    _changes: list[Floats] = field(default_factory=list)
    _near: list[Singles] = field(default_factory=list)
    _width_px: int = 0

    def add(self, image: Frame) -> None:
        """Take a frame."""
        self._width_px = image.shape[1]
        self._sums.append(row_sums(image))
        if self.has_rows:
            self._frames.append(FrameRows(image))
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
        """Take the ripple of lamps on the mains out of rows, changes and levels.

        Call it after `finish`.

        Parameters
        ----------
        places : mapping of int to int
            Position among the frames of each, by its position in file order.
        frame_s : ndarray, shape (n,)
            Times of the frames.
        """
        rows = self.rows()
        flicker = find_flicker(rows, frame_s)
        if flicker is None:
            return
        rows = flicker.removed(rows, np.median(rows, axis=0), slice(None))
        changes = np.abs(np.diff(rows, axis=0, prepend=rows[:1]))
        self._rows = [rows]
        self._changes = [changes.mean(axis=(1, 2), dtype=np.float64)]
        if self.levels:
            some = list(self.levels.values())[:: max(1, len(self.levels) // N_USUAL)]
            usual = np.median(some, axis=0)
            self.levels = {
                index: flicker.removed(own, usual, places[index])
                for index, own in self.levels.items()
            }

    def senses(self, rows: Singles, places: Mapping[int, int]) -> dict[int, int]:
        """Return whether light goes on (+1) or off (-1) at each step that lasts.

        Parameters
        ----------
        rows : ndarray of float32, shape (n, r, b)
            From `rows`.
        places : mapping of int to int
            Position of each frame in them.
        """
        at = np.array([places[index] for index in self.steps], dtype=np.int64)
        senses = lasting_senses(rows, at)
        return {k: sense for k, sense in zip(self.steps, senses, strict=True) if sense}

    def changes(self) -> Floats:
        """Return the mean change of rows from the previous frame to each, in levels, (n,)."""
        return np.concatenate(self._changes)

    def rows(self) -> Singles:
        """Return the brightness of about 120 rows in column blocks, of all frames, (n, r, b)."""
        if len(self._rows) > 1:
            self._rows = [np.concatenate(self._rows)]
        return self._rows[0]

    def _screen(self, stop: int) -> None:
        """Screen the frames from `_n_done` to `stop`, and forget the oldest."""
        self._reduce()
        frames, near, start = self._frames, np.concatenate(self._near), self._n_done
        strips = strips_of(near)
        changed = step_candidates(strips, start, stop)
        lit = lit_candidates(strips, start, stop)
        if len(lit) < CROWDED_SHARE * (stop - start) or not _is_crowd(near, lit):
            lit = [at for at in lit if is_lit_across(near, at)]
        found = sorted(frames[at].index for at in {*lit, *changed})
        self.candidates += found
        self.steps += [frames[at].index for at in changed]
        self._keep(found)
        n_kept = min(stop, max(RADIUS, REACH))
        self._frames, self._near = frames[stop - n_kept :], [near[stop - n_kept :]]
        self._n_done = n_kept

    def _keep(self, found: list[int]) -> None:
        """Keep the rows of frames near candidates."""
        for frame in self._frames:
            is_near = frame.index <= self._wanted or any(
                abs(frame.index - index) <= REACH for index in found
            )
            if is_near and frame.index not in self.levels:
                self.levels[frame.index] = frame.levels
                self.clean[frame.index] = frame.is_clean
        if found:
            self._wanted = found[-1] + REACH

    def _reduce(self) -> None:
        """Reduce the frames that arrived since; many at once cost little more than one."""
        if self._sums:
            n_blocks = self._sums[0].shape[1]
            levels = np.stack(self._sums).astype(np.float32) / np.float32(
                self._width_px // n_blocks
            )
            self._sums.clear()
            self.cells.add(strips_of(levels))
            if self.has_rows:
                before = self._rows[-1][-1:] if self._rows else levels[:1]
                changes = np.abs(np.diff(levels, axis=0, prepend=before))
                self._changes.append(changes.mean(axis=(1, 2), dtype=np.float64))
                self._rows.append(levels)
                self._near.append(levels)


def _is_crowd(levels: Singles, lit: Sequence[int]) -> bool:
    """Return whether most of some frames are lit, though the frames beside may be lit as well."""
    n_lit = sum(is_lit_across(levels, at, is_crowded=True) for at in lit)
    return 2 * n_lit > len(lit)
