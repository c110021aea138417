"""Find light flashes in a camera's frames and time them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from syncaudit.decode import Frame
from syncaudit.detectors.flash.bands import (
    NO_ROWS,
    DatedRows,
    date_rows,
    dated_by_ends,
    without_dead_zone,
)
from syncaudit.detectors.flash.blinking import (
    MIN_CHANGES,
    Blinking,
    changed_frames,
    find_blinking,
    outstanding_frames,
)
from syncaudit.detectors.flash.intervals import (
    MAX_RISE_S,
    ONSET_STD_S,
    RISE_SHARE,
    FrameTimes,
    with_intervals,
)
from syncaudit.detectors.flash.learning import MIN_FRAMES, Learnt, find_order, learn
from syncaudit.detectors.flash.lighting import find_lighting
from syncaudit.detectors.flash.lit_frames import gather_lit
from syncaudit.detectors.flash.pattern import reached_rows
from syncaudit.detectors.flash.shape import LIKE_EXPOSURE
from syncaudit.detectors.flash.window import FrameWindow
from syncaudit.detectors.rotation.detector import STAMP_PARTS
from syncaudit.dsp.robust import spread
from syncaudit.model import CameraStream
from syncaudit.model.clip import OPPOSITE_SCANS, Scan
from syncaudit.model.evidence.flashes import (
    UNSEEN_RISE_PART,
    UNSTATED_READOUT_S,
    UNSTATED_READOUT_SHARE,
    FlashEdges,
    FlashIntervals,
)

# Fewer edges than this, none of them paired into a band, are not reported: the light may simply
# have changed once.
MIN_SWITCHES = 3
# How much the encoder blurs ramps: H.264 filters up to three pixels on either side of a block
# boundary.
BLURRED_ROWS = 4.0
# Error where the exposure is not stated and no frame shows both edges of a pulse: the edges date
# the light itself if it outlasts the exposure; otherwise, lights seem to go on half an exposure
# (typically of 8 ms) before the pulse, and off as long after it.
UNSTATED_STD_S = 0.004
# Half-light after the onset of a light that stays, where its rise is seen, as a part of its ramp.
SLOW_PART = 0.5
# How much earlier lights appear to go on and later to go off, in all edges of a camera: this many
# of the encoder's errors of an edge, and this many rows (rms over 60 cameras; x264).
SHIFT_SHARE, SHIFT_ROWS = 1.5, 0.3
# Minimum share of the edges that must pass: where nearly all fail (light that never leaves a row
# dark, clipped light, a moving camera), the few that pass are wrong.
MIN_KEPT = 0.3


@dataclass
class FlashDetector:
    """Accumulate the flashes in the frames of one camera.

    Call `update` with each frame in order and `finish` at the end.

    One model covers any light that goes on and off: a row integrates the light that falls on it
    during its exposure. With a rolling shutter, each switch is therefore a ramp over the rows being
    exposed at that time (after Šmíd and Matas, "Rolling shutter camera synchronization with
    sub-millisecond accuracy", VISAPP 2017, arXiv:1902.11084, who dated the first lit row by a
    step). The ramp is as long as the light or the exposure, whichever is shorter. Where line delay
    and exposure are stated, a lasting light may take up to 25 ms to go on and off, as in a scene
    lit by a screen: its ramp is longer by that, and the middle of the rise is dated. What full
    light adds to each cell of the image, the ramp and the rows are estimated jointly over all
    frames (`learn`); `date_rows` determines which instant of the light a row dates. The half-light
    row does not depend on the length of the light, and the two edges of a band together do not
    depend on the exposure. Errors that move the two edges apart equally (encoder, tone curve) look
    like a different exposure: estimate the exposure from the edges instead of using the stated one.

    For global shutters, and frames without ramps, the result is the intervals in which whole frames
    were lit, and the instants of lights that switch during a frame's exposure (`date_changes`).

    Parameters
    ----------
    stream : CameraStream
        The camera.
    columns : slice, optional
        Columns to look at in the frames as they are read, line by line (`CameraStream.scan`); all
        by default.
    """

    stream: CameraStream
    columns: slice | None = None
    _indices: list[int] = field(default_factory=list)
    _size: tuple[int, ...] = ()
    _clipped_share: float = 0.0
    _reached: slice = field(default_factory=lambda: slice(0, 0))
    _order: int = 0
    _window: FrameWindow = field(init=False)

    def __post_init__(self) -> None:
        """Create the window of frames that detection needs."""
        self._window = FrameWindow(has_rows=self.stream.line_delay_s != 0.0)

    def update(self, frame: Frame) -> None:
        """Take one frame."""
        frame = frame.scanned(self.stream.scan)
        shape = frame.shape
        self._size = self._size or shape
        if frame.index >= self.stream.time_ns.size or shape != self._size or 0 in shape:
            return
        self._indices.append(frame.index)
        self._window.add(frame if self.columns is None else frame.columns(self.columns))

    def finish(self) -> FlashEdges | FlashIntervals | None:
        """Return edges of light, or intervals of lit frames, or None where nothing flashed.

        The intervals are empty where flashes clip too much of the image to be timed.
        """
        window = self._window
        window.finish()
        if not self._indices:
            return None
        # Nearly all clips end here.
        is_lit = len(window.candidates) >= MIN_FRAMES
        if window.has_rows and (is_lit or outstanding_frames(window.changes()).size >= MIN_CHANGES):
            window.remove_flicker(self._places, self._times.frame_s)
        learnt = self._learnt()
        is_slow = learnt is not None and learnt.shape.blur_px > 0.0
        blinking = self._blinking()
        if learnt is not None and self._is_believed(learnt):
            dated = self._dated(learnt)
            if dated is not None and blinking is not None:
                dated = self._beside(dated, blinking, is_slow=is_slow)
            if dated is not None:
                return dated
        clipped = self._clipped_share
        if not window.has_rows:
            return self._times.intervals(window.cells(), blinking, clipped_share=0.0)
        whole = learnt.whole if learnt is not None and learnt.is_light else {}
        n_changes = 0 if blinking is None else len(blinking.changes)
        has_whole = len(whole) >= max(MIN_CHANGES, n_changes // 2)
        if blinking is not None and (blinking.may_be_screen(is_slow) or not has_whole):
            return self._times.intervals_of_middle(blinking, clipped_share=clipped)
        pulses = self._times.intervals(
            window.cells(), None, clipped_share=clipped, steps=window.steps
        )
        n_pulses = 0 if pulses is None else pulses.start_s.size
        if len(whole) < max(MIN_CHANGES, n_pulses):
            return pulses
        return self._edges(
            NO_ROWS, whole, half_light_s=0.0, half_light_std_s=ONSET_STD_S, scan=self.stream.scan
        )

    def lit_columns(self) -> slice | None:
        """Return the columns to look at instead, where light reaches only a part of the width.

        None where it reaches most of the width, or nowhere. Call it after `finish`.
        """
        if not self._indices or not self._window.has_rows:
            return None
        return self._window.lit_half()

    @cached_property
    def _times(self) -> FrameTimes:
        return FrameTimes(
            stream=self.stream, indices=np.array(self._indices), height_px=self._size[0]
        )

    @cached_property
    def _places(self) -> dict[int, int]:
        return {index: place for place, index in enumerate(self._indices)}

    def _is_believed(self, learnt: Learnt) -> bool:
        """Return whether most edges pass and the light changes instantly or as screens do."""
        shape = learnt.shape
        longest_px = LIKE_EXPOSURE * (self._times.exposure_px or self._size[0]) + BLURRED_ROWS
        n, n_on = len(learnt.edges), sum(edge.is_upper for edge in learnt.edges)
        if shape.blur_px and self.stream.line_delay_s:
            longest_px = MAX_RISE_S / self.stream.line_delay_s
            # A tone curve not separated from the rise moves all on and off edges apart equally.
            if min(n_on, n - n_on) < MIN_SWITCHES:
                return False
        return n > MIN_KEPT * learnt.n_tried and shape.ramp_px < longest_px

    def _beside(self, dated: FlashEdges, blinking: Blinking, *, is_slow: bool) -> FlashEdges | None:
        """Return the edges together with the lights that blink but that no row dates.

        None where what blinks constrains time better, or shows the edges to be a screen's.
        """
        # Whole frames need no check: only edges dated by rows may be those of a screen.
        by_rows = dated.by_rows
        places = np.searchsorted(self._indices, dated.frame_index[by_rows])
        sense = None if dated.sense is None else dated.sense[by_rows]
        if blinking.replaces(places, sense, is_slow=is_slow):
            return None
        if sense is None or not blinking.shows(places, sense):
            return dated
        return with_intervals(dated, self._times.between(blinking))

    def _blinking(self) -> Blinking | None:
        """Find what blinks near the frames in which light may have changed."""
        window, times = self._window, self._times
        levels = window.rows()
        at = outstanding_frames(window.changes()) if window.has_rows else changed_frames(levels)
        if at.size < MIN_CHANGES:
            return None
        part_s = times.exposures_s[1] + MAX_RISE_S
        return find_blinking(levels, at.tolist(), math.ceil(part_s / times.period_s) + 1)

    def _learnt(self) -> Learnt | None:
        window = self._window
        if len(window.candidates) < MIN_FRAMES:
            return None
        senses = window.senses(self._places)
        lit = gather_lit(
            window.candidates,
            window.levels,
            window.clean,
            find_lighting(window.rows(), 1.0 / self._times.period_s),
            self._places,
            senses if len(senses) >= MIN_SWITCHES else {},  # a tunnel, a cloud: not a lamp
            pauses=self._times.pauses,
        )
        if lit is None:
            return None
        self._clipped_share = float(np.median(lit.clipped_share))
        self._reached = reached_rows(lit)
        self._order = find_order(lit)
        return learn(lit.of_rows(self._reached), exposure_px=self._times.exposure_px)

    def _dated(self, learnt: Learnt) -> FlashEdges | None:
        stream, shape, steps = self.stream, learnt.shape, self._window.steps
        exposure_px, delay_s = self._times.exposure_px, stream.line_delay_s
        date = partial(
            date_rows,
            shape=shape,
            exposure_px=exposure_px,
            least_exposure_px=(stream.exposure_s or 0.0) / self._times.period_s * self._size[0],
            half_std_px=learnt.half_std_px,
            stays=2 * sum(edge.index in steps for edge in learnt.edges) > len(learnt.edges),
        )
        dated = date(learnt.edges)
        if not dated.sense.any() and shape.tail_px == 0.0:
            dated = date(without_dead_zone(learnt.edges))
        if np.unique(dated.band).size == dated.band.size < MIN_SWITCHES:
            return None
        half_std_px = math.hypot(learnt.half_std_px, dated.half_std_px)
        if delay_s is None:
            half_std_px = math.hypot(half_std_px, UNSTATED_READOUT_SHARE * dated.half_px)
            delay_s = UNSTATED_READOUT_S / self._size[0]
        if dated.half_px:
            std_s = half_std_px * delay_s
        else:
            part = SLOW_PART if shape.blur_px else UNSEEN_RISE_PART
            std_s = math.hypot(ONSET_STD_S, part * shape.ramp_px * delay_s)
        lasts = bool(dated.sense.any())
        n_stay = np.count_nonzero(np.isin(dated.index, steps))
        is_guess = exposure_px is None and lasts and 2 * n_stay < dated.index.size
        # Relating timestamps to the middle row may need an unstated exposure.
        is_needed = stream.exposure_s is None and STAMP_PARTS[stream.stamp_at] != 0.0
        if is_needed and dated.sense.all() and not is_guess:
            dated = dated_by_ends(dated, shape.ramp_px)
        encoded_px = float(np.median([edge.encoded_std for edge in learnt.edges]))
        guessed_px = float(np.median([edge.guessed_std for edge in learnt.edges]))
        # Of lasting lights, full light that is guessed too low moves both kinds of edges early; an
        # error of the shape moves them apart, but both edges of a pulse the same way.
        rise_px = guessed_px if lasts else learnt.shape_std_px
        if shape.blur_px:
            rise_px = math.hypot(rise_px, RISE_SHARE * shape.ramp_px)
        guess_px = 0.0
        if exposure_px is not None and not shape.blur_px and lasts:
            # Ramps not quite as long as the exposure may be the light's own. A light that goes on
            # and off within an exposure draws ramps of its own length, and bands as high as the
            # exposure: its edges lie half the difference before those of a lasting light. One that
            # ripples with the mains moves each edge by as much, according to its phase.
            apart_px = 0.5 * abs(exposure_px - shape.ramp_px)
            guess_px = max(0.0, apart_px - learnt.half_std_px)
        shift_px = math.hypot(learnt.shape_std_px, SHIFT_SHARE * encoded_px, SHIFT_ROWS, guess_px)
        shift_s = UNSTATED_STD_S if is_guess else shift_px * delay_s
        scan = stream.scan
        if self._order and not shape.blur_px:  # slow lights may be screens, lit line by line
            scan = scan or "down"
            scan = scan if self._order > 0 else OPPOSITE_SCANS[scan]
        return self._edges(
            replace(dated, row_std=np.hypot(dated.row_std, guess_px)),
            learnt.whole,
            half_light_s=dated.half_px * delay_s,
            half_light_std_s=std_s,
            rise_std_s=rise_px * delay_s,
            edge_shift_std_s=shift_s if lasts else 0.0,
            scan=scan,
        )

    def _edges(
        self,
        dated: DatedRows,
        whole: Mapping[int, int],
        *,
        half_light_s: float,
        half_light_std_s: float,
        rise_std_s: float = 0.0,
        edge_shift_std_s: float = 0.0,
        scan: Scan | None = None,
    ) -> FlashEdges:
        stream, times = self.stream, self._times
        frame_s, epoch_ns, _ = times.stamped
        order = np.lexsort((dated.row, dated.index))
        index = dated.index[order]
        middle, reached = 0.5 * (self._size[0] - 1), self._reached
        # Light that clips or moves is no evidence that a frame shows no flash.
        undated = set(self._window.candidates).difference(index.tolist())
        watched = [k for k in self._indices[1:-1] if k not in undated]
        edges = FlashEdges(
            source=stream.name,
            epoch_ns=epoch_ns,
            frame_index=index,
            frame_s=frame_s[index],
            row_px=dated.row[order] + reached.start - middle,
            row_std_px=dated.row_std[order],
            exposure_part=dated.part[order],
            band=dated.band[order],
            height_px=self._size[0],
            reached_px=(reached.start - middle, reached.stop - 1 - middle),
            watched_s=times.watched_s(np.array(watched, dtype=np.int64)),
            line_delay_s=stream.line_delay_s,
            exposure_s=stream.exposure_s,
            scan=scan,
            half_light_s=half_light_s,
            half_light_std_s=half_light_std_s,
            stamp_part=STAMP_PARTS[stream.stamp_at],
            from_stamp_s=float(frame_s[0]),  # the first timestamp is the epoch
            sense=dated.sense[order] if dated.sense.any() or not dated.sense.size else None,
            clipped_share=self._clipped_share,
            rise_std_s=rise_std_s,
            edge_shift_std_s=edge_shift_std_s,
            late_s=times.late_s[index],
            jitter_s=spread(times.late_s, 0.0),
        )
        if edges.sense is None:
            return edges
        return with_intervals(edges, times.between_whole(whole, reached.start))
