"""Find where a tier steps against its sound: two levels against a line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from syncaudit.estimators.speech.boundaries import weigh_boundaries
from syncaudit.estimators.speech.course import Course
from syncaudit.estimators.speech.fit import TEMPER, CourseFit
from syncaudit.estimators.speech.templates import class_codes
from syncaudit.model import BandEnergies, SpokenTier
from syncaudit.model.arrays import Floats, Ints

__all__ = ["place_step", "split_line"]

# Levels that are tried on either side of a step, about the line at its middle. Larger steps jump in
# the search already.
REACH_S = 0.16
# Of the tier on either side of a step: less is the whim of a few labels.
MIN_SIDE_S = 3.0
# Two levels must beat the line by as much as four standard errors do.
MIN_GAIN = 8.0
# ... and by so many times what a second step on either side gains. One jump of a clock leaves noise
# and drift to the others (30 tiers: 8 times and more; 5 in words of 20 s); recognisers put whole
# phrases early or late, where the first step gains 1 to 5 times what the second does (24 tiers).
TIMES_A_SECOND = 6.0


def split_line(spoken: SpokenTier, sound: BandEnergies, fit: CourseFit) -> Course | None:
    """Return the course of two levels that explains the sound better than a line, or None.

    A step below the reach of a jump creeps through the windows of the search as a drift does, or
    leaves the fit on the level of the longer side. With the classes as the line has them, the
    likelihood of every frame under every level tells: for each place the best level before it and
    the best one after it.
    """
    likelihood = np.diff(weigh_boundaries(spoken, sound, fit.course).sums, axis=1)
    times_s, codes = _frames(spoken, sound.hop_s)
    n_side = round(MIN_SIDE_S / sound.hop_s)
    if times_s.size <= 2 * n_side:
        return None

    def explained(offsets_s: Floats) -> Floats:
        place = np.rint((times_s + offsets_s - sound.start_s) / sound.hop_s).astype(np.int64)
        found = likelihood[codes, np.clip(place, 0, likelihood.shape[1] - 1)]
        return np.asarray(TEMPER * found)

    level = replace(fit.course, drift=0.0)
    n = round(REACH_S / sound.hop_s)
    moves_s = sound.hop_s * np.arange(-n, n + 1, dtype=np.float64)
    by_level = np.array([explained(level.at(times_s) + move_s) for move_s in moves_s])
    k, height = _best_split(by_level, n_side)
    sides = by_level[:, :k], by_level[:, k:]
    gain = height - float(explained(fit.course.at(times_s)).sum())
    if gain < max(MIN_GAIN, *(TIMES_A_SECOND * _gain(side, n_side) for side in sides)):
        return None
    before_s, after_s = (float(moves_s[np.argmax(side.sum(axis=1))]) for side in sides)
    return replace(
        level,
        offset_s=level.offset_s + before_s,
        step_s=after_s - before_s,
        step_at_s=float(times_s[k]),
    )


def _best_split(by_level: Floats, n_side: int) -> tuple[int, float]:
    """Return the frame before which one level fits best and another after, and the log-likelihood.

    Parameters
    ----------
    by_level : ndarray, shape (n_levels, n_frames)
        Log-likelihood of every frame.
    n_side : int
        Frames on either side at least.
    """
    total = np.cumsum(by_level, axis=1)
    heights = total.max(axis=0) + (total[:, -1:] - total).max(axis=0)
    k = n_side + int(np.argmax(heights[n_side:-n_side]))
    return k + 1, float(heights[k])


def _gain(by_level: Floats, n_side: int) -> float:
    """Return by how much two levels beat one."""
    if by_level.shape[1] <= 2 * n_side:
        return 0.0
    return _best_split(by_level, n_side)[1] - float(by_level.sum(axis=1).max())


def _frames(spoken: SpokenTier, hop_s: float) -> tuple[Floats, Ints]:
    """Return times within the tier's sounds, and the class that each belongs to."""
    times_s = np.arange(spoken.start_s[0], spoken.stop_s[-1], hop_s)
    k = np.searchsorted(spoken.start_s, times_s, side="right") - 1
    inside = times_s < spoken.stop_s[k]
    return times_s[inside], class_codes(spoken.classes)[k[inside]]


def place_step(spoken: SpokenTier, sound: BandEnergies, course: Course, reach_s: float) -> Course:
    """Return the course with its step where the borders on either side fit best."""
    borders = weigh_boundaries(spoken, sound, course)
    times_s = borders.times_s
    line = replace(course, step_at_s=np.inf).at(times_s)
    still = np.zeros(1)
    early = borders.evidence(line, still)[:, 0]
    late = borders.evidence(line + course.step_s, still)[:, 0]
    # The step lies before border k if all from k on fit the later offset better.
    total = np.concatenate(([0.0], np.cumsum(early - late)))[:-1]
    near = np.abs(times_s - course.step_at_s) <= reach_s
    if not near.any():
        return course
    k = int(np.flatnonzero(near)[np.argmax(total[near])])
    before_s = float(times_s[k - 1]) if k else float(times_s[k])
    return replace(course, step_at_s=0.5 * (before_s + float(times_s[k])))
