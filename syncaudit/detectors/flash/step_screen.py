"""Find cheaply the frames in which a lasting light may go on or off."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

# Frames on either side that must look the same: a light shorter than two frame periods is not a
# step.
REACH = 2
# Minimum change of the mean of the whole image, as a share and in levels.
MIN_MEAN_SHARE = 0.02
MIN_MEAN_LEVELS = 1.5
# Minimum change of a column block in levels.
MIN_BLOCK_LEVELS = 3.0
# Frames before differ by no more than this share of the change, nor do those after, unless they
# fall back: auto-exposure responding to the light.
STEADY_SHARE = 0.12
ANSWERED_SHARE = 0.25
# A light that falls back by this much of its change within two frames was a pulse, or went off.
ENDED_SHARE = 0.5
# Share of the cells that must change in the same sense.
ONE_SENSE = 0.8


def step_candidates(strips: Singles, start: int, stop: int) -> list[int]:
    """Return which frames lie between two steady states of different brightness.

    A cheap test of the mean of the image comes first, then one of the cells of the strips: most
    change in the same sense, and little within the two frames on either side. Auto-exposure
    responds to a change from the next frame, in which up to half of it may be taken back.

    Parameters
    ----------
    strips : ndarray of float32, shape (m, n, s)
        Of consecutive frames.
    start, stop : int
        Frames to test.

    Returns
    -------
    list of int
        Their positions.
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
    # Without a step, too many cells change by less than the smallest step requires.
    may_be = (change > 0.25 * MIN_BLOCK_LEVELS).mean(axis=1) >= ONE_SENSE
    at, change = at[may_be], change[may_be]
    if not at.size:
        return []
    size = _medians(change)
    in_sense = (change > 0.25 * size[:, None]).mean(axis=1)
    is_step = (size > MIN_BLOCK_LEVELS) & (in_sense >= ONE_SENSE)
    at, size, sense = at[is_step], size[is_step], sense[may_be][is_step]
    if not at.size:
        return []
    before, after = cells[at - 1] - cells[at - 2], cells[at + 1] - cells[at + 2]
    answered = _medians(after * sense[:, None])  # above 0 where the change is taken back
    unsteady = _medians(np.abs(after)) - np.maximum(answered, 0.0)
    unsteady = np.maximum(unsteady, _medians(np.abs(before)))
    is_steady = (unsteady < 2 * STEADY_SHARE * size) & (answered < 2 * ANSWERED_SHARE * size)
    at, size, sense = at[is_steady], size[is_steady], sense[is_steady]
    # A pulse that auto-exposure responds to is brighter than both sides, whichever rows show it.
    sides = sense * np.stack((means[at - 1], means[at + 1]))
    departure = np.maximum(
        sides.min(axis=0) - sense * means[at], np.abs(means[at - 1] - means[at - 2])
    )
    beyond = sense * means[at] - sides.max(axis=0)
    is_step = (departure < 2 * STEADY_SHARE * size) & (beyond < 2 * ANSWERED_SHARE * size)
    found: list[int] = at[is_step].tolist()
    return found


def lasting_senses(rows: Singles, at: Ints) -> list[int]:
    """Return whether light goes on (+1) or off (-1) in some frames, 0 where it was a pulse.

    A light that goes on lasts until the next step at which one goes off; pulses that follow each
    other in two or three frames look like such a light until they end, or from when they began.

    Parameters
    ----------
    rows : ndarray of float32, shape (n, r, b)
        Brightness of all frames.
    at : ndarray of int64, shape (k,)
        Positions of the steps, in order.
    """
    means = rows.mean(axis=(1, 2))
    inner = (at > 0) & (at < means.size - 1)
    after, before = np.minimum(at + 1, means.size - 1), np.maximum(at - 1, 0)
    size = np.where(inner, means[after] - means[before], 0.0)
    sense = np.sign(size).astype(np.int64)
    found: list[int] = []
    for i, k in enumerate(at.tolist()):
        others = at[sense == -sense[i]]
        if sense[i] > 0:
            lit = means[k + 1 : min(others[others > k], default=means.size)]
        else:
            lit = means[max(others[others < k], default=-1) + 1 : k][::-1]
        falls = lit[:-2] - lit[2:]
        ended = falls.size and falls.max() > ENDED_SHARE * abs(size[i])
        found.append(0 if ended else int(sense[i]))
    return found


def _medians(values: Singles) -> Singles:
    """Return the median of each row; `np.median` spends most of its time on overhead."""
    low, high = (values.shape[1] - 1) // 2, values.shape[1] // 2
    ordered = np.partition(values, (low, high), axis=1)
    medians: Singles = 0.5 * (ordered[:, low] + ordered[:, high])
    return medians
