"""Find frames that a flash lights as a whole: global shutters, and read-outs nobody knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.robust import mad_std

__all__ = ["FrameCells", "dead_times", "lit_intervals", "watched_neighbours"]

Floats = NDArray[np.float64]

# Rows of cells per frame; with four strips of columns a frame becomes 8 x 4 cells.
N_CELL_ROWS = 8
# Batches of frames that are reduced at once.
N_AT_ONCE = 16
# Frames on either side among which an unlit one is looked for.
RADIUS = 3
# Least flash, as a share of the background and in robust deviations of all frames.
MIN_SHARE = 0.03
MIN_STRENGTH = 8.0
# Share of the cells that must gain at least a third of the median gain.
MIN_CELLS = 0.75
# Two neighbouring frames share a pulse where their gains add up to a full one within this.
SHARED_TOLERANCE = 0.2
# Pulses are taken as no longer than this: the half-light instant of a pulse that an exposure cuts
# may lie half of it outside.
MAX_PULSE_S = 0.002


@dataclass(slots=True)
class FrameCells:
    """Reduce frames to cells, many at once: they are not needed until the end."""

    _waiting: list[NDArray[np.float32]] = field(default_factory=list)
    _cells: list[NDArray[np.float32]] = field(default_factory=list)

    def add(self, strips: NDArray[np.float32]) -> None:
        """Take the strips of some frames, shape (m, n, s)."""
        self._waiting.append(strips)
        if len(self._waiting) >= N_AT_ONCE:
            self._reduce()

    def finish(self) -> Floats:
        """Return the cells of all frames, shape (m, 8 s); there must be some."""
        self._reduce()
        return np.concatenate(self._cells).astype(np.float64)

    def _reduce(self) -> None:
        if self._waiting:
            self._cells.append(_frame_cells(np.concatenate(self._waiting)))
            self._waiting.clear()


def _frame_cells(strips: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the mean of 8 groups of rows in every strip, shape (m, 8 s) of (m, n, s)."""
    m, n, n_strips = strips.shape
    starts = np.linspace(0, n, min(N_CELL_ROWS, n), endpoint=False).astype(np.int64)
    sums = np.add.reduceat(strips, starts, axis=1)
    counts = np.diff(np.append(starts, n)).astype(np.float32)
    cells = (sums / counts[:, None]).reshape(m, starts.size * n_strips)
    return np.asarray(cells, dtype=np.float32)


def lit_intervals(
    frame_s: Floats,
    cells: Floats,
    *,
    exposure_s: float | None,
    readout_s: float | None,
    switched: NDArray[np.int64],
) -> tuple[Floats, Floats, Floats]:
    """Return the intervals in which half of the light of one pulse each had arrived.

    A frame is lit where three quarters of its cells are brighter than in the darkest frame
    before and after, alike in proportion: a picture that moves brightens some rows and darkens
    others. It was lit while it was exposed: ``frame_s +/- (exposure + readout) / 2``, by half of
    the longest pulse (2 ms) more. Two frames in a row whose gains add up to one full gain share
    a pulse, which lies where the first exposure ends and the second begins. A single frame with a
    part of the full gain had its pulse at one of both ends, which one is not known: its interval
    stays whole. Exposure or read-out that is not stated counts as a whole frame period.

    Parameters
    ----------
    frame_s : ndarray, shape (n,)
        Middle of the exposure of the middle row.
    cells : ndarray, shape (n, c)
        Of `FrameCells`.
    exposure_s, readout_s : float, optional
        Where stated.
    switched : ndarray of int
        Frames near which a light went on or off that stayed (`find_switches`): those and the
        ones beside them show no pulse.

    Returns
    -------
    start_s, stop_s, std_s : ndarray, shape (m,)
    """
    gains = _gains(cells)
    near = switched[:, None] + np.arange(-RADIUS, RADIUS + 1)
    gains[np.clip(near, 0, max(gains.size - 1, 0)).ravel()] = 0.0
    empty = np.empty(0)
    lit = np.flatnonzero(gains)
    if not lit.size:
        return empty, empty, empty
    period_s = max(float(np.median(np.diff(np.sort(frame_s)))), 1e-3)
    half_s = 0.5 * sum(period_s if value is None else value for value in (exposure_s, readout_s))
    full = float(np.max(gains))
    starts, stops = [], []
    is_taken = np.zeros(gains.size + 1, dtype=np.bool_)
    for k in lit.tolist():
        if is_taken[k]:
            continue
        start, stop = float(frame_s[k]) - half_s, float(frame_s[k]) + half_s
        is_next = k + 1 < gains.size and gains[k + 1] > 0.0 and frame_s[k + 1] > frame_s[k]
        if is_next and abs(gains[k] + gains[k + 1] - full) < SHARED_TOLERANCE * full:
            is_taken[k + 1] = True
            begin = float(frame_s[k + 1]) - half_s
            start, stop = min(stop, begin), max(stop, begin)
        starts.append(start - 0.5 * MAX_PULSE_S)
        stops.append(stop + 0.5 * MAX_PULSE_S)
    return np.array(starts), np.array(stops), np.full(len(starts), 1e-4)


