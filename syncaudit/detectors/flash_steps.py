"""Find frames in which a light goes on or off that stayed as it was before and stays so after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.flash_rows import FrameRows

__all__ = ["REACH", "StepFrame", "find_step", "step_candidates"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

# Frames on either side that must be alike: a light of less than two frame periods is no step.
REACH = 2
# Least change of the whole picture's mean, as a share and in levels.
MIN_MEAN_SHARE = 0.02
MIN_MEAN_LEVELS = 1.5
# Least change of a column block in levels.
MIN_BLOCK_LEVELS = 3.0
# Frames of one side differ by no more than this share of the change.
STEADY_SHARE = 0.12
# Share of the cells that must change in one sense, and of the column blocks that must be usable.
ONE_SENSE = 0.8
MIN_BLOCKS = 0.5
# Most bins of rows: ramps are long.
N_BINS = 240
# Between these shares of the change a row lies on the ramp.
ON_RAMP = (0.1, 0.9)
# Rows that must lie on the ramp, as a share of the height.
MIN_RAMP_ROWS = 0.02


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepFrame:
    """A frame in which the light changed while its rows were exposed.

    Parameters
    ----------
    index : int
        Position of the frame in file order.
    is_on : bool
        Whether it became brighter.
    rows : ndarray, shape (n,)
        Middle of each bin of rows, from the top of the picture.
    bin_rows : int
        Rows in a bin.
    change : ndarray, shape (n, b)
        What the light does in the end, in levels, positive for `is_on` and else negative; times
        the sense: positive.
    done : ndarray, shape (n, b)
        What it has done in this frame, in the same sense.
    is_clean : ndarray of bool, shape (n, b)
        Cells that are not clipped, changed enough, in rows that are steady on both sides.
    share : ndarray, shape (n,)
        Median over the blocks of done over change; NaN where no cell is clean.
    """

    index: int
    is_on: bool
    rows: Floats
    bin_rows: int
    change: Floats
    done: Floats
    is_clean: NDArray[np.bool_]
    share: Floats


def step_candidates(strips: Singles, start: int, stop: int) -> list[int]:
    """Return which frames lie between two steady states of unlike brightness.

    A cheap test by the mean of the picture first, then cell by cell of the strips: most change in
    one sense, and little within the two frames on either side.

    Parameters
    ----------
    strips : ndarray of float32, shape (m, n, s)
        Of consecutive frames.
    start, stop : int
        Frames to tell of.

    Returns
    -------
    list of int
        Their places.
    """
    m = strips.shape[0]
    low, high = max(start, REACH), min(stop, m - REACH)
    if high <= low:
        return []
    cells = strips.reshape(m, -1)
    means = cells @ np.full(cells.shape[1], 1.0 / cells.shape[1], np.float32)
    step = np.abs(means[low + 1 : high + 1] - means[low - 1 : high - 1])
    limit = np.maximum(MIN_MEAN_LEVELS, MIN_MEAN_SHARE * means[low - 1 : high - 1])
    at = (step > limit).nonzero()[0] + low
    pairs, mean_pairs = cells[:-1] + cells[1:], means[:-1] + means[1:]
    change = pairs[at + 1] - pairs[at - 2]
    sense = np.sign(mean_pairs[at + 1] - mean_pairs[at - 2])
    change *= np.float32(0.5) * sense[:, None]
    # Where there is no step, too many cells change by too little for the least one.
    may_be = (change > 0.25 * MIN_BLOCK_LEVELS).mean(axis=1) >= ONE_SENSE
    at, change = at[may_be], change[may_be]
    if not at.size:
        return []
    size = _medians(change)
    in_sense = (change > 0.25 * size[:, None]).mean(axis=1)
    is_step = (size > MIN_BLOCK_LEVELS) & (in_sense >= ONE_SENSE)
    at, size = at[is_step], size[is_step]
    if not at.size:
        return []
    before, after = np.abs(cells[at - 1] - cells[at - 2]), np.abs(cells[at + 1] - cells[at + 2])
    unsteady = np.maximum(_medians(before), _medians(after))
    found: list[int] = at[unsteady < 2 * STEADY_SHARE * size].tolist()
    return found


def _medians(values: Singles) -> Singles:
    """Return the median of each row; `np.median` spends most of its time on other matters."""
    low, high = (values.shape[1] - 1) // 2, values.shape[1] // 2
    ordered = np.partition(values, (low, high), axis=1)
    medians: Singles = 0.5 * (ordered[:, low] + ordered[:, high])
    return medians


def find_step(frames: Sequence[FrameRows], at: int) -> StepFrame | None:
    """Return the rows of frame `at` as shares of a lasting change of light, or None.

    The two frames before and the two after give each cell's brightness without and with the light.
    Whole frames that change at once (gain, exposure, a cut) leave no row between: none is returned.

    Parameters
    ----------
    frames : sequence of FrameRows
        At least two on either side, in order.
    at : int
        Place in `frames`.
    """
    if not REACH <= at < len(frames) - REACH:
        return None
    near = [frames[at + j] for j in (-2, -1, 0, 1, 2)]
    height = near[0].levels.shape[0]
    bin_rows = max(1, height // N_BINS)
    n = height // bin_rows
    levels = np.stack([_binned(frame.levels, n, bin_rows) for frame in near])
    clipped = np.stack([_binned(~frame.is_clean, n, bin_rows) for frame in near]).max(axis=0)
    before, after = 0.5 * (levels[0] + levels[1]), 0.5 * (levels[3] + levels[4])
    change = after - before
    is_on = float(np.median(change)) > 0.0
    sense = 1.0 if is_on else -1.0
    change, done = sense * change, sense * (levels[2] - before)
    size = np.median(change, axis=1)
    unsteady = np.maximum(
        np.median(np.abs(levels[1] - levels[0]), axis=1),
        np.median(np.abs(levels[4] - levels[3]), axis=1),
    )
    is_clean = (clipped == 0.0) & (change > MIN_BLOCK_LEVELS)
    is_clean &= (unsteady < STEADY_SHARE * size)[:, None]
    is_row = np.count_nonzero(is_clean, axis=1) >= MIN_BLOCKS * is_clean.shape[1]
    is_clean &= is_row[:, None]
    if np.count_nonzero(is_row) < MIN_RAMP_ROWS * n:
        return None
    ratio = np.where(is_clean, done / np.maximum(change, 1.0), np.nan)
    share = np.full(n, np.nan)
    share[is_row] = np.nanmedian(ratio[is_row], axis=1)
    on_ramp = (share > ON_RAMP[0]) & (share < ON_RAMP[1])
    if np.count_nonzero(on_ramp) < max(2.0, MIN_RAMP_ROWS * n):
        return None
    return StepFrame(
        index=near[2].index,
        is_on=is_on,
        rows=0.5 * (bin_rows - 1) + bin_rows * np.arange(n, dtype=np.float64),
        bin_rows=bin_rows,
        change=change,
        done=done,
        is_clean=is_clean,
        share=share,
    )


def _binned(values: NDArray[np.generic], n: int, bin_rows: int) -> Floats:
    cut = values[: n * bin_rows].reshape(n, bin_rows, -1)
    return np.asarray(cut.mean(axis=1, dtype=np.float64))
