"""Find what goes bright and dark again and again: a filmed screen, lights in whole frames.

A screen lights its rows one after the other, in one sense or the other, and a camera that films it
reads its own rows meanwhile: which row is lit tells as much of the screen as of the instant. When
its middle lights, half of its light has come, whatever the sense: that is what is watched here.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.flash.between_frames import is_no_gain
from syncaudit.detectors.flash.lighting import BLACK_LEVELS, QUIET_PERCENTILE

__all__ = ["Blinking", "Change", "changed_frames", "find_blinking", "outstanding_frames"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

# Rounds of the power iteration: what blinks changes by far more than all else.
N_ROUNDS = 5
# Cells belong to what blinks where they change with it, and by half as much as most of it.
MIN_ALIKE = 0.8
USUAL_PERCENTILE = 90
USUAL_SHARE = 0.5
# Share of the cells that must blink, and of the height of what blinks that counts as its middle.
MIN_AREA = 0.01
MIDDLE_SHARE = 0.2
# Least change, as a part of a usual one, and what auto-exposure takes back of one from one frame to
# the next, at most: it settles geometrically.
MIN_CHANGE = 0.4
MAX_ANSWER = 0.3
# A frame with so much of a change shows more than half of its light, and one with so much less:
# tone curves and exposures that answer bend what lies between.
MORE, LESS = 0.75, 0.25
# What a frame must differ from the one before by to be looked at: as a whole, as a share; anywhere,
# as times of what frames differ by when nothing happens.
LEAST_STEP = 0.02
OVER_QUIET = 3.0
# Share of the changes that follow one of the other sense: all of one light's, half of scenery's.
MIN_IN_TURN = 0.9
# Exponents that tone curves may have (1: linear), and the least part of a change that a frame
# shows.
GAMMAS = 1.0, 2.4
MIN_PART = 0.05
# Frames beside a change are alike to this part of it, unless the exposure answers.
MAX_UNSTEADY = 0.05
# Edges lie within the times in which a screen is lit, but for a tenth; if these are not most of the
# time, that is no chance.
MIN_WITHIN = 0.9
MAX_LIT = 0.5
# Part of the lights that must stay for two frames, and fewest changes.
MIN_LASTING = 0.8
MIN_CHANGES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A light that goes on (`sense` +1) or off (-1).

    Half of it had changed between the frames `before` and `after`; all of it lies between `foot`
    and `peak`.
    """

    foot: int
    before: int
    after: int
    peak: int
    sense: int

    def overlaps(self, other: Change) -> bool:
        """Tell whether both cannot be: parts of one change, or one while the other goes on."""
        if self.sense == other.sense:
            return self.foot < other.peak and other.foot < self.peak
        return self.before < other.after and other.before < self.after


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Blinking:
    """What blinks in the frames of a camera, and when.

    Parameters
    ----------
    row : float
        Its middle row, as a share of the height of a frame.
    n_cut : int
        Of its ends, top and bottom, how many a frame cuts.
    course : ndarray, shape (n,)
        Brightness of its middle in every frame.
    changes : tuple of Change
        In the order of time.
    """

    row: float
    n_cut: int
    course: Floats
    changes: tuple[Change, ...]

    @property
    def is_cut(self) -> bool:
        """Tell whether its own middle may be elsewhere."""
        return self.n_cut > 0

    def may_be_screen(self, is_slow: bool) -> bool:
        """Tell whether it may be a screen, not what a lamp or a screen lights.

        That fills the height; a lamp that changes at once lights one end of it, too.
        """
        return self.n_cut == 0 or (self.n_cut == 1 and is_slow)

    def replaces(self, frames: Ints, sense: Ints | None, *, is_slow: bool) -> bool:
        """Tell whether edges are those of a filmed screen, which date its rows and not its light.

        They lie in frames in which it is lit; they look like those of slow lights, of bands, or go
        the wrong way.

        Parameters
        ----------
        frames : ndarray of int, shape (m,)
            Of the edges.
        sense : ndarray of int, shape (m,), optional
            +1 where a light goes on, -1 where one goes off; None: of pulses.
        is_slow : bool
            Whether the light rises for longer than an exposure.
        """
        is_lit = np.zeros(self.course.size, dtype=np.bool_)
        for one, other in itertools.pairwise(self.changes):
            if one.sense > 0 > other.sense:
                is_lit[one.before : other.after + 1] = True
        # What flickers, or passes by, lights some frames with pulses, too.
        if is_lit.mean() > MAX_LIT or is_lit[frames].mean() < MIN_WITHIN:
            return False
        if sense is None or (is_slow and self.may_be_screen(is_slow)):
            return True
        changed = {(k, own.sense) for own in self.changes for k in range(own.before, own.after + 1)}
        n_told = sum(own in changed for own in zip(frames.tolist(), sense.tolist(), strict=True))
        return 2 * n_told < frames.size

    def intervals_s(
        self,
        frame_s: Floats,
        *,
        exposure_s: tuple[float, float],
        rise_s: float,
        is_clipped: bool = False,
    ) -> tuple[Floats, Floats]:
        """Return within which times half of the light of each change had come.

        A frame that shows a share u of a change that takes r, in an exposure E, was half exposed
        ``(u - 1/2) x`` after it, with E <= x <= E + r; u is told by tone curves with exponents
        of 1 to 2.4. One that shows less than a twentieth was exposed before, one that lacks less,
        after. Where an exposure answers, no more is told than by which frame half had come; where
        pixels clip, which look full before they are, than by which all had.

        Parameters
        ----------
        frame_s : ndarray, shape (n,)
            Middle of the exposure of the middle row of what blinks.
        exposure_s : tuple of float
            Shortest and longest that the exposure may be.
        rise_s : float
            Longest that a change may take.
        is_clipped : bool
            Whether much of what is lit clips.
        """
        found = np.array(
            [
                (frame_s[own.foot], frame_s[own.peak])
                if is_clipped
                else self._interval_s(own, frame_s, exposure_s, rise_s)
                for own in self.changes
            ]
        )
        return found[:, 0], found[:, 1]

    def is_steady(self, own: Change, part: float = MAX_UNSTEADY) -> bool:
        """Tell whether frames beside a change are alike to a part of it: no exposure answers."""
        last = self.course.size - 1
        at = [max(own.foot - 1, 0), own.foot, own.peak, min(own.peak + 1, last)]
        near = self.course[at]
        apart = np.abs(near[[0, 3]] - near[[1, 2]]).max()
        return bool(apart <= part * abs(near[2] - near[1]))

    def _interval_s(
        self, own: Change, frame_s: Floats, exposure_s: tuple[float, float], rise_s: float
    ) -> tuple[float, float]:
        course, frames = self.course, np.arange(own.foot, own.peak + 1)
        if not self.is_steady(own):
            return float(frame_s[own.before]), float(frame_s[own.after])
        levels = np.maximum(course[frames], 0.0) ** np.array(GAMMAS)[:, None]
        shares = (levels - levels[:, :1]) / (levels[:, -1:] - levels[:, :1])
        least, most = shares.min(axis=0), shares.max(axis=0)
        scales = np.array([exposure_s[0], exposure_s[1] + rise_s])[:, None]
        late = np.max((np.maximum(most, MIN_PART) - 0.5) * scales, axis=0)
        early = np.min((np.minimum(least, 1.0 - MIN_PART) - 0.5) * scales, axis=0)
        start_s = np.max(np.where(most < 1.0 - MIN_PART, frame_s[frames] - late, -np.inf))
        stop_s = np.min(np.where(least > MIN_PART, frame_s[frames] - early, np.inf))
        if start_s <= stop_s:
            return float(start_s), float(stop_s)
        return float(frame_s[own.foot]), float(frame_s[own.peak])


