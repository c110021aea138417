"""Find what brightens and darkens repeatedly: a filmed screen, lights in whole frames.

A screen lights its rows one after the other, in either direction, while a camera that films it
reads its own rows: which row is lit depends on the screen as much as on the instant. When the
middle of the screen lights up, half of its light has arrived, whatever the direction, so the middle
is what is tracked here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from syncaudit.detectors.flash.lighting import (
    BLACK_LEVELS,
    MAX_ANSWER,
    QUIET_PERCENTILE,
    is_no_gain,
)
from syncaudit.dsp.robust import mad_std
from syncaudit.model.arrays import Floats, Ints, Singles

# Rounds of the power iteration: what blinks changes by far more than everything else.
N_ROUNDS = 5
# Cells belong to what blinks if they change together with it, and at least half as much as most of
# it.
MIN_CORRELATION = 0.8
USUAL_PERCENTILE = 90
USUAL_SHARE = 0.5
# Minimum share of the cells that must blink, and the share of the height of what blinks that counts
# as its middle.
MIN_AREA = 0.01
MIDDLE_SHARE = 0.2
# Minimum change as a part of a typical one.
MIN_CHANGE = 0.4
# A frame that shows more than `MORE` of a change has more than half of its light, and one that
# shows less than `LESS` has less: tone curves and auto-exposure distort what lies between.
MORE, LESS = 0.75, 0.25
# Minimum difference from the previous frame for a frame to be looked at: of the whole frame, as a
# share; anywhere in it, as a multiple of the difference when nothing happens.
LEAST_STEP = 0.02
OVER_QUIET = 3.0
# Minimum share of the changes that follow one of the opposite sense: all changes of a single light
# do, half of those of scenery.
MIN_IN_TURN = 0.9
# Exponents that tone curves may have (1: linear), and the smallest part of a change that counts as
# shown by a frame.
GAMMAS = 1.0, 2.4
MIN_PART = 0.05
# Maximum error of such a part, in standard errors.
SHARE_SIGMAS = 3.0
# Frames beside a change differ by at most this part of it, unless auto-exposure responds.
MAX_UNSTEADY = 0.05
# All but a tenth of a screen's edges lie within the times in which it is lit; unless it is lit most
# of the time, that is not a coincidence.
MIN_WITHIN = 0.9
MAX_LIT = 0.5
# Share of the changes that must belong to lights lasting two frames, and minimum number of changes.
MIN_LASTING = 0.8
MIN_CHANGES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A light that goes on (`sense` +1) or off (-1).

    Its midpoint lies between the frames `before` and `after`; all of it lies between `foot` and
    `peak`.
    """

    foot: int
    before: int
    after: int
    peak: int
    sense: int

    def overlaps(self, other: Change) -> bool:
        """Return whether both cannot be real: parts of one change, or one during the other."""
        if self.sense == other.sense:
            return self.foot < other.peak and other.foot < self.peak
        return self.before < other.after and other.before < self.after


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Blinking:
    """What blinks in the frames of a camera, and when.

    `row` is its middle row, as a share of the height of a frame, of which `n_cut` ends, top and
    bottom, are cut off; `course`, shape (n,), the brightness of its middle in every frame;
    `changes` are in time order; `noise` is the standard deviation of the brightness in frames
    without a change.
    """

    row: float
    n_cut: int
    course: Floats
    changes: tuple[Change, ...]
    noise: float = 0.0

    def may_be_screen(self, is_slow: bool) -> bool:
        """Return whether it may be a screen rather than a scene lit by a lamp or a screen.

        A lit scene fills the height; with a lamp that changes instantly, it may also fill one end.
        """
        return self.n_cut == 0 or (self.n_cut == 1 and is_slow)

    def replaces(self, frames: Ints, sense: Ints | None, *, is_slow: bool) -> bool:
        """Return whether edges are those of a filmed screen, which date its rows, not its light.

        Such edges lie in frames in which the screen is lit; they look like those of slow lights
        (`is_slow`: which rise for longer than an exposure) or of bands, or have the wrong sense.
        `frames` and `sense`, shape (m,), are those of the edges: +1 where a light goes on, -1 where
        one goes off, None for pulses.
        """
        # Fewer edges than lasting lights, and none of theirs, are those of something that moves.
        is_few = sense is not None and sense.size < len(self.changes)
        if sense is not None and is_few and not self.shows(frames, sense):
            return True
        is_lit = np.zeros(self.course.size, dtype=np.bool_)
        for one, other in itertools.pairwise(self.changes):
            if one.sense > 0 > other.sense:
                is_lit[one.before : other.after + 1] = True
        # Whatever flickers or passes by also lights some of the frames with pulses.
        if is_lit.mean() > MAX_LIT or is_lit[frames].mean() < MIN_WITHIN:
            return False
        if sense is None or (is_slow and self.may_be_screen(is_slow)):
            return True
        return not self.shows(frames, sense)

    def shows(self, frames: Ints, sense: Ints) -> bool:
        """Return whether at least half of the lights that go on (+1) or off (-1) are among these.

        `frames`, `sense`: shape (m,), frames in which they do.
        """
        changed = {(k, own.sense) for own in self.changes for k in range(own.before, own.after + 1)}
        n_common = sum(own in changed for own in zip(frames.tolist(), sense.tolist(), strict=True))
        return 2 * n_common >= frames.size

    def intervals_s(
        self,
        frame_s: Floats,
        *,
        exposure_s: tuple[float, float],
        rise_s: float,
        is_clipped: bool = False,
    ) -> tuple[Floats, Floats]:
        """Return the intervals within which half of the light of each change had arrived.

        A frame that shows a share u of a change of duration r, with exposure E, was half exposed
        ``(u - 1/2) x`` after it, with E <= x <= E + r; u is bounded by tone curves with exponents
        of 1 to 2.4. A frame that shows less than a twentieth was exposed before the change, one
        that lacks less than that, after it. Where auto-exposure responds, only the frame by which
        half had arrived is known; where much of what is lit clips (`is_clipped`), which looks full
        before it is, only the frame by which all had.

        `frame_s`, shape (n,): middle of the exposure of the middle row of what blinks. `exposure_s`
        and `rise_s`: shortest and longest possible exposure, longest possible change.
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
        """Return whether frames beside a change hardly differ: auto-exposure does not respond."""
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
        unsure = SHARE_SIGMAS * self.noise / abs(course[own.peak] - course[own.foot])
        least, most = shares.min(axis=0) - unsure, shares.max(axis=0) + unsure
        scales = np.array([exposure_s[0], exposure_s[1] + rise_s])[:, None]
        late = np.max((np.maximum(most, MIN_PART) - 0.5) * scales, axis=0)
        early = np.min((np.minimum(least, 1.0 - MIN_PART) - 0.5) * scales, axis=0)
        start_s = np.max(np.where(most < 1.0 - MIN_PART, frame_s[frames] - late, -np.inf))
        stop_s = np.min(np.where(least > MIN_PART, frame_s[frames] - early, np.inf))
        if -np.inf < start_s <= stop_s < np.inf:
            return float(start_s), float(stop_s)
        return float(frame_s[own.foot]), float(frame_s[own.peak])


def changed_frames(levels: Singles) -> Ints:
    """Return the frames that are brighter or darker than the previous ones, as a whole.

    Empty unless they become brighter and darker in turn, as with a light that goes on and off:
    passing scenery, and exposures that follow it, do not.
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
    """Return the frames in which far more changes, anywhere, than when nothing happens.

    `changes`, shape (n,): mean difference of each frame from the previous one, in levels.
    """
    return np.flatnonzero(changes > _least(changes, _usual(changes)))


