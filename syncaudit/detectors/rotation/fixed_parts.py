"""Find what is fixed to the camera in its images: burnt-in text, a bonnet, a gripper, dirt.

Such points do not move while the scene does. Robust weights spare most scenes a few of them, but
not noisy ones: sharp letters are tracked best of all, and near the border they have the most
leverage.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.model.arrays import Bools, Floats

# Points are counted in cells of this size.
CELL_PX = 10
# The scene moves if most points move by a pixel. What is fixed to the camera moves by no more than
# the noise of a track.
MOVED_PX = 1.0
STILL_PX = 0.15
# A cell is fixed to the camera if it was seen in this many pairs of frames in which the scene
# moved, and most of its points were still. Far points ahead of a vehicle are still in a pair now
# and then, in which the vehicle happens not to turn.
MIN_SEEN = 5
MIN_STILL = 0.5
# If more of all points lie in such cells, they are the scene, and what moves is an object.
MAX_FIXED = 0.5


@dataclass(slots=True)
class FixedParts:
    """Accumulate which cells of the images of one camera, all of one size, do not move."""

    # shape (3, rows, columns): points seen, those seen while the scene moved, and those of these
    # that were still
    _counts: NDArray[np.int64] | None = None

    def add(self, before: Floats, after: Floats, shape: tuple[int, ...]) -> None:
        """Count points that moved between two images of a shape (height, width).

        `before`, `after`, shape (n, 2): their positions (x, y) in pixels.
        """
        size = tuple(length // CELL_PX + 1 for length in shape)
        if self._counts is None or self._counts.shape[1:] != size:
            self._counts = np.zeros((3, *size), dtype=np.int64)
        moved_px = np.hypot(*(after - before).T)
        is_moving = np.full(moved_px.size, np.median(moved_px) >= MOVED_PX)
        kinds = (before, before[is_moving], before[is_moving & (moved_px < STILL_PX)])
        for counts, some in zip(self._counts, kinds, strict=True):
            np.add.at(counts, _cells(some), 1)

    def hides(self, places: Floats) -> Bools:
        """Return which positions (x, y) in pixels, shape (..., 2), are fixed to the camera."""
        if self._counts is None:
            return np.zeros(places.shape[:-1], dtype=np.bool_)
        n_all, n, n_still = self._counts
        is_fixed = (n >= MIN_SEEN) & (n_still > MIN_STILL * n)
        if n_all[is_fixed].sum() > MAX_FIXED * n_all.sum():
            return np.zeros(places.shape[:-1], dtype=np.bool_)
        return np.asarray(is_fixed[_cells(places)])


def _cells(places: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    cells = (places / CELL_PX).astype(np.intp)
    return cells[..., 1], cells[..., 0]