def changed_frames(levels: Singles) -> Ints:
    """Return the frames that are brighter or darker than those before, as a whole.

    None where they do not become brighter and darker in turns, as by a light that goes on and off:
    scenery that passes, and exposures that follow it, do not.
    """
    logs = np.median(np.log(levels.reshape(levels.shape[0], -1) + BLACK_LEVELS), axis=1)
    steps = np.diff(logs)
    at = np.flatnonzero(np.abs(steps) > max(LEAST_STEP, MIN_CHANGE * _usual(np.abs(steps))))
    sense = np.sign(steps[at])
    # A frame that shows a part of a change leaves the rest to the next.
    is_rest = (np.diff(at) == 1) & (np.diff(sense) == 0.0)
    in_turn = sense[np.append(True, ~is_rest)] if at.size else sense
    if in_turn.size < 2 or np.mean(np.diff(in_turn) != 0.0) < MIN_IN_TURN:
        return np.empty(0, dtype=np.int64)
    return at + 1


def outstanding_frames(changes: Floats) -> Ints:
    """Return the frames in which far more changes than when nothing happens, anywhere.

    Parameters
    ----------
    changes : ndarray, shape (n,)
        By how many levels each frame differs from the one before, on average.
    """
    quiet = OVER_QUIET * float(np.percentile(changes, QUIET_PERCENTILE))
    return np.flatnonzero(changes > max(MIN_CHANGE * _usual(changes), quiet))


def _usual(sizes: Floats) -> float:
    """Return the fifth greatest change: infinite where there are fewer."""
    return float(np.sort(sizes)[-MIN_CHANGES]) if sizes.size >= MIN_CHANGES else np.inf