def _gains(cells: Floats) -> Floats:
    """Return by what share of its background each frame is lit, 0 where it is not."""
    n = cells.shape[0]
    gains = np.zeros(n)
    if n < 3:
        return gains
    floor = np.maximum(_darkest(cells), _darkest(cells[::-1])[::-1])
    share = (cells[1:-1] - floor[1:-1]) / (floor[1:-1] + 16.0)
    gains[1:-1] = np.median(share, axis=1)
    noise = mad_std(gains - np.median(gains))
    limit = max(MIN_SHARE, float(np.median(gains)) + MIN_STRENGTH * noise)
    is_even = np.mean(share > gains[1:-1, None] / 3.0, axis=1) >= MIN_CELLS
    gains[1:-1] *= is_even & (gains[1:-1] > limit)
    return gains


def _darkest(cells: Floats) -> Floats:
    """Return the darkest of the up to three frames before each; the first has none."""
    n = cells.shape[0]
    before = np.arange(n)[:, None] - np.arange(1, RADIUS + 1)
    brightness = np.append(cells.sum(axis=1), np.inf)
    chosen = np.argmin(brightness[np.where(before < 0, n, before)], axis=1)
    darkest: Floats = cells[np.maximum(before[np.arange(n), chosen], 0)]
    return darkest


def watched_neighbours(indices: Sequence[int], frame_s: Floats) -> Floats:
    """Return the times of every two neighbouring frames that were both looked at, shape (m, 2).

    Parameters
    ----------
    indices : sequence of int
        Frames in which a flash would have been seen: those with a background on both sides.
    frame_s : ndarray, shape (n,)
        Times of all frames.
    """
    index = np.array(indices, dtype=np.int64)
    times_s = frame_s[index]
    is_pair = (np.diff(index) == 1) & (np.diff(times_s) > 0.0)
    return np.stack((times_s[:-1][is_pair], times_s[1:][is_pair]), axis=1)


def dead_times(watched_s: Floats, *, exposure_s: float | None, readout_s: float | None) -> Floats:
    """Return the times between neighbouring exposures that a pulse may hide in, shape (m, 2).

    They begin where less than all rows are exposed, by half of the longest pulse earlier: such
    pulses need not brighten a frame by enough. None where exposure or read-out is not stated.
    """
    reach_s = 0.5 * ((exposure_s or 0.0) - (readout_s or 0.0) - MAX_PULSE_S)
    if readout_s is None or reach_s <= 0.0:
        return np.empty((0, 2))
    dead = watched_s + np.array([reach_s, -reach_s])
    found: Floats = dead[dead[:, 0] < dead[:, 1]]
    return found
