"""Keep the latest frames of a camera and tell which of them are worth a look for flashes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode import Picture
from syncaudit.detectors.flash_frames import FrameCells
from syncaudit.detectors.flash_rows import FrameRows, strip_levels, strip_sums
from syncaudit.detectors.flash_screen import RADIUS, lit_candidates
from syncaudit.detectors.flash_steps import step_candidates

__all__ = ["FrameWindow", "Screened"]

# Frames that are looked at in one go.
N_AT_ONCE = 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Screened:
    """Some frames in a row, and which of them may be lit or show a step of light.

    Parameters
    ----------
    frames : sequence of FrameRows
        The frames and up to `RADIUS` on either side.
    start, stop : int
        Places of the frames that are told of.
    lit, changed : list of int
        Places of the candidates of `lit_candidates` and `step_candidates`.
    """

    frames: Sequence[FrameRows]
    start: int
    stop: int
    lit: list[int]
    changed: list[int]


@dataclass(slots=True)
class FrameWindow:
    """Take the frames of one camera in order, all of one size.

    Parameters
    ----------
    has_rows : bool
        Whether rows are exposed one after the other. Where all are at once, frames are reduced to
        `cells` alone, and no picture is kept.
    """

    has_rows: bool
    cells: FrameCells = field(default_factory=FrameCells)
    _frames: list[FrameRows] = field(default_factory=list)
    _n_done: int = 0
    _sums: list[NDArray[np.int32]] = field(default_factory=list)
    _strips: list[NDArray[np.float32]] = field(default_factory=list)
    _width_px: int = 0

    def add(self, picture: Picture) -> Screened | None:
        """Take a frame; return some of those before it as soon as enough have all neighbours."""
        self._width_px = picture.shape[1]
        self._sums.append(strip_sums(picture))
        if self.has_rows:
            self._frames.append(FrameRows(picture))
            stop = len(self._frames) - RADIUS
            return self._screened(stop) if stop - self._n_done >= N_AT_ONCE else None
        if len(self._sums) == N_AT_ONCE:
            self._reduce()
        return None

    def finish(self) -> Screened | None:
        """Return the frames that are left."""
        stop = len(self._frames)
        if stop > self._n_done:
            return self._screened(stop)
        self._reduce()
        return None

    def _screened(self, stop: int) -> Screened:
        """Screen the frames from `_n_done` to `stop`, and forget the oldest."""
        self._reduce()
        frames, strips, start = self._frames, np.concatenate(self._strips), self._n_done
        lit, changed = lit_candidates(strips, start, stop), step_candidates(strips, start, stop)
        n_kept = min(stop, RADIUS)
        self._frames, self._strips = frames[stop - n_kept :], [strips[stop - n_kept :]]
        self._n_done = n_kept
        return Screened(frames=frames, start=start, stop=stop, lit=lit, changed=changed)

    def _reduce(self) -> None:
        """Reduce the frames that came since; many at once cost little more than one."""
        if self._sums:
            levels = strip_levels(self._sums, self._width_px)
            self._sums.clear()
            self.cells.add(levels)
            if self.has_rows:
                self._strips.append(levels)
