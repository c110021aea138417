"""The curves of the timeline, plotted by pyqtgraph; this widget itself is never visible.

A snapshot of it is on screen (`lane_view`): moving the cursor then costs a blit of two strips
instead of redrawing all curves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyqtgraph as pg
from pyqtgraph.Qt import QtCore, QtGui, QtWidgets

from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.lanes import (
    CurveLane,
    EventsLane,
    FramesLane,
    Lane,
    SoundLane,
    TierLane,
    TurningLane,
)
from syncaudit_gui.viewmodel.pyramid import MinMaxPyramid, seen_ends
from syncaudit_gui.viewmodel.timeline import DrawnClock, TimeRange
from syncaudit_gui.viewmodel.wording import word_value
from syncaudit_gui.widgets.frames_paint import frames_height
from syncaudit_gui.widgets.lane_axis import AXIS_PX, LaneAxis, make_plot
from syncaudit_gui.widgets.lane_paint import LEGEND_PX, TIER_ROW_PX, curve_colors, has_legend
from syncaudit_gui.widgets.spectrogram import SHARE
from syncaudit_gui.widgets.theme import ANY_PX, DARK, Theme

CURVE_PX, SPEECH_PX, TIER_PX = 46, 140, 32
GHOST_ALPHA = 170
# A ghost is drawn if a clock is corrected by more than this.
GHOST_LEAST_S = 2e-4
# An axis is kept while the visible values fill this fraction of it.
LEAST_FILLED = 0.6
# Longer curve names are not repeated beside their values.
SHORT_NAME = 2


@dataclass(slots=True)
class _Row:
    lane: Lane
    plot: pg.PlotItem
    axis: LaneAxis
    height: tuple[int, bool] | None = None
    """Its minimum height, and whether it may grow."""
    curves: list[pg.PlotCurveItem] = field(default_factory=list)
    seen: tuple[float, float] | None = None
    """Values that the axis was fitted to."""
    reach: tuple[float, float] | None = None
    """Ends of the axis."""


class LanePlots(pg.GraphicsLayoutWidget):
    """One plot per lane, all over the same time."""

    def __init__(self, parent: QtWidgets.QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme: Theme = DARK
        self._rows: list[_Row] = []
        self._spare: list[tuple[pg.PlotItem, LaneAxis]] = []
        self._model: ClipModel | None = None
        self.selected = ""
        self.has_spectrograms = False
        self.n_refreshes = 0
        self.setBackground(None)  # the snapshot's background shows through
        self.ci.layout.setContentsMargins(0, 0, 0, 0)
        self.ci.layout.setSpacing(0)
        self.setFocusPolicy(QtCore.Qt.FocusPolicy.NoFocus)
        self.setAttribute(QtCore.Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFrameShape(QtWidgets.QFrame.Shape.NoFrame)

    @property
    def lanes(self) -> Sequence[Lane]:
        return [row.lane for row in self._rows]

    def least_height(self) -> int:
        """Return the height that all lanes need, in pixels."""
        return sum(self._height_of(row.lane)[0] for row in self._rows)

    def most_height(self) -> int:
        """Return the height that all lanes can use, in pixels: unlimited if one may grow."""
        heights = [self._height_of(row.lane) for row in self._rows]
        if any(may_grow for _, may_grow in heights):
            return ANY_PX
        return sum(least_px for least_px, _ in heights)

    def _height_of(self, lane: Lane) -> tuple[int, bool]:
        """Return the minimum height of a lane in pixels, and whether it may grow."""
        if isinstance(lane, EventsLane):
            return 24, False
        if isinstance(lane, FramesLane):
            return frames_height(lane), False
        if isinstance(lane, TierLane):
            return TIER_PX + TIER_ROW_PX * (lane.n_rows - 1), False
        if isinstance(lane, SoundLane) and self.has_spectrograms:
            return SPEECH_PX, True
        has_turning = self._model is not None and bool(self._model.turning)
        if isinstance(lane, CurveLane | SoundLane) or (
            isinstance(lane, TurningLane) and has_turning
        ):
            return CURVE_PX + (LEGEND_PX if has_legend(lane) else 0), True
        return 26, False

    def set_model(self, model: ClipModel | None) -> bool:
        """Show the lanes of a clip, reusing the plots of the previous one.

        Return whether the layout has changed.
        """
        self._model = model
        lanes = () if model is None else model.lanes
        heights = [self._height_of(lane) for lane in lanes]
        is_laid_out = heights == [row.height for row in self._rows]
        for number in range(len(lanes), len(self._rows)):
            self._put_away(number)
        del self._rows[len(lanes) :]
        for number, (lane, height) in enumerate(zip(lanes, heights, strict=True)):
            if number == len(self._rows):
                self._rows.append(self._added_row(number, lane))
            row = self._rows[number]
            row.lane, row.seen, row.reach = lane, None, None
            row.axis.set_lane(lane)
            if row.height != height:
                row.height = height
                self._set_height(number, *height)
        if not is_laid_out:
            self._fill()
        self.select(self.selected)
        return not is_laid_out

    def _added_row(self, number: int, lane: Lane) -> _Row:
        plot, axis = self._spare.pop() if self._spare else make_plot(lane, self._theme, self)
        self.addItem(plot, row=number, col=0)
        plot.show()
        return _Row(lane=lane, plot=plot, axis=axis)

    def _set_height(self, number: int, least_px: int, may_grow: bool) -> None:
        layout = self.ci.layout
        layout.setRowMinimumHeight(number, least_px)
        layout.setRowPreferredHeight(number, least_px)
        layout.setRowStretchFactor(number, 1 if may_grow else 0)
        layout.setRowMaximumHeight(number, ANY_PX if may_grow else least_px)

    def _fill(self) -> None:
        """Lay out the plots over the whole widget: adding them one by one shrinks the layout."""
        self.ci.resize(self.width(), self.height())
        self.ci.layout.activate()

    def _put_away(self, number: int) -> None:
        """Remove a plot but keep it for reuse: creating one takes 10 ms."""
        row = self._rows[number]
        for curve in row.curves:
            row.plot.removeItem(curve)
        self.removeItem(row.plot)
        row.plot.setParentItem(self.ci)  # destroyed with the scene, not after it
        row.plot.hide()
        self._set_height(number, 0, may_grow=False)
        self._spare.append((row.plot, row.axis))

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.select(self.selected)

    def select(self, source: str) -> None:
        self.selected = source
        for row in self._rows:
            row.axis.set_theme(self._theme, is_selected=row.lane.source == source)

    def _fit_height(self, row: _Row, drawn: Sequence[np.ndarray]) -> None:
        """Fit the vertical axis to the visible values; keep it while it fits, to avoid jumps."""
        ends = seen_ends(np.concatenate([x.ravel() for x in drawn])) if drawn else None
        if isinstance(row.lane, SoundLane):
            loudest = row.lane.pyramid.extremes() or (0.0, 0.0)
            reach = max(*map(abs, loudest), 1e-6)
            # Above a spectrogram the waveform has the rest of the lane.
            below = 2.0 * reach / (1.0 - SHARE) if self.has_spectrograms else 2.0 * reach
            ends = reach - below, reach
        elif isinstance(row.lane, TurningLane) and ends is not None:
            ends = 0.0, ends[1]
        row.axis.set_empty(ends is None)
        low, high = ends if ends is not None else (0.0, 1.0)
        if row.seen is not None and row.seen[0] <= low and high <= row.seen[1]:
            is_small = high - low < LEAST_FILLED * (row.seen[1] - row.seen[0])
            low, high = (low, high) if is_small else row.seen
        row.seen = low, high
        margin = 0.06 * (high - low) or 0.5 * abs(high) or 1.0
        above = margin
        if has_legend(row.lane):
            height = max(float(row.plot.vb.height()), CURVE_PX)
            above += (high - low + 2.0 * margin) * LEGEND_PX / (height - LEGEND_PX)
        if row.reach != (low - margin, high + above):
            row.reach = low - margin, high + above
            row.plot.setYRange(*row.reach, padding=0)

    def refresh(self, visible: TimeRange) -> None:
        """Update every curve to a part of the timeline and to the current clocks."""
        model = self._model
        if model is None:
            return
        self.n_refreshes += 1
        # Two points per pixel show both extremes.
        n_points = 2 * max(64, self.width() - AXIS_PX)
        for row in self._rows:
            row.plot.setXRange(visible.start_s, visible.stop_s, padding=0)
            self._draw(row, self._shown(row.lane), visible, n_points)

    def values_at(self, lane: Lane, time_s: float) -> list[tuple[str, str]]:
        """Return colour and value of every curve of a lane at a time."""
        found = []
        names = lane.names if isinstance(lane, CurveLane) and has_legend(lane) else ()
        for drawn in self._shown(lane):
            values = drawn.pyramid.value_at(drawn.clock.stamp_at(time_s))
            if values is not None and not drawn.is_ghost:
                name = names[drawn.channel] if names else ""
                prefix = f"{name} " if 0 < len(name) <= SHORT_NAME else ""
                found.append((drawn.color, prefix + word_value(float(values[drawn.channel]))))
        return found

    def _shown(self, lane: Lane) -> list[_Drawn]:
        """Return the curves of a lane: ghosts first, beneath the others."""
        model = self._model
        if model is None:
            return []
        if isinstance(lane, SoundLane):
            return self._with_ghost(lane.source or "", lane.pyramid, (self._theme.axes[1],))
        if isinstance(lane, CurveLane):
            colors = curve_colors(lane, self._theme)
            return self._with_ghost(lane.source or "", lane.pyramid, colors)
        if not isinstance(lane, TurningLane):
            return []
        drawn: list[_Drawn] = []
        # The sources that cameras are measured against, beneath the selected source.
        base = next((name for name in model.turning if name not in model.cameras), None)
        if base is not None and base != self.selected:
            drawn.append(_Drawn(model.turning[base], model.map_of(base), self._theme.dim))
        if self.selected in model.turning:
            own = model.turning[self.selected]
            drawn += self._with_ghost(self.selected, own, (self._theme.axes[0],))
        return drawn

    def _with_ghost(
        self, source: str, pyramid: MinMaxPyramid, colors: tuple[str, ...]
    ) -> list[_Drawn]:
        model = self._model
        now = DrawnClock() if model is None else model.map_of(source)
        drawn = [_Drawn(pyramid, now, color, k) for k, color in enumerate(colors)]
        ends_s = np.array(pyramid.ends_s or (0.0, 1e-9 * (now.clock.at_ns or 0)))
        if bool(np.max(np.abs(now.change_s(ends_s))) > GHOST_LEAST_S):
            ghosts = [_Drawn(pyramid, DrawnClock(), x.color, x.channel, True) for x in drawn]
            drawn = [*ghosts, *drawn]
        return drawn

    def _draw(self, row: _Row, shown: Sequence[_Drawn], visible: TimeRange, n_points: int) -> None:
        while len(row.curves) > len(shown):
            row.plot.removeItem(row.curves.pop())
        while len(row.curves) < len(shown):
            curve = pg.PlotCurveItem(antialias=False, connect="finite", skipFiniteCheck=True)
            row.plot.addItem(curve)
            row.curves.append(curve)
        traces: dict[tuple[int, bool], tuple[np.ndarray, np.ndarray]] = {}
        for curve, drawn in zip(row.curves, shown, strict=True):
            key = (id(drawn.pyramid), drawn.is_ghost)
            if key not in traces:
                stamps = drawn.clock.stamps_in(visible)
                trace = drawn.pyramid.trace(stamps.start_s, stamps.stop_s, n_points)
                traces[key] = (drawn.clock.apply(trace.times_s), trace.values)
            times_s, values = traces[key]
            has_gap = not bool(np.isfinite(values[:, drawn.channel]).all())
            pen = self._pen(drawn)
            curve.setData(
                times_s,
                values[:, drawn.channel],
                pen=pen,
                connect="finite" if has_gap else "all",
                skipFiniteCheck=not has_gap,
            )
        self._fit_height(row, [values for _, values in traces.values()])

    def _pen(self, drawn: _Drawn) -> QtGui.QPen:
        """Return a pen of one point on any screen: a cosmetic one counts pixels."""
        ratio = max(1, round(self.devicePixelRatioF()))
        alpha = GHOST_ALPHA if drawn.is_ghost else 255
        pen = QtGui.QPen(self._theme.color(drawn.color, alpha))
        pen.setCosmetic(True)
        if drawn.is_ghost:
            # Longer dots, not wider ones: wide dotted lines take Qt five times as long.
            pen.setDashPattern([ratio, max(2, ratio)])
        else:
            pen.setWidth(ratio)
        return pen

    def rects(self) -> list[tuple[Lane, QtCore.QRectF]]:
        """Return each lane and the rectangle of its plot, in the coordinates of this widget."""
        return [
            (row.lane, self.mapFromScene(row.plot.vb.sceneBoundingRect()).boundingRect().toRectF())
            for row in self._rows
        ]


@dataclass(frozen=True, slots=True)
class _Drawn:
    pyramid: MinMaxPyramid
    clock: DrawnClock
    color: str
    channel: int = 0
    is_ghost: bool = False