def _usual(sizes: Floats, n_frames: int = 1) -> float:
    """Return the fifth largest change, each shown by n frames; infinity where there are fewer."""
    n = MIN_CHANGES * n_frames
    return float(np.sort(sizes)[-n]) if sizes.size >= n else np.inf


def _least(sizes: Floats, usual: float) -> float:
    """Return the least change that stands out from when nothing happens."""
    return max(MIN_CHANGE * usual, OVER_QUIET * float(np.percentile(sizes, QUIET_PERCENTILE)))


def find_blinking(levels: Singles, places: Sequence[int], n_frames: int) -> Blinking | None:
    """Return what blinks, or None where nothing does or only the exposure changes.

    What blinks is the cells of `levels`, shape (n, r, b), whose changes near the frames at `places`
    follow the first principal component of all cells. There are at most `n_frames` from the last
    frame without a change to the first with all of it.
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
    is_correlated = np.abs(weight) > MIN_CORRELATION * power
    if is_correlated.mean() < MIN_AREA:
        return None
    # When auto-exposure responds, the other cells change the other way, by less.
    weight = weight * np.sign(weight[is_correlated].sum())
    usual = float(np.percentile(weight[is_correlated], USUAL_PERCENTILE))
    blinks = (is_correlated & (weight > USUAL_SHARE * usual)).reshape(n_rows, n_blocks)
    widths = np.count_nonzero(blinks, axis=1)
    rows = np.flatnonzero(widths >= 0.5 * max(int(widths.max()), 1))
    first, last = int(rows[0]), int(rows[-1])
    reach = max(1.0, 0.5 * MIDDLE_SHARE * (last - first))
    middle = np.abs(np.arange(n_rows) - 0.5 * (first + last)) <= reach
    columns = np.mean(blinks[middle], axis=0) > 0.5
    if not columns.any():  # it falls in patches, on either side of the middle
        columns = np.mean(is_correlated.reshape(n_rows, n_blocks)[middle], axis=0) > 0.5
    if not columns.any():
        return None
    # Bright cells clip first, and show more of a change than there is.
    lit = np.maximum(levels[at - 2], levels[at + 2])[:, middle].mean(axis=(0, 1))
    columns &= lit <= np.median(lit[columns])
    # Some columns may show something that changes by itself, such as the flicker of another screen.
    tracks = levels[:, middle].mean(axis=1).astype(np.float64)
    restless = np.median(np.abs(tracks[n_frames:] - tracks[:-n_frames]), axis=0)
    columns &= restless <= np.median(restless[columns])
    course = np.median(tracks[:, columns], axis=1)
    changes = _lasting(_changes(course, n_frames))
    # All of it is dark one frame before a light goes on, and one frame after it goes off.
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
        noise=mad_std(np.diff(course)) / math.sqrt(2.0),
    )


def _changes(course: Floats, n_frames: int) -> list[Change]:
    """Return the changes of light, in time order.

    In each frame, auto-exposure takes back a fraction of what is left of a change, as a factor.
    """
    if course.size <= n_frames:
        return []
    logs = np.log(course + BLACK_LEVELS)
    rise = logs[n_frames:] - logs[:-n_frames]
    size = np.abs(rise)
    usual = _usual(size, n_frames)
    least = _least(size, usual)
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
    """Return the changes of lights that last two frames; none where too many are shorter."""
    short = {
        k + n
        for k, (one, other) in enumerate(itertools.pairwise(changes))
        for n in range(2)
        if one.sense > 0 > other.sense and other.after - one.before <= 2
    }
    kept = [own for k, own in enumerate(changes) if k not in short]
    return kept if len(kept) >= MIN_LASTING * len(changes) else []
