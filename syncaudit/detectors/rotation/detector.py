"""Measure how a camera rotates from frame to frame: the evidence that needs no flash.

Corners are tracked on the luma image at reduced size, and a rotation is fitted to each frame pair.
With a rolling shutter each point has its own time, row by row: each increment carries the moments
of the rows on which its points lie.

Before decoding, the frame pairs are chosen whose rotation best constrains a delay. A rotation
increment constrains a delay by how much the angular rate changes over it: the Fisher information of
a delay is the sum of ``(rate(stop) - rate(start))**2`` over the noise (Knapp & Carter, "The
generalized correlation method for estimation of time delay", 1976, doi:10.1109/TASSP.1976.1162830,
for the continuous case). A gyroscope on board shows where that is large: a quarter of all
increments carries about six tenths of the total information. The choice depends on the gyroscope
alone, not on image noise, so it cannot bias the delay. Stamps are taken at face value; if they are
wrong, the choice is merely worse.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode import Frame
from syncaudit.detectors.rotation.fit import Heading, fit_rotations, travel_turns
from syncaudit.detectors.rotation.lens import Lens, find_radial_term
from syncaudit.detectors.rotation.point_tracks import (
    FixedParts,
    FramePair,
    PairStack,
    PointTracks,
    track_points,
)
from syncaudit.detectors.stamps.clock import regular_times_s
from syncaudit.dsp.integral import RunningIntegral, integrate_samples
from syncaudit.model import Activity, CameraStream, RotationIncrements, seconds_since
from syncaudit.model.arrays import Bools, Floats, Ints
from syncaudit.model.units import spans_too_long

# Images are tracked at about this width: halving 480p costs no accuracy and saves a third.
TRACK_WIDTH_PX = 430
# Horizontal field of view assumed if the manifest does not state it.
ASSUMED_FOV_DEG = 70.0
# Systematic uncertainty of an unstated readout: full-frame readouts take 5-25 ms.
UNKNOWN_READOUT_STD_S = 0.008
# From the stamp to the middle of the middle row's exposure, in units of exposure and readout.
STAMP_PARTS = {"mid_exposure_mid_row": 0.0, "start_of_frame": 0.5, "end_of_frame": -0.5}
# Frames stamped closer together than this (or backwards) do not determine a rate.
MIN_INCREMENT_S = 2e-4

# Pairs whose rotations are fitted at once: enough for arrays to pay off, few enough that the
# direction of travel of the first is still a good start for the last.
STACK = 64
# Pairs used to estimate the lens (those with the most rotation), the minimum rotation below which
# noise may look like a lens, and how many pairs wait for the estimate: in a clip that begins at
# rest, the lens can be estimated only later.
LENS_PAIRS = 16
LENS_TURN_PX = 2.0
MAX_WAITING = 16 * STACK
# Images kept before they are tracked together: a decoder that alternates with other work finds
# its caches evicted.
N_AT_ONCE = 32

# In every span of about this length (drift and steps need some throughout), enough increments are
# chosen to reach this information, in (rad/s)^2: with errors of 0.25 mrad per increment, the delay
# of a camera is then determined to 0.6 ms.
SPAN_S = 20.0
ENOUGH = 0.17
# Bounds on their number: fewer leave robust fits without a majority, more cost more than they add.
MIN_CHOSEN, MAX_CHOSEN = 48, 170
MAX_SHARE = 0.7
# Every part of about this length gets at least this many: a clock may step where little happens,
# and near an end nothing but the increments there shows it.
PART_S, MIN_IN_PART = 2.0, 4
# The gyroscope is averaged over this span, so that the choice tolerates clocks that differ by as
# much: with 0.03 s, clocks 60 ms apart cost a quarter of the accuracy.
AVERAGE_S = 0.2
# The gyroscope must have been on during this share of the increments.
MIN_COVERED = 0.8


def frame_times_s(stream: CameraStream) -> tuple[Floats, int, float]:
    """Return when the middle row of each frame is exposed, by the camera's own stamps.

    Parameters
    ----------
    stream : CameraStream
        Camera with `stamp_at`, and exposure and line delay if stated.

    Returns
    -------
    times_s : ndarray, shape (n,)
        Seconds since the epoch.
    epoch_ns : int
        First stamp.
    std_s : float
        Systematic uncertainty if `stamp_at` needs a value that is not stated.
    """
    epoch_ns = int(stream.time_ns[0])
    times_s = seconds_since(stream.time_ns, epoch_ns)
    part = STAMP_PARTS[stream.stamp_at]
    if part == 0.0:
        return times_s, epoch_ns, 0.0
    exposure_s = stream.exposure_s if stream.exposure_s is not None else 0.010
    readout_s = stream.readout_lines * (stream.line_delay_s or 0.0)
    std_s = 0.0 if stream.exposure_s is not None else 0.003
    if stream.line_delay_s is None:
        std_s = math.hypot(std_s, UNKNOWN_READOUT_STD_S)
    return times_s + part * (exposure_s + readout_s), epoch_ns, std_s


class _Fitted(NamedTuple):
    """Results for some pairs of frames, one row each; as in `RotationIncrements`."""

    frames: NDArray[np.intp]
    corner_rows_px: Floats
    angles_rad: Floats
    std_rad: Floats
    row_moments_px: Floats
    row_moves_px: Floats
    travel_moments_px: Floats
    direction: Floats
    direction_information: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Kept:
    """A reduced image that waits to be tracked."""

    index: int
    luma: NDArray[np.uint8]
    full_shape: tuple[int, ...]


@dataclass(slots=True)
class RotationDetector:
    """Accumulate rotation increments over the frames of one camera.

    Call `update` with each image in order and `finish` at the end. One detector serves one
    camera and keeps a few small images.
    """

    stream: CameraStream  # the camera
    # shape (n_frames,), optional: frames whose increment from the previous frame is wanted, as from
    # `choose_increments`; None: all
    chosen: Bools | None = None
    _kept: list[_Kept] = field(default_factory=list)
    _lens: Lens | None = None
    _is_lens_known: bool = False
    _n_enough: int = 0
    _tracks: PointTracks | None = None
    _heading: Heading = field(default_factory=Heading)
    _fixed: FixedParts = field(default_factory=FixedParts)
    _waiting: list[FramePair] = field(default_factory=list)
    _fitted: list[_Fitted] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Set up the stated lens."""
        self._n_enough = STACK
        if self.stream.distortion is not None and self.stream.focal_px is not None:
            self._lens, self._is_lens_known = Lens.stated(self.stream.distortion), True

    def update(self, frame: Frame) -> None:
        """Process one frame."""
        if self._wants(frame.index) or self._wants(frame.index + 1):
            small = frame.reduced(track_factor(frame.shape))
            self._kept.append(_Kept(index=frame.index, luma=small, full_shape=frame.shape))
            if len(self._kept) == N_AT_ONCE:
                self._track()

    def _track(self) -> None:
        """Track points through the kept images; the last one stays for those to come."""
        for before, after in itertools.pairwise(self._kept):
            # Chosen frames pair only with direct neighbours; otherwise a pair may span lost frames.
            is_pair = self.chosen is None or after.index == before.index + 1
            if is_pair and self._wants(after.index) and before.luma.shape == after.luma.shape:
                self._follow(before, after)
        del self._kept[:-1]

    def _wants(self, index: int) -> bool:
        """Return whether the increment that ends at a frame is wanted."""
        n_stamps = self.stream.time_ns.size
        return index < n_stamps and (self.chosen is None or bool(self.chosen[index]))

    def _follow(self, before: _Kept, after: _Kept) -> None:
        tracks = track_points(before.luma, after.luma, earlier=self._tracks)
        self._tracks = tracks
        if tracks is None:
            return
        pair = FramePair(
            previous=before.index,
            index=after.index,
            tracks=tracks,
            shape=before.luma.shape,
            full_shape=after.full_shape,
        )
        if self._waiting and self._waiting[0].shape != pair.shape:
            self._fit()
        self._fixed.add(tracks.before, tracks.after, pair.shape)
        self._waiting.append(pair)
        if len(self._waiting) == self._n_enough:
            self._fit(is_last=False)

    def _fit(self, *, is_last: bool = True) -> None:
        """Fit the rotations of all waiting pairs, once the lens is known."""
        if not (self._is_lens_known or self._find_lens(is_last=is_last)):
            return
        for first in range(0, len(self._waiting), STACK):
            self._fit_stack(self._waiting[first : first + STACK])
        self._waiting.clear()

    def _find_lens(self, *, is_last: bool) -> bool:
        """Settle the lens model, unless more pairs may improve the estimate."""
        lively = sorted(self._waiting, key=lambda pair: pair.turn_px)[-LENS_PAIRS:]
        term = None
        if lively[len(lively) // 2].turn_px >= LENS_TURN_PX:
            lively.sort(key=lambda pair: pair.index)
            stack = PairStack.of(lively, self._focal_px(lively[0]), self.stream.scan, self._fixed)
            before, after, is_point, _ = stack.seen_through(None)
            term = find_radial_term(before, after, is_point, focal_px=stack.focal_px)
        is_found = term is not None and term.is_known
        if not (is_found or is_last or len(self._waiting) >= MAX_WAITING):
            self._n_enough *= 4  # this many may determine what these did not
            return False
        self._is_lens_known, self._n_enough = True, STACK
        if term is not None and term.is_needed:
            self._lens = Lens.radial(term.value)
        return True

    def _fit_stack(self, pairs: list[FramePair]) -> None:
        stack = PairStack.of(pairs, self._focal_px(pairs[0]), self.stream.scan, self._fixed)
        before, after, is_point, scale = stack.seen_through(self._lens)
        fits = fit_rotations(
            before,
            after,
            is_point,
            heading=self._heading,
            focal_px=stack.focal_px,
            scale=scale,
        )
        if fits is None:
            return
        rows = stack.rows_px(fits.pairs)
        rows_mid, rows_moved = 0.5 * (rows[0] + rows[1]), rows[1] - rows[0]
        self._fitted.append(
            _Fitted(
                frames=stack.frames[fits.pairs],
                corner_rows_px=stack.corner_rows_px[fits.pairs],
                angles_rad=fits.angles_rad,
                std_rad=fits.std_rad,
                row_moments_px=fits.gains.mean(rows_mid),
                row_moves_px=fits.gains.mean(rows_moved),
                travel_moments_px=fits.gains.mean_of_travel(rows_mid),
                direction=fits.direction,
                direction_information=fits.direction_information,
            )
        )

    def _focal_px(self, pair: FramePair) -> float:
        if self.stream.focal_px is not None:
            return self.stream.focal_px
        return 0.5 * pair.full_shape[1] / math.tan(math.radians(ASSUMED_FOV_DEG) / 2.0)

    def finish(self) -> RotationIncrements | None:
        """Return the increments, or None if nothing could be tracked."""
        self._track()
        if self._waiting:
            self._fit()
        if not self._fitted:
            return None
        times_s, epoch_ns, stamp_std_s = frame_times_s(self.stream)
        fitted = _Fitted(*map(np.concatenate, zip(*self._fitted, strict=True)))
        start_s, stop_s = times_s[fitted.frames.T]
        usable = stop_s - start_s > MIN_INCREMENT_S
        if not usable.any():
            return None
        mean_row_px = float(fitted.corner_rows_px.mean())
        fitted = _Fitted(*(part[usable] for part in fitted))
        start_s, stop_s = times_s[fitted.frames.T]
        width_s = (stop_s - start_s)[:, None]
        turns = travel_turns(
            fitted.angles_rad / width_s, fitted.direction, fitted.direction_information
        )
        regular_s = regular_times_s(times_s)
        regular = (None, None) if regular_s is None else tuple(regular_s[fitted.frames.T])
        return RotationIncrements(
            source=self.stream.name,
            epoch_ns=epoch_ns,
            start_s=start_s,
            stop_s=stop_s,
            angles_rad=fitted.angles_rad,
            std_rad=fitted.std_rad,
            row_moments_px=fitted.row_moments_px
            + fitted.travel_moments_px @ turns / width_s[:, :, None],
            row_moves_px=fitted.row_moves_px,
            height_px=self.stream.n_lines,
            mean_row_px=mean_row_px,
            line_delay_s=self.stream.line_delay_s,
            has_focal=self.stream.focal_px is not None,
            stamp_std_s=stamp_std_s,
            regular_start_s=regular[0],
            regular_stop_s=regular[1],
        )


def track_factor(shape: tuple[int, ...]) -> int:
    """Return the factor by which an image of height and width is reduced before tracking."""
    # Line images have no rows to spare.
    return max(1, min(round(shape[1] / TRACK_WIDTH_PX), shape[0]))


def choose_increments(
    stream: CameraStream, rate: Activity, *, wanted: Bools | None = None
) -> Bools | None:
    """Return which frames end an increment that is worth tracking.

    Parameters
    ----------
    stream : CameraStream
        The camera; its stamps are trusted to within the duration of a movement.
    rate : Activity
        Angular rate of the same body, three axes.
    wanted : ndarray of bool, shape (n_frames,), optional
        Frames that will be processed; None: all.

    Returns
    -------
    ndarray of bool, shape (n_frames,), or None
        None if every increment should be tracked: there are too few of them, or the angular rate
        was not measured during most.
    """
    if stream.time_ns.size <= MIN_CHOSEN or rate.times_s.size < 4:
        return None
    if spans_too_long(stream.time_ns):
        return None
    times_s, epoch_ns, _ = frame_times_s(stream)
    looked_at = np.ones(times_s.size, dtype=np.bool_) if wanted is None else wanted
    ends = np.flatnonzero(looked_at[1:] & looked_at[:-1]) + 1
    if ends.size <= MIN_CHOSEN:
        return None
    at_s = times_s + (epoch_ns - rate.epoch_ns) * 1e-9
    start_s, stop_s = at_s[ends - 1], at_s[ends]
    is_covered = (start_s >= rate.times_s[0]) & (stop_s <= rate.times_s[-1])
    if is_covered.mean() < MIN_COVERED:
        return None
    mean_rate = _averaged(rate, at_s)
    variation = np.sum((mean_rate[ends] - mean_rate[ends - 1]) ** 2, axis=1)
    variation[~is_covered] = 0.0
    chosen = np.zeros(times_s.size, dtype=np.bool_)
    duration_s = float(np.median(np.diff(times_s))) * ends.size

    def ranked(span_s: float) -> Iterator[Ints]:
        """Return the increments of every span of about this length, the best ones first."""
        n_spans = min(max(1, round(duration_s / span_s)), ends.size)
        for span in np.array_split(np.arange(ends.size), n_spans):
            yield span[np.argsort(-variation[span], kind="stable")]

    for part in ranked(PART_S):
        chosen[ends[part[:MIN_IN_PART]]] = True
    for best in ranked(SPAN_S):
        n = int(np.searchsorted(np.cumsum(variation[best]), ENOUGH)) + 1
        most = min(MAX_CHOSEN, round(MAX_SHARE * best.size))
        chosen[ends[best[: max(MIN_CHOSEN, min(n, most))]]] = True
    return chosen


def _averaged(rate: Activity, at_s: Floats) -> Floats:
    """Return the mean angular rate around each instant, shape (n, d); held outside."""
    angle = _angle(rate)
    inside_s = np.clip(at_s, rate.times_s[0] + 0.5 * AVERAGE_S, rate.times_s[-1] - 0.5 * AVERAGE_S)
    later_s, earlier_s = inside_s + 0.5 * AVERAGE_S, inside_s - 0.5 * AVERAGE_S
    return np.asarray((angle.at(later_s) - angle.at(earlier_s)) / AVERAGE_S)


@lru_cache(maxsize=1)  # the same gyroscope serves all cameras of a clip
def _angle(rate: Activity) -> RunningIntegral:
    return integrate_samples(rate.times_s, rate.values, is_smooth=False)
