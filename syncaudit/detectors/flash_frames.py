"""Find frames that a flash lights as a whole: global shutters, and read-outs nobody knows."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.flash_rows import FrameRows
from syncaudit.dsp.robust import mad_std

__all__ = ["frame_cells", "lit_intervals"]

Floats = NDArray[np.float64]

# Rows of cells per frame; with the column blocks a frame becomes 8 x 16 cells.
N_CELL_ROWS = 8
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


def frame_cells(rows: FrameRows) -> NDArray[np.float32]:
    """Return the mean luma of 8 rows of cells in every column block, flat."""
    n_blocks = rows.levels.shape[1]
    n_rows = min(N_CELL_ROWS, rows.levels.shape[0])
    cells = cv2.resize(rows.levels, (n_blocks, n_rows), interpolation=cv2.INTER_AREA)
    return np.asarray(cells, dtype=np.float32).ravel()


def lit_intervals(
    frame_s: Floats, cells: Floats, *, exposure_s: float | None, readout_s: float | None
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
        Of `frame_cells`.
    exposure_s, readout_s : float, optional
        Where stated.

    Returns
    -------
    start_s, stop_s, std_s : ndarray, shape (m,)
    """
    gains = _gains(cells)
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
    is_even = np.zeros(n, dtype=np.bool_)
    for k in range(1, n - 1):
        before = cells[max(0, k - RADIUS) : k]
        after = cells[k + 1 : k + 1 + RADIUS]
        dark = [side[int(np.argmin(side.sum(axis=1)))] for side in (before, after)]
        floor = np.maximum(dark[0], dark[1])
        gain = (cells[k] - floor) / (floor + 16.0)
        gains[k] = float(np.median(gain))
        is_even[k] = np.mean(gain > gains[k] / 3.0) >= MIN_CELLS
    noise = mad_std(gains - np.median(gains))
    is_lit = is_even & (gains > max(MIN_SHARE, float(np.median(gains)) + MIN_STRENGTH * noise))
    return np.where(is_lit, gains, 0.0)
