"""Find the intervals in which lights changed, where whole frames show it and no row dates it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from syncaudit.detectors.flash.blinking import Blinking
from syncaudit.detectors.flash.edges import MAX_CLIPPED
from syncaudit.detectors.flash.whole_frames import date_changes, date_pulses
from syncaudit.detectors.rotation.detector import frame_times_s
from syncaudit.detectors.stamps.clock import lateness_s
from syncaudit.dsp.robust import spread
from syncaudit.model import CameraStream, Quantity
from syncaudit.model.arrays import Floats, Ints, Singles
from syncaudit.model.evidence.flashes import UNSTATED_READOUT_S, FlashEdges, FlashIntervals

# Screens go on and off line by line within a refresh, typically of 1/60 s, and what they show
# changes within some milliseconds more.
MAX_RISE_S = 0.025
# Objects nearer to one end of a screen get half of their light earlier or later: by this part of
# the rise, if one end lights them a fifth more than the middle does, and the other a fifth less.
RISE_SHARE = 0.05
# Screens light up within their refresh, each row within at most 8 ms, with a course of its own. If
# a frame cuts off part of a screen, its middle may be anywhere.
REFRESH_S = 1.0 / 60.0
RESPONSE_S, RESPONSE_STD_S = 0.008, 0.002
CUT_SHARE = 0.25
# Error of the share of a change that a frame shows: local tone curves brighten rows by what lies
# around them.
SHARE_STD = 0.1
# How far the onset of a lasting light may be from its half-light: it rises while rows are exposed.
ONSET_STD_S = 1e-4


@dataclass(frozen=True, kw_only=True, eq=False)
class FrameTimes:
    """When the frames of a camera that were looked at were exposed, as far as it is stated.

    `indices`, shape (n,), are their positions in file order; frames have `height_px` rows.
    """

    stream: CameraStream
    indices: Ints
    height_px: int

    @cached_property
    def stamped(self) -> tuple[Floats, int, float]:
        """Return the times of all frames, their zero and their common error (`frame_times_s`)."""
        return frame_times_s(self.stream)

    @cached_property
    def frame_s(self) -> Floats:
        """Return the middle of the exposure of the middle row of the frames looked at, (n,)."""
        times_s: Floats = self.stamped[0][self.indices]
        return times_s

    @cached_property
    def late_s(self) -> Floats:
        """Return how much later than an even clock all frames were stamped."""
        return lateness_s(self.stamped[0])

    @cached_property
    def period_s(self) -> float:
        """Return the time from frame to frame; a second where that is not known."""
        steps_s = np.diff(self.stream.time_ns[self.indices]) * 1e-9
        usual_s = float(np.median(steps_s)) if steps_s.size else 0.0
        return usual_s if usual_s > 0.0 else 1.0

    @property
    def exposures_s(self) -> tuple[float, float]:
        """Return the shortest and the longest possible exposure."""
        exposure_s = self.stream.exposure_s
        return exposure_s or 0.0, exposure_s or self.period_s

    @property
    def readout_s(self) -> float | None:
        """Return the time from the first row to the last, where stated."""
        delay_s = self.stream.line_delay_s
        return None if delay_s is None else delay_s * (self.height_px - 1)

    @property
    def exposure_px(self) -> float | None:
        """Return the exposure in rows, where stated."""
        exposure_s, delay_s = self.stream.exposure_s, self.stream.line_delay_s
        return exposure_s / delay_s if exposure_s and delay_s else None

    @property
    def pauses(self) -> bool:
        """Return whether the exposures of successive frames are not known to overlap."""
        exposure_s, delay_s = self.stream.exposure_s, self.stream.line_delay_s
        if exposure_s is None or delay_s is None:
            return True
        return exposure_s + delay_s * self.height_px < self.period_s

    def intervals(
        self,
        cells: Singles,
        blinking: Blinking | None,
        *,
        clipped_share: float,
        steps: Sequence[int] = (),
    ) -> FlashIntervals | None:
        """Return when lights changed, from wholly or partly lit frames; None where none is lit.

        `cells`, shape (n, r, s), are those of `FrameWindow`; `blinking` are lasting lights, `steps`
        other frames, in file order, in which a lasting light went on or off; `clipped_share` is the
        share of what flashes light that is clipped.
        """
        exposure_s, readout_s = self.stream.exposure_s, self.readout_s
        flat = cells.reshape(self.frame_s.size, -1).astype(np.float64)
        changes = () if blinking is None else blinking.changes
        changed_s: Sequence[Floats] = (np.empty(0),) * 3
        if blinking is not None:
            changed_s = date_changes(
                blinking,
                self.frame_s,
                flat,
                exposures_s=self.exposures_s,
                period_s=self.period_s,
                rise_s=MAX_RISE_S,
            )
        near = [own.foot for own in changes] + np.searchsorted(self.indices, steps).tolist()
        pulses = date_pulses(
            self.frame_s,
            flat,
            exposure_s=exposure_s,
            readout_s=readout_s,
            switched=np.array(near, dtype=np.int64),
        )
        n = pulses.start_s.size
        if not n + len(changes) and clipped_share < MAX_CLIPPED:
            return None
        start_s = np.append(pulses.start_s, changed_s[0])
        std_s = np.append(np.full(n, ONSET_STD_S), changed_s[2])
        sense = np.array([1] * n + [own.sense for own in changes], dtype=np.int64)
        order = np.argsort(start_s, kind="stable")
        # Where not all rows are exposed, or a pulse would light them too little, it may hide. The
        # first and the last frame have no background on one side.
        reach_s = 0.5 * ((exposure_s or 0.0) - (readout_s or 0.0)) - pulses.hidden_s
        dead_s = self.watched_s(self.indices[1:-1]) + np.array([reach_s, -reach_s])
        is_dead = (dead_s[:, 0] < dead_s[:, 1]) & (readout_s is not None and reach_s > 0.0)
        return FlashIntervals(
            source=self.stream.name,
            quantity=Quantity.FLASH,
            epoch_ns=self.stamped[1],
            start_s=start_s[order],
            stop_s=np.append(pulses.stop_s, changed_s[1])[order],
            std_s=np.hypot(std_s, self._stamp_std_s)[order],
            count=np.ones(start_s.size, dtype=np.int64),
            lit_s=np.append(pulses.lit_s, changed_s[0])[order],
            sense=sense[order],
            clipped_share=clipped_share,
            dead_s=dead_s[is_dead],
        )

    def intervals_of_middle(self, blinking: Blinking, *, clipped_share: float) -> FlashIntervals:
        """Return when lights changed in the middle of what blinks, in a part of the rows.

        `clipped_share`: as for `intervals`.
        """
        is_cut = blinking.n_cut > 0  # its true middle may be elsewhere
        std_s = REFRESH_S * (CUT_SHARE if is_cut else RISE_SHARE)
        std_s = math.hypot(std_s, RESPONSE_STD_S, self._row_std_s(blinking))
        start_s, stop_s = blinking.intervals_s(
            self._middle_s(blinking),
            exposure_s=self.exposures_s,
            rise_s=MAX_RISE_S if is_cut else RESPONSE_S,
            is_clipped=clipped_share > MAX_CLIPPED,
        )
        # How long changes take places their instants within every interval that a partly lit frame
        # narrows to less than an exposure and a change: these errors are alike, not independent.
        width_s = stop_s - start_s
        alike_s = 0.5 * width_s * (width_s < self.exposures_s[1] + RESPONSE_S)
        own_std_s = math.hypot(SHARE_STD * self.exposures_s[1], self._stamp_std_s)
        return FlashIntervals(
            source=self.stream.name,
            quantity=Quantity.FLASH,
            epoch_ns=self.stamped[1],
            start_s=start_s,
            stop_s=stop_s,
            std_s=np.hypot(own_std_s, alike_s),
            count=np.ones(start_s.size, dtype=np.int64),
            sense=np.array([own.sense for own in blinking.changes], dtype=np.int64),
            clipped_share=clipped_share,
            systematic_std_s=std_s,
        )

    def between(self, blinking: Blinking) -> BetweenFrames:
        """Return the frames between which the middle of what blinks changed."""
        reach_s = 0.5 * self.exposures_s[1] + self._row_std_s(blinking)
        middle_s, changes = self._middle_s(blinking), blinking.changes
        return BetweenFrames(
            self.indices[[own.foot for own in changes]],
            self.indices[[own.peak for own in changes]],
            middle_s[[own.before for own in changes]] - reach_s,
            middle_s[[own.after for own in changes]] + reach_s,
            np.array([own.sense for own in changes], dtype=np.int64),
        )

    def between_whole(self, whole: Mapping[int, int], first_row: int) -> BetweenFrames:
        """Return the changes of which no row shows a part.

        If a frame is the first to show a light in all rows, the light went on after the exposure
        of the previous frame began, and before its own did. Where readout or exposure is not known,
        exposures may follow one another without a pause.

        `whole` are the frames that are the first to show a light on (+1) or off (-1) in all rows,
        `first_row` is the first that light reaches.
        """
        last = np.array([k for k in sorted(whole) if k > 0], dtype=np.int64)
        before, now = self.stamped[0][last - 1], self.stamped[0][last]
        delay_s, exposure_s = self.stream.line_delay_s, self.stream.exposure_s
        if delay_s is None or exposure_s is None:
            begin, end = now - 1.5 * (now - before), now
        else:
            reach_s = 0.5 * (delay_s * self.height_px + exposure_s)
            # A change that begins with the exposure of the first rows cannot be seen in them, nor
            # is a light visible before the first row that it reaches is read.
            begin, end = before - reach_s, now - reach_s + exposure_s + delay_s * first_row
        sense = np.array([whole[k] for k in last.tolist()], dtype=np.int64)
        return BetweenFrames(last - 1, last, begin, end, sense)

    def watched_s(self, indices: Ints) -> Floats:
        """Return the times of every two neighbours among some frames, shape (m, 2).

        `indices`, shape (n,): frames in which a flash would have been seen.
        """
        times_s = self.stamped[0][indices]
        is_pair = (np.diff(indices) == 1) & (np.diff(times_s) > 0.0)
        return np.stack((times_s[:-1][is_pair], times_s[1:][is_pair]), axis=1)

    @property
    def _stamp_std_s(self) -> float:
        return math.hypot(self.stamped[2], spread(self.late_s, 0.0))

    def _middle_s(self, blinking: Blinking) -> Floats:
        """Return when the middle row of what blinks was exposed, shape (n,)."""
        return self.frame_s + (blinking.row - 0.5) * (self.readout_s or 0.0)

    def _row_std_s(self, blinking: Blinking) -> float:
        """Return the error of that where the readout is not stated."""
        return abs(blinking.row - 0.5) * UNSTATED_READOUT_S * (self.readout_s is None)


@dataclass(frozen=True, slots=True, eq=False)
class BetweenFrames:
    """Lasting lights that changed between two frames, in time order, shape (m,).

    `first` is the last frame that shows none of the change, and `last` the first that shows all of
    it; the light changed between `begin_s` and `end_s`; `sense` is +1 where it went on, -1 where it
    went off.
    """

    first: Ints
    last: Ints
    begin_s: Floats
    end_s: Floats
    sense: Ints


def with_intervals(edges: FlashEdges, between: BetweenFrames) -> FlashEdges:
    """Return the edges of lasting lights together with the changes that no row of theirs dates."""
    if edges.sense is None:
        return edges
    # No frame with an edge may show a part of the changes.
    taken = np.unique(edges.frame_index)
    n_before = np.searchsorted(taken, between.first)
    is_apart = n_before == np.searchsorted(taken, between.last, side="right")
    if not is_apart.any():
        return edges
    if edges.half_s is None:
        edges = replace(edges, half_s=np.zeros(edges.band.size))
    last, end_s, n = between.last[is_apart], between.end_s[is_apart], np.count_nonzero(is_apart)
    middle_s, zeros = 0.5 * (between.begin_s[is_apart] + end_s), np.zeros(n)
    added = {
        "frame_index": last,
        "frame_s": middle_s,
        "row_px": zeros,
        "row_std_px": zeros,
        "exposure_part": zeros,
        "band": int(edges.band.max(initial=-1)) + 1 + np.arange(n),
        "sense": between.sense[is_apart],
        "half_s": end_s - middle_s,
    }
    if edges.late_s is not None:
        added["late_s"] = zeros
    order = np.argsort(np.append(edges.frame_index, last), kind="stable")
    joined: dict[str, Any] = {
        name: np.append(getattr(edges, name), own)[order] for name, own in added.items()
    }
    return replace(edges, **joined)
