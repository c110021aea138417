"""Find light flashes in a camera's frames and time them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from syncaudit.decode import Picture
from syncaudit.detectors.flash_background import LitFrame, find_lit
from syncaudit.detectors.flash_bands import DatedRows, date_rows
from syncaudit.detectors.flash_crowd import CrowdedLight
from syncaudit.detectors.flash_dead_zone import dead_zone_shifts
from syncaudit.detectors.flash_edges import BandEdge, without_vague
from syncaudit.detectors.flash_exposures import find_switches
from syncaudit.detectors.flash_frames import dead_times, lit_intervals, watched_neighbours
from syncaudit.detectors.flash_singles import SingleBands
from syncaudit.detectors.flash_step_fit import StepEdge, fit_steps
from syncaudit.detectors.flash_steps import REACH, StepFrame, find_step
from syncaudit.detectors.flash_window import FrameWindow, Screened
from syncaudit.detectors.rotation import STAMP_PARTS, frame_times_s
from syncaudit.model import CameraStream, Quantity
from syncaudit.model.evidence import FlashEdges, FlashIntervals

__all__ = ["FlashDetector"]

_Found = TypeVar("_Found", LitFrame, BandEdge)

# Lit frames from which the shape of the pulse is learnt; later ones are fitted as they come.
N_LEARNT = 32
# Least share of the edges that must be convincing: the few that pass where nearly all fail (pulses
# that never leave a row dark, clipped light) are wrong.
MIN_KEPT = 0.3
# Frames in a row whose candidates are looked at in one go.
N_TOGETHER = 8
# Flashes that clip more of what they light are told of even where none can be timed.
CLIPPED_SHARE = 0.25
# Frames may be crowded with pulses where as many in a row are lit.
CROWDED_SHARE = 0.85
# Half-light time is not known better than this share of itself with too few edges to pool.
UNPOOLED_SHARE = 0.25
# How far from its half-light the onset of a light that stays may be: it rises while rows expose.
ONSET_STD_S = 1e-4


@dataclass(slots=True)
class FlashDetector:
    """Accumulate the flashes in the frames of one camera.

    Call `update` with each picture in order and `finish` at the end. Two dozen frames are kept,
    and up to `N_LEARNT` lit ones, reduced to sixteen brightness values a row.

    Rolling shutters draw each pulse as a bright band. Its edges are fitted by the pulse shape that
    all bands of the camera share, after Šmíd and Matas ("Rolling shutter camera synchronization
    with sub-millisecond accuracy", VISAPP 2017, arXiv:1902.11084), who dated the first lit row by
    a step; a step in the row of half the light does not depend on the length of the pulse, both
    edges together not on the exposure. Errors that move both edges apart alike (encoder, tone
    curve) look like another exposure: estimate the exposure from the edges rather than take the
    one that is stated. Global shutters, and pictures without bands, give the intervals in which
    whole frames were lit.

    Light that goes on or off and stays so for two frames at least is dated by the ramp over the
    rows that were exposed meanwhile (`fit_steps`), exposure part 0; in global shutters by how far
    whole frames are lit (`find_switches`).

    Parameters
    ----------
    stream : CameraStream
        The camera.
    """

    stream: CameraStream
    _pending: list[LitFrame] = field(default_factory=list)
    _singles: SingleBands = field(default_factory=SingleBands)
    _crowd: CrowdedLight = field(default_factory=CrowdedLight)
    _indices: list[int] = field(default_factory=list)
    _clipped: list[float] = field(default_factory=list)
    _size: tuple[int, ...] = ()
    _changed: list[int] = field(default_factory=list)
    _steps: list[StepFrame] = field(default_factory=list)
    _window: FrameWindow = field(init=False)

    def __post_init__(self) -> None:
        """Keep what frames need of their neighbours."""
        self._window = FrameWindow(has_rows=self.stream.line_delay_s != 0.0)

    def update(self, picture: Picture) -> None:
        """Take one frame."""
        shape = picture.shape
        self._size = self._size or shape
        if picture.index >= self.stream.time_ns.size or shape != self._size or 0 in shape:
            return
        self._indices.append(picture.index)
        self._look(self._window.add(picture))

    def finish(self) -> FlashEdges | FlashIntervals | None:
        """Return band edges, or intervals of lit frames, or None where nothing flashed.

        Intervals are none where flashes clip so much of the picture that they cannot be timed.
        """
        self._look(self._window.finish())
        self._fit()
        if not self._indices:
            return None
        self._crowd.finish(self._single_share)
        if self._crowd.is_believed and self._crowd.shape is not None:
            return self._dated(self._crowd, self._crowd.edges, [])
        steps = fit_steps(self._steps, exposure_px=self._exposure_px)
        edges = self._apart_from_steps(self._singles.edges)
        is_believed = len(edges) > MIN_KEPT * self._singles.n_tried
        if is_believed or steps:
            return self._dated(self._singles, without_vague(edges) if is_believed else [], steps)
        return self._intervals()

    @property
    def _exposure_px(self) -> float | None:
        exposure_s, delay_s = self.stream.exposure_s, self.stream.line_delay_s
        return exposure_s / delay_s if exposure_s and delay_s else None

    @property
    def _single_share(self) -> float:
        """What part convinces of the edges tried, or of one for each lit frame if that is more."""
        return len(self._singles.edges) / max(1, self._singles.n_tried, len(self._clipped))

    def _look(self, screened: Screened | None) -> None:
        """Look for lit frames, and for steps of light, among the candidates."""
        if screened is None:
            return
        frames = screened.frames
        for start in range(screened.start, screened.stop, N_TOGETHER):
            some = range(start, min(start + N_TOGETHER, screened.stop))
            candidates = [at for at in screened.lit if at in some]
            if len(candidates) >= CROWDED_SHARE * len(some):
                self._crowd.add(frames[some.start : some.stop], self._single_share)
            if self._crowd.is_believed:
                candidates = []
            found = [find_lit(frames, at) for at in candidates]
            self._pending += [lit for lit in found if lit is not None]
            self._clipped += [lit.clipped_share for lit in found if lit is not None]
            changed = [at for at in screened.changed if at in some]
            self._changed += [frames[at].index for at in changed]
            steps = [find_step(frames, at) for at in changed]
            self._steps += [step for step in steps if step is not None]
            if len(self._pending) >= (N_LEARNT if self._singles.shape is None else N_TOGETHER):
                self._fit()

    def _fit(self) -> None:
        """Fit the edges of the pending frames."""
        pending, self._pending = self._pending, []
        self._singles.add(self._apart_from_steps(pending))

    def _apart_from_steps(self, found: list[_Found]) -> list[_Found]:
        """Return what is of no frame in which light may have gone on or off for longer."""
        index = np.array([item.index for item in found], dtype=np.int64)
        changed = np.array(self._changed, dtype=np.int64)
        is_near = (np.abs(index[:, None] - changed) <= REACH).any(axis=1)
        return [item for item, is_out in zip(found, is_near, strict=True) if not is_out]

    def _dated(
        self, light: SingleBands | CrowdedLight, edges: list[BandEdge], steps: list[StepEdge]
    ) -> FlashEdges:
        stream, shape = self.stream, light.shape
        frame_s, epoch_ns, stamp_std_s = frame_times_s(stream)
        delay_s = stream.line_delay_s
        half_s, half_std_s = 0.0, ONSET_STD_S
        columns, senses = [_rows_of(steps)], [2 * int(step.is_on) - 1 for step in steps]
        if edges and shape is not None:
            shifts, shift_stds = dead_zone_shifts(edges)
            dated = date_rows(
                edges,
                np.array([edge.fit.row for edge in edges]) - shifts,
                np.hypot([edge.fit.row_std for edge in edges], shift_stds),
                shape=shape,
                exposure_px=self._exposure_px,
            )
            columns.append(replace(dated, band=dated.band + len(steps)))
            senses += [0] * dated.index.size
            half_std_px = light.half_std_px
            if half_std_px is None:
                half_std_px = UNPOOLED_SHARE * dated.half_px
            half_s, half_std_s = dated.half_px * (delay_s or 0.0), half_std_px * (delay_s or 0.0)
        is_half_known = delay_s is not None or not edges
        index, band, row, row_std, part = (
            np.concatenate([getattr(column, name) for column in columns])
            for name in ("index", "band", "row", "row_std", "part")
        )
        order = np.lexsort((row, index))
        return FlashEdges(
            source=stream.name,
            epoch_ns=epoch_ns,
            frame_index=index[order],
            frame_s=frame_s[index[order]],
            row_px=row[order] - 0.5 * (self._size[0] - 1),
            row_std_px=row_std[order],
            exposure_part=part[order],
            band=band[order],
            height_px=self._size[0],
            watched_s=watched_neighbours(self._indices[1:-1], frame_s),
            line_delay_s=delay_s,
            exposure_s=stream.exposure_s,
            half_light_s=half_s if is_half_known else None,
            half_light_std_s=half_std_s if is_half_known else None,
            stamp_part=STAMP_PARTS[stream.stamp_at],
            from_stamp_s=float(frame_s[0]),  # the first stamp is the epoch
            stamp_std_s=stamp_std_s,
            sense=np.array(senses, dtype=np.int64)[order] if steps else None,
            clipped_share=self._clipped_share,
        )

    @property
    def _clipped_share(self) -> float:
        return float(np.median(self._clipped)) if self._clipped else 0.0

    def _intervals(self) -> FlashIntervals | None:
        stream = self.stream
        times_s, epoch_ns, stamp_std_s = frame_times_s(stream)
        frame_s, delay_s = times_s[self._indices], stream.line_delay_s
        exposure_s = stream.exposure_s
        readout_s = None if delay_s is None else delay_s * self._size[0]
        cells = self._window.cells.finish()
        switched = find_switches(
            frame_s, cells if delay_s == 0.0 else cells[:0], exposure_s=exposure_s
        )
        pulses = lit_intervals(
            frame_s,
            cells,
            exposure_s=exposure_s,
            readout_s=readout_s,
            switched=switched.frame,
        )
        starts, stops, stds = (
            np.concatenate(pair)
            for pair in zip(
                pulses, (switched.start_s, switched.stop_s, switched.std_s), strict=True
            )
        )
        if not starts.size and self._clipped_share < CLIPPED_SHARE:
            return None
        order = np.argsort(starts, kind="stable")
        is_dated = not pulses[0].size
        return FlashIntervals(
            source=stream.name,
            quantity=Quantity.FLASH,
            epoch_ns=epoch_ns,
            start_s=starts[order],
            stop_s=stops[order],
            std_s=np.hypot(stds, stamp_std_s)[order],
            count=np.ones(starts.size, dtype=np.int64),
            is_onset=False,
            half_light_s=0.0 if is_dated else None,
            half_light_std_s=ONSET_STD_S if is_dated else None,
            sense=np.append(np.zeros(pulses[0].size, dtype=np.int64), switched.sense)[order],
            clipped_share=self._clipped_share,
            dead_s=dead_times(
                watched_neighbours(self._indices[1:-1], times_s),
                exposure_s=exposure_s,
                readout_s=readout_s,
            ),
        )


def _rows_of(steps: list[StepEdge]) -> DatedRows:
    """Return steps as rows that date themselves, each a band of its own."""
    return DatedRows(
        index=np.array([step.index for step in steps], dtype=np.int64),
        band=np.arange(len(steps)),
        row=np.array([step.row for step in steps], dtype=np.float64),
        row_std=np.array([step.row_std for step in steps], dtype=np.float64),
        part=np.zeros(len(steps)),
        half_px=0.0,
    )
