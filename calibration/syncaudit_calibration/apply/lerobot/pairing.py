"""Which samples belong to one row, once the lags of their sources are known."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pairing", "pair_rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """How the rows of an episode are paired anew.

    Attributes
    ----------
    start, stop : int
        Rows of old that stay, half open: beyond them a source has no sample.
    moves : mapping of str to float
        Row ``j`` takes sample ``j + move`` of a source; a fraction is interpolated.
    left_s : mapping of str to float
        What the source is still off then: positive, if its content is later than its row.
    """

    start: int
    stop: int
    moves: Mapping[str, float]
    left_s: Mapping[str, float]

    @property
    def n_rows(self) -> int:
        """How many rows stay."""
        return self.stop - self.start

    def samples(self, source: str) -> NDArray[np.float64]:
        """Return the sample of every row, shape (n_rows,)."""
        return np.arange(self.start, self.stop, dtype=np.float64) + self.moves[source]

    def shortened(self, n_rows: int) -> Pairing:
        """Return the pairing without the rows from `n_rows` on."""
        return replace(self, stop=self.start + n_rows)


def pair_rows(
    n_rows: int,
    fps: float,
    offsets_s: Mapping[str, float],
    *,
    cameras: Collection[str],
    interpolated: Collection[str] = (),
) -> Pairing:
    """Return for every source the samples nearest to the times of the rows.

    Sample ``k`` of a source was true at ``k / fps + offset``, a row stands for one time. Frames
    cannot be interpolated: where other sources are, rows stand for the times of the frames (the
    median over the cameras), else for the times that they say.

    Parameters
    ----------
    n_rows : int
        Samples of every source.
    fps : float
        Rate of the rows.
    offsets_s : mapping of str to float
        What is added to the stamps of each source to get reference time.
    cameras : collection of str
        Those of them that hold frames.
    interpolated : collection of str
        Those of them that may be interpolated.
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
