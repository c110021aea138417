"""Find the samples that belong to one row, given the offsets of their sources."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from syncaudit.model.arrays import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """How the rows of an episode are re-paired."""

    # Original rows that are kept, half open: beyond them some source has no sample.
    start: int
    stop: int
    # Row ``j`` takes sample ``j + move`` of a source; a fraction is interpolated.
    moves: Mapping[str, float]
    # Remaining offset of the source: positive if its content is later than its row.
    left_s: Mapping[str, float]

    @property
    def n_rows(self) -> int:
        """Return the number of rows that are kept."""
        return self.stop - self.start

    def samples(self, source: str) -> Floats:
        """Return the sample index of every row, shape (n_rows,)."""
        return np.arange(self.start, self.stop, dtype=np.float64) + self.moves[source]

    def shortened(self, n_rows: int) -> Pairing:
        """Return the pairing reduced to its first `n_rows` rows."""
        return replace(self, stop=self.start + n_rows)


def pair_rows(
    n_rows: int,
    fps: float,
    offsets_s: Mapping[str, float],
    *,
    cameras: Collection[str],
    interpolated: Collection[str] = (),
) -> Pairing:
    """Find the samples of every source that are nearest in time to the rows.

    Sample ``k`` of a source was taken at ``k / fps + offset``; a row represents one time. Frames
    cannot be interpolated: if other sources are, rows represent the times of the frames (the
    median over the cameras), otherwise their nominal times ``j / fps``.

    `offsets_s` is what is added to the timestamps of each source to get reference time; `cameras`
    are the sources that hold frames, `interpolated` those that may be interpolated.
    """
    nearest = {name: round(-offset_s * fps) for name, offset_s in offsets_s.items()}
    grid_s = 0.0
    if interpolated and cameras:
        grid_s = float(np.median([offsets_s[name] + nearest[name] / fps for name in cameras]))
    moves: dict[str, float] = {}
    for name, offset_s in offsets_s.items():
        move = (grid_s - offset_s) * fps
        moves[name] = move if name in interpolated else round(move)
    start = max(0, *(math.ceil(-move) for move in moves.values()))
    stop = min(n_rows, *(math.floor(n_rows - 1 - move) + 1 for move in moves.values()))
    return Pairing(
        start=start,
        stop=max(start, stop),
        moves=moves,
        left_s={
            name: offset_s + moves[name] / fps - grid_s for name, offset_s in offsets_s.items()
        },
    )
