"""Find light flashes in a camera's frames and time them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.flash_background import LitFrame, find_lit
from syncaudit.detectors.flash_bands import date_rows
from syncaudit.detectors.flash_coarse import first_shape
from syncaudit.detectors.flash_dead_zone import dead_zone_shifts
from syncaudit.detectors.flash_edges import BandEdge, fit_edges
from syncaudit.detectors.flash_frames import (
    dead_times,
    frame_cells,
    lit_intervals,
    watched_neighbours,
)
from syncaudit.detectors.flash_pool import half_light_std_px, pool_shape
from syncaudit.detectors.flash_rows import FrameRows, frame_rows
from syncaudit.detectors.flash_screen import RADIUS, lit_candidates
from syncaudit.detectors.flash_shape import PulseShape
from syncaudit.detectors.rotation import STAMP_PARTS, frame_times_s
from syncaudit.model import CameraStream, Quantity
from syncaudit.model.evidence import FlashEdges, FlashIntervals

__all__ = ["FlashDetector"]

# Lit frames from which the shape of the pulse is learnt; later ones are fitted as they come.
N_LEARNT = 32
N_ROUNDS = 6
N_PER_ROUND = 16
# The shape is found when ramp and tail change by less than this share of its half-light row.
SETTLED_SHARE = 0.02
# Least share of the edges that must be convincing: the few that pass where nearly all fail (pulses
# that never leave a row dark, clipped light) are wrong.
MIN_KEPT = 0.3
# Frames that are looked at in one go.
N_AT_ONCE = 8
# Half-light time is not known better than this share of itself with too few edges to pool.
UNPOOLED_SHARE = 0.25


@dataclass(slots=True)
class FlashDetector:
    """Accumulate the flashes in the frames of one camera.

    Call `update` with each luma picture in order and `finish` at the end. Sixteen frames are kept,
    and up to `N_LEARNT` lit ones, reduced to sixteen brightness values a row.

    Rolling shutters draw each pulse as a bright band. Its edges are fitted by the pulse shape that
    all bands of the camera share, after Šmíd and Matas ("Rolling shutter camera synchronization
    with sub-millisecond accuracy", VISAPP 2017, arXiv:1902.11084), who dated the first lit row by
    a step; a step in the row of half the light does not depend on the length of the pulse, both
    edges together not on the exposure. Errors that move both edges apart alike (encoder, tone
    curve) look like another exposure: estimate the exposure from the edges rather than take the
    one that is stated. Global shutters, and pictures without bands, give the intervals in which
    whole frames were lit. Light that goes on and stays is no flash.

    Parameters
    ----------
    stream : CameraStream
        The camera.
    """

    stream: CameraStream
    _frames: list[FrameRows] = field(default_factory=list)
    _n_done: int = 0
    _pending: list[LitFrame] = field(default_factory=list)
    _shape: PulseShape | None = None
    _half_std_px: float | None = None
    _length: int = 0
    _n_tried: int = 0
    _edges: list[BandEdge] = field(default_factory=list)
    _cells: list[NDArray[np.float32]] = field(default_factory=list)
    _indices: list[int] = field(default_factory=list)
    _size: tuple[int, ...] = ()

    def update(self, index: int, luma: NDArray[np.uint8]) -> None:
        """Take frame `index` (position in file order), luma of shape (h, w)."""
        self._size = self._size or luma.shape
        if index >= self.stream.time_ns.size or luma.shape != self._size or not luma.size:
            return
        self._indices.append(index)
        self._frames.append(frame_rows(index, luma))
        if len(self._frames) - self._n_done >= N_AT_ONCE + RADIUS:
            self._look(len(self._frames) - RADIUS)

    def finish(self) -> FlashEdges | FlashIntervals | None:
        """Return band edges, or intervals of lit frames, or None where nothing flashed."""
        self._look(len(self._frames))
        self._fit()
        if not self._indices:
            return None
        is_believed = len(self._edges) > MIN_KEPT * self._n_tried
        if is_believed and self._shape is not None:
            return self._dated(self._edges, self._shape)
        return self._intervals()

    def _look(self, stop: int) -> None:
        """Look for lit frames among those from `_n_done` to `stop`, and forget the oldest."""
        frames, start = self._frames, self._n_done
        if stop > start:
            strips = np.stack([frame.strips for frame in frames])
            self._cells.append(frame_cells(strips[start:stop]))
            if self.stream.line_delay_s != 0.0:
                candidates = np.flatnonzero(lit_candidates(strips, start, stop)) + start
                found = [find_lit(frames, at) for at in candidates.tolist()]
                self._pending += [lit for lit in found if lit is not None]
                if len(self._pending) >= (N_LEARNT if self._shape is None else N_AT_ONCE):
                    self._fit()
        n_kept = min(stop, RADIUS)
        del frames[: stop - n_kept]
        self._n_done = n_kept

    def _fit(self) -> None:
        """Fit the edges of the pending frames; the first time, learn the shape of the pulse."""
        pending, self._pending = self._pending, []
        if pending and self._shape is None:
            self._learn(pending)
        if pending and self._shape is not None:
            edges, n_tried = fit_edges(pending, self._shape, self._length)
            self._edges += edges
            self._n_tried += n_tried

    def _learn(self, lits: list[LitFrame]) -> None:
        some = lits[:: max(1, len(lits) // N_PER_ROUND)]
        shape, self._length = first_shape(some[::2])
        for _ in range(N_ROUNDS):
            edges, _ = fit_edges(some, shape, self._length, is_rough=True)
            if not edges:
                return
            profiles = list({id(edge.fit.profile): edge.fit.profile for edge in edges}.values())
            before, shape = shape, pool_shape(profiles, shape)
            change = abs(shape.ramp_px - before.ramp_px) + abs(shape.tail_px - before.tail_px)
            if change < SETTLED_SHARE * shape.half_px:
                break
        self._shape = shape
        self._half_std_px = half_light_std_px(profiles, shape)

    def _dated(self, edges: list[BandEdge], shape: PulseShape) -> FlashEdges:
        stream = self.stream
        frame_s, epoch_ns, stamp_std_s = frame_times_s(stream)
        delay_s = stream.line_delay_s
        shifts, shift_stds = dead_zone_shifts(edges)
        dated = date_rows(
            edges,
            np.array([edge.fit.row for edge in edges]) - shifts,
            np.hypot([edge.fit.row_std for edge in edges], shift_stds),
            shape=shape,
            exposure_px=stream.exposure_s / delay_s if stream.exposure_s and delay_s else None,
        )
        half_std_px = self._half_std_px
        if half_std_px is None:
            half_std_px = UNPOOLED_SHARE * dated.half_px
        return FlashEdges(
            source=stream.name,
            epoch_ns=epoch_ns,
            frame_index=dated.index,
            frame_s=frame_s[dated.index],
            row_px=dated.row - 0.5 * (self._size[0] - 1),
            row_std_px=dated.row_std,
            exposure_part=dated.part,
            band=dated.band,
            height_px=self._size[0],
            watched_s=watched_neighbours(self._indices[1:-1], frame_s),
            line_delay_s=delay_s,
            exposure_s=stream.exposure_s,
            half_light_s=None if delay_s is None else dated.half_px * delay_s,
            half_light_std_s=None if delay_s is None else half_std_px * delay_s,
            stamp_part=STAMP_PARTS[stream.stamp_at],
            from_stamp_s=float(frame_s[0]),  # the first stamp is the epoch
            stamp_std_s=stamp_std_s,
        )

    def _intervals(self) -> FlashIntervals | None:
        stream = self.stream
        frame_s, epoch_ns, stamp_std_s = frame_times_s(stream)
        delay_s = stream.line_delay_s
        exposure_s = stream.exposure_s
        readout_s = None if delay_s is None else delay_s * self._size[0]
        starts, stops, stds = lit_intervals(
            frame_s[self._indices],
            np.concatenate(self._cells).astype(np.float64),
            exposure_s=exposure_s,
            readout_s=readout_s,
        )
        if not starts.size:
            return None
        return FlashIntervals(
            source=stream.name,
            quantity=Quantity.FLASH,
            epoch_ns=epoch_ns,
            start_s=starts,
            stop_s=stops,
            std_s=np.hypot(stds, stamp_std_s),
            count=np.ones(starts.size, dtype=np.int64),
            is_onset=False,
            dead_s=dead_times(
                watched_neighbours(self._indices[1:-1], frame_s),
                exposure_s=exposure_s,
                readout_s=readout_s,
            ),
        )
