"""Find the intervals in which lights that whole frames show changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.flash.between_frames import BetweenFrames
from syncaudit.detectors.flash.blinking import Blinking
from syncaudit.detectors.flash.part_exposures import date_changes
from syncaudit.detectors.flash.whole_frames import lit_frames
from syncaudit.detectors.rotation.detector import frame_times_s
from syncaudit.detectors.stamps.rhythm import lateness_s
from syncaudit.dsp.robust import spread
from syncaudit.model import CameraStream, Quantity
from syncaudit.model.evidence import FlashIntervals
from syncaudit.model.evidence.flashes import UNSTATED_READOUT_S

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Screens go on and off line by line within a refresh, typically of 1/60 s, and what they show
# changes within some milliseconds more.
MAX_RISE_S = 0.025
# Objects nearer to one end of a screen get half of their light earlier or later: by this part of
# the rise, if one end lights them a fifth more than the middle does, and the other a fifth less.
RISE_SHARE = 0.05
# Screens light up within their refresh, typically of 1/60 s, each row within at most 8 ms, with a
# course of its own. If a frame cuts off part of a screen, its middle may be anywhere.
REFRESH_S = 1.0 / 60.0
RESPONSE_S, RESPONSE_STD_S = 0.008, 0.002
CUT_SHARE = 0.25
# Flashes that clip more than this share of what they light are reported even if none can be timed.
CLIPPED_SHARE = 0.25
# Error of the share of a change that a frame shows: local tone curves brighten rows by what lies
# around them.
SHARE_STD = 0.1
# How far the onset of a lasting light may be from its half-light: it rises while rows are exposed.
ONSET_STD_S = 1e-4
NOWHERE: Ints = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WatchedFrames:
    """When the frames that were looked at were exposed.

    Parameters
    ----------
    stream : CameraStream
        The camera.
    indices : sequence of int
        Positions of the frames in file order.
    frame_s : ndarray, shape (n,)
        Middle of the exposure of their middle rows.
    epoch_ns : int
        Zero of these times on the camera's clock.
    stamp_std_s : float
        Error common to all frames, combined with the jitter of each timestamp.
    height_px : int
        Rows of a frame.
    """

    stream: CameraStream
    indices: Sequence[int]
    frame_s: Floats
    epoch_ns: int
    stamp_std_s: float
    height_px: int

    @classmethod
    def of(cls, stream: CameraStream, indices: Sequence[int], height_px: int) -> WatchedFrames:
        """Return some frames of a camera."""
        times_s, epoch_ns, stamp_std_s = frame_times_s(stream)
        return cls(
            stream=stream,
            indices=indices,
            frame_s=times_s[list(indices)],
            epoch_ns=epoch_ns,
            stamp_std_s=math.hypot(stamp_std_s, spread(lateness_s(times_s), 0.0)),
            height_px=height_px,
        )

    @property
    def exposures_s(self) -> tuple[float, float]:
        """Return the shortest and the longest possible exposure."""
        exposure_s = self.stream.exposure_s
        return exposure_s or 0.0, exposure_s or self.period_s

    @property
    def period_s(self) -> float:
        """Return the time from frame to frame; a second where that is not known."""
        steps_s = np.diff(self.frame_s)
        usual_s = float(np.median(steps_s)) if steps_s.size else 0.0
        return usual_s if usual_s > 0.0 else 1.0

    @property
    def readout_s(self) -> float | None:
        """Return the time from the first row to the last, where stated."""
        delay_s = self.stream.line_delay_s
        return None if delay_s is None else delay_s * (self.height_px - 1)

    def intervals(
        self,
        cells: NDArray[np.float32],
        blinking: Blinking | None,
        *,
        clipped_share: float,
        steps: Ints = NOWHERE,
    ) -> FlashIntervals | None:
        """Return when lights changed, from wholly or partly lit frames; None where none is lit.

        Parameters
        ----------
        cells : ndarray of float32, shape (n, r, s)
            From `FrameCells`.
        blinking : Blinking, optional
            Lasting lights.
        clipped_share : float
            Share of what flashes light that is clipped.
        steps : ndarray of int
            Other frames in which a lasting light went on or off.
        """
        exposure_s, readout_s = self.stream.exposure_s, self.readout_s
        flat = cells.reshape(self.frame_s.size, -1).astype(np.float64)
        changes = date_changes(
            blinking,
            self.frame_s,
            flat,
            exposures_s=self.exposures_s,
            period_s=self.period_s,
            rise_s=MAX_RISE_S,
        )
        pulses = lit_frames(
            self.frame_s,
            flat,
            exposure_s=exposure_s,
            readout_s=readout_s,
            switched=np.concatenate([changes.frame, steps]),
        )
        n = pulses.start_s.size
        if not n + changes.frame.size and clipped_share < CLIPPED_SHARE:
            return None
        start_s = np.append(pulses.start_s, changes.start_s)
        std_s = np.append(np.full(n, ONSET_STD_S), changes.std_s)
        order = np.argsort(start_s, kind="stable")
        all_s, _, _ = frame_times_s(self.stream)
        return FlashIntervals(
            source=self.stream.name,
            quantity=Quantity.FLASH,
            epoch_ns=self.epoch_ns,
            start_s=start_s[order],
            stop_s=np.append(pulses.stop_s, changes.stop_s)[order],
            std_s=np.hypot(std_s, self.stamp_std_s)[order],
            count=np.ones(start_s.size, dtype=np.int64),
            lit_s=np.append(pulses.lit_s, changes.start_s)[order],
            sense=np.append(np.ones(n, dtype=np.int64), changes.sense)[order],
            clipped_share=clipped_share,
            dead_s=dead_times(
                watched_neighbours(self.indices[1:-1], all_s),
                exposure_s=exposure_s,
                readout_s=readout_s,
                hidden_s=pulses.hidden_s,
            ),
        )

    def intervals_of_middle(self, blinking: Blinking, *, clipped_share: float) -> FlashIntervals:
        """Return when lights changed in the middle of what blinks, between two frames.

        Parameters
        ----------
        blinking : Blinking
            What blinks, in a part of the rows.
        clipped_share : float
            Share of what flashes light that is clipped.
        """
        std_s = REFRESH_S * (CUT_SHARE if blinking.is_cut else RISE_SHARE)
        std_s = math.hypot(std_s, RESPONSE_STD_S)
        if self.readout_s is None:
            std_s = math.hypot(std_s, abs(blinking.row - 0.5) * UNSTATED_READOUT_S)
        start_s, stop_s = blinking.intervals_s(
            self.frame_s + (blinking.row - 0.5) * (self.readout_s or 0.0),
            exposure_s=self.exposures_s,
            rise_s=MAX_RISE_S if blinking.is_cut else RESPONSE_S,
            is_clipped=clipped_share > CLIPPED_SHARE,
        )
        n = start_s.size
        # How long changes take places their instants within every interval that a partly lit frame
        # narrows to less than an exposure and a change: these errors are alike, not independent.
        width_s = stop_s - start_s
        alike_s = 0.5 * width_s * (width_s < self.exposures_s[1] + RESPONSE_S)
        own_std_s = math.hypot(SHARE_STD * self.exposures_s[1], self.stamp_std_s)
        return FlashIntervals(
            source=self.stream.name,
            quantity=Quantity.FLASH,
            epoch_ns=self.epoch_ns,
            start_s=start_s,
            stop_s=stop_s,
            std_s=np.hypot(own_std_s, alike_s),
            count=np.ones(n, dtype=np.int64),
            sense=np.array([own.sense for own in blinking.changes], dtype=np.int64),
            clipped_share=clipped_share,
            systematic_std_s=std_s,
        )

    def between(self, blinking: Blinking) -> BetweenFrames:
        """Return the frames between which the middle of what blinks changed."""
        index = np.array(self.indices, dtype=np.int64)
        off_middle, reach_s = blinking.row - 0.5, 0.5 * self.exposures_s[1]
        if self.readout_s is None:
            reach_s += abs(off_middle) * UNSTATED_READOUT_S
        middle_s = self.frame_s + off_middle * (self.readout_s or 0.0)
        changes = blinking.changes
        return BetweenFrames(
            index[[own.foot for own in changes]],
            index[[own.peak for own in changes]],
            middle_s[[own.before for own in changes]] - reach_s,
            middle_s[[own.after for own in changes]] + reach_s,
            np.array([own.sense for own in changes], dtype=np.int64),
        )


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


def dead_times(
    watched_s: Floats, *, exposure_s: float | None, readout_s: float | None, hidden_s: float
) -> Floats:
    """Return the times between neighbouring exposures that a pulse may hide in, shape (m, 2).

    They begin where not all rows are exposed, or a pulse would light them too little. Empty where
    exposure or readout is not stated.
    """
    reach_s = 0.5 * ((exposure_s or 0.0) - (readout_s or 0.0)) - hidden_s
    if readout_s is None or reach_s <= 0.0:
        return np.empty((0, 2))
    dead = watched_s + np.array([reach_s, -reach_s])
    found: Floats = dead[dead[:, 0] < dead[:, 1]]
    return found