def find_blinking(levels: Singles, places: Sequence[int], n_frames: int) -> Blinking | None:
    """Return what blinks, or None where nothing does, or what changes is the exposure.

    The cells whose changes near some frames follow the first principal component of all are what
    blinks.

    Parameters
    ----------
    levels : ndarray of float32, shape (n, r, b)
        Brightness of r rows in b column blocks of n frames.
    places : sequence of int
        Frames in which light may have changed.
    n_frames : int
        Frames from the last without to the first with all of a change, at most.
    """
    n, n_rows, n_blocks = levels.shape
    at = np.array([k for k in places if 2 <= k < n - 2], dtype=np.int64)
    if at.size < MIN_CHANGES:
        return None
    steps = (levels[at + 1] + levels[at + 2] - levels[at - 1] - levels[at - 2]).reshape(at.size, -1)
    power = np.maximum(np.sqrt(np.einsum("kc,kc->c", steps, steps)), 1e-6)
    weight = power
    for _ in range(N_ROUNDS):
        course = steps @ weight
        weight = (course / max(float(np.linalg.norm(course)), 1e-9)) @ steps
    is_alike = np.abs(weight) > MIN_ALIKE * power
    if is_alike.mean() < MIN_AREA:
        return None
    # An exposure that answers changes the other cells the other way, by less.
    weight = weight * np.sign(weight[is_alike].sum())
    usual = float(np.percentile(weight[is_alike], USUAL_PERCENTILE))
    blinks = (is_alike & (weight > USUAL_SHARE * usual)).reshape(n_rows, n_blocks)
    widths = np.count_nonzero(blinks, axis=1)
    rows = np.flatnonzero(widths >= 0.5 * max(int(widths.max()), 1))
    first, last = int(rows[0]), int(rows[-1])
    reach = max(1.0, 0.5 * MIDDLE_SHARE * (last - first))
    middle = np.abs(np.arange(n_rows) - 0.5 * (first + last)) <= reach
    columns = np.mean(blinks[middle], axis=0) > 0.5
    if not columns.any():
        return None
    # Bright cells clip first, and show more of a change than there is.
    lit = np.maximum(levels[at - 2], levels[at + 2])[:, middle].mean(axis=(0, 1))
    columns &= lit <= np.median(lit[columns])
    course = np.median(levels[:, middle][:, :, columns].mean(axis=1), axis=1).astype(np.float64)
    changes = _lasting(_changes(course, n_frames))
    # All of it is dark a frame before what went on, and one after what went off.
    dark = [
        max(own.before - 1, 0) if own.sense > 0 else min(own.after + 1, n - 1) for own in changes
    ]
    lit = [own.after if own.sense > 0 else own.before for own in changes]
    if len(changes) < MIN_CHANGES or not is_no_gain(levels[lit] - levels[dark], levels[dark]):
        return None
    return Blinking(
        row=(0.5 * (first + last) + 0.5) / n_rows,
        n_cut=(first == 0) + (last == n_rows - 1),
        course=course,
        changes=tuple(changes),
    )


def _changes(course: Floats, n_frames: int) -> list[Change]:
    """Return the changes of light, in the order of time.

    Auto-exposure takes each change back by a part a frame of what is left, as a factor.
    """
    if course.size < MIN_CHANGES * n_frames:
        return []
    logs = np.log(course + BLACK_LEVELS)
    rise = logs[n_frames:] - logs[:-n_frames]
    size = np.abs(rise)
    usual = float(np.sort(size)[-MIN_CHANGES * n_frames])
    least = max(MIN_CHANGE * usual, OVER_QUIET * float(np.percentile(size, QUIET_PERCENTILE)))
    found: list[Change] = []
    for k in np.argsort(-size, kind="stable").tolist():
        sense = 1 if rise[k] > 0.0 else -1
        if size[k] < least:
            break
        if np.max(sense * np.diff(logs[k : k + n_frames + 1])) < MAX_ANSWER * usual:
            continue
        part = sense * course[k : k + n_frames + 1]
        peak = int(np.argmax(part))
        foot = int(np.argmin(part[: peak + 1]))
        if foot == peak:
            continue
        share = (part[foot : peak + 1] - part[foot]) / (part[peak] - part[foot])
        own = Change(
            foot=k + foot,
            before=k + foot + int(np.flatnonzero(share < LESS)[-1]),
            after=k + foot + int(np.flatnonzero(share > MORE)[0]),
            peak=k + peak,
            sense=sense,
        )
        if own.before < own.after and not any(own.overlaps(other) for other in found):
            found.append(own)
    return sorted(found, key=lambda own: own.before)


def _lasting(changes: list[Change]) -> list[Change]:
    """Return the changes of lights that stay for two frames; none where most lights are shorter."""
    short = {
        k + n
        for k, (one, other) in enumerate(itertools.pairwise(changes))
        for n in range(2)
        if one.sense > 0 > other.sense and other.after - one.before <= 2
    }
    kept = [own for k, own in enumerate(changes) if k not in short]
    return kept if len(kept) >= MIN_LASTING * len(changes) else []
