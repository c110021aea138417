"""Find light flashes in a camera's frames and time them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.flash_background import RADIUS, LitFrame, find_lit
from syncaudit.detectors.flash_bands import date_rows
from syncaudit.detectors.flash_dead_zone import dead_zone_shifts
from syncaudit.detectors.flash_edges import BandEdge, fit_edges, row_profile, step_scale
from syncaudit.detectors.flash_frames import frame_cells, lit_intervals
from syncaudit.detectors.flash_rows import FrameRows, frame_rows
from syncaudit.detectors.flash_shape import PulseShape, half_light_std_px, pool_shape
from syncaudit.detectors.rotation import frame_times_s
from syncaudit.model import CameraStream, Quantity
from syncaudit.model.evidence import FlashEdges, FlashIntervals

__all__ = ["FlashDetector"]

# Lit frames from which the shape of the pulse is learnt; later ones are fitted as they come.
N_LEARNT = 32
N_ROUNDS = 4
N_PER_ROUND = 16
# Half-light time is not known better than this share of itself with too few edges to pool.
UNPOOLED_SHARE = 0.25
# A gap between frames longer than this many periods ends a readable stretch.
LONG_GAP = 1.6


@dataclass(slots=True)
class FlashDetector:
    """Accumulate the flashes in the frames of one camera.

    Call `update` with each luma picture in order and `finish` at the end. Nine frames, reduced to
    sixteen brightness values a row, are kept, and until the shape of the pulse is known up to
    `N_LEARNT` lit ones.

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
    _ring: deque[FrameRows] = field(default_factory=lambda: deque(maxlen=2 * RADIUS + 1))
    _pending: list[LitFrame] = field(default_factory=list)
    _shape: PulseShape | None = None
    _half_std_px: float | None = None
    _length: int = 0
    _edges: list[BandEdge] = field(default_factory=list)
    _cells: list[NDArray[np.float32]] = field(default_factory=list)
    _indices: list[int] = field(default_factory=list)
    _size: tuple[int, ...] = ()

    def update(self, index: int, luma: NDArray[np.uint8]) -> None:
        """Take frame `index` (position in file order), luma of shape (h, w)."""
        self._size = self._size or luma.shape
        if index >= self.stream.time_ns.size or luma.shape != self._size or not luma.size:
            return
        rows = frame_rows(index, luma)
        self._indices.append(index)
        self._cells.append(frame_cells(rows))
        if self.stream.line_delay_s == 0.0:
            return
        self._ring.append(rows)
        if len(self._ring) > RADIUS + 1:
            self._look(len(self._ring) - 1 - RADIUS)

    def finish(self) -> FlashEdges | FlashIntervals | None:
        """Return band edges, or intervals of lit frames, or None where nothing flashed."""
        for at in range(max(1, len(self._ring) - RADIUS), len(self._ring) - 1):
            self._look(at)
        self._learn()
        if not self._indices:
            return None
        if self._edges and self._shape is not None:
            return self._dated(self._edges, self._shape)
        return self._intervals()

    def _look(self, at: int) -> None:
        lit = find_lit(self._ring, at)
        if lit is None:
            return
        if self._shape is not None:
            self._edges += fit_edges(lit, self._shape, self._length)
            return
        self._pending.append(lit)
        if len(self._pending) >= N_LEARNT:
            self._learn()

    def _learn(self) -> None:
        """Pool the shape of the pulse over the pending frames, and fit them with it."""
        pending, self._pending = self._pending, []
        if not pending:
            return
        length = int(np.median([step_scale(row_profile(lit)) for lit in pending]))
        shape = PulseShape(float(length))
        for _ in range(N_ROUNDS):
            some = pending[:: max(1, len(pending) // N_PER_ROUND)]
            edges = [edge for lit in some for edge in fit_edges(lit, shape, length)]
            if not edges:
                return
            shape = pool_shape([edge.fit.profile for edge in edges], shape)
        self._shape, self._length = shape, length
        self._half_std_px = half_light_std_px([edge.fit.profile for edge in edges], shape)
        self._edges = [edge for lit in pending for edge in fit_edges(lit, shape, length)]

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
            readable_s=self._readable_s(frame_s),
            line_delay_s=delay_s,
            exposure_s=stream.exposure_s,
            half_light_s=None if delay_s is None else dated.half_px * delay_s,
            half_light_std_s=None if delay_s is None else half_std_px * delay_s,
            stamp_std_s=stamp_std_s,
        )

    def _intervals(self) -> FlashIntervals | None:
        stream = self.stream
        frame_s, epoch_ns, stamp_std_s = frame_times_s(stream)
        delay_s = stream.line_delay_s
        starts, stops, stds = lit_intervals(
            frame_s[self._indices],
            np.stack(self._cells).astype(np.float64),
            exposure_s=stream.exposure_s,
            readout_s=None if delay_s is None else delay_s * self._size[0],
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
        )

    def _readable_s(self, frame_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return start and stop of the stretches in which a flash would have been seen.

        The first and the last frame have no background on both sides.
        """
        index = np.array(self._indices[1:-1], dtype=np.int64)
        if not index.size:
            return np.empty((0, 2))
        times_s = frame_s[index]
        steps_s = np.diff(times_s)
        forward_s = steps_s[steps_s > 0.0]
        period_s = float(np.median(forward_s)) if forward_s.size else 0.0
        is_break = (np.diff(index) > 1) | (steps_s <= 0.0) | (steps_s > LONG_GAP * period_s)
        first = np.concatenate(([0], np.flatnonzero(is_break) + 1))
        last = np.concatenate((np.flatnonzero(is_break), [index.size - 1]))
        return np.stack((times_s[first], times_s[last]), axis=1)
