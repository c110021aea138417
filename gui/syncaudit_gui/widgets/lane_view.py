"""The timeline: hidden plots, the overlay that the user sees and operates, and the ruler below."""

from __future__ import annotations

from pyqtgraph.Qt import QtCore, QtGui

from syncaudit.model import TranscriptStream
from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.events import EVENT_GLYPHS
from syncaudit_gui.viewmodel.lanes import Lane
from syncaudit_gui.viewmodel.timeline import Timeline, TimeRange
from syncaudit_gui.viewmodel.wording import word_time
from syncaudit_gui.widgets.lane_axis import AXIS_PX, RIGHT_PX
from syncaudit_gui.widgets.lane_overlay import LaneOverlay
from syncaudit_gui.widgets.lane_plots import LanePlots
from syncaudit_gui.widgets.spectrogram import SpectrogramCache
from syncaudit_gui.widgets.theme import Theme, ThemedWidget
from syncaudit_gui.widgets.time_scale import TimeScale


class LaneView(ThemedWidget):
    """Lanes, ruler, cursor, marks and loop.

    The plots lie beneath and are never visible: this widget is opaque and shows a snapshot of them.
    """

    rebuilt = QtCore.Signal(int)
    """The lanes have changed, and can use this height."""
    refreshed = QtCore.Signal()
    """The lanes were redrawn, perhaps over a different time."""

    def __init__(self) -> None:
        super().__init__()
        self.plots = LanePlots(self)
        self.overlay = LaneOverlay(self)
        self.overlay.raise_()
        self.model: ClipModel | None = None
        self.spectrograms = SpectrogramCache(self.overlay.invalidate, self)
        self._settle = QtCore.QTimer(self, singleShot=True, timeout=self.refresh)
        self.setAccessibleName("timeline")

    @property
    def timeline(self) -> Timeline | None:
        return None if self.model is None else self.model.timeline

    def set_model(self, model: ClipModel | None) -> None:
        self.model = model
        self.spectrograms.clear()
        streams = () if model is None else model.streams.values()
        # The usual view of speech: waveform, spectrogram and tiers together.
        self.spectrograms.is_wanted = any(isinstance(x, TranscriptStream) for x in streams)
        self.rebuild()

    def rebuild(self) -> None:
        """Rebuild the lanes, after the clip got or lost some."""
        self.plots.has_spectrograms = self.spectrograms.is_wanted
        is_laid_out_anew = self.plots.set_model(self.model)
        self.setMinimumHeight(max(60, self.plots.least_height()))
        self.rebuilt.emit(max(60, self.plots.most_height()))
        self.refresh()
        if is_laid_out_anew:
            self._settle.start(0)  # the layout of the plots is settled by then

    @property
    def theme(self) -> Theme:
        return self._theme

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.plots.set_theme(theme)
        self.refresh()

    def select(self, source: str) -> None:
        self.plots.select(source)
        self.refresh()

    def refresh(self) -> None:
        """Redraw the curves after a change of range, clocks or data."""
        if self.timeline is not None:
            self.plots.refresh(self.timeline.visible)
        self.overlay.invalidate()
        self.refreshed.emit()

    def toggle_spectrograms(self) -> None:
        self.spectrograms.is_wanted = not self.spectrograms.is_wanted
        self.rebuild()

    def scale(self) -> TimeScale:
        timeline = self.timeline
        visible = TimeRange(start_s=0.0, stop_s=1.0) if timeline is None else timeline.visible
        return TimeScale(
            visible=visible, left_px=float(AXIS_PX), right_px=float(self.width() - RIGHT_PX)
        )

    def lane_at(self, y_px: float) -> Lane | None:
        for lane, room in self.plots.rects():
            if room.top() <= y_px < room.bottom():
                return lane
        return None

    def resizeEvent(self, event: QtGui.QResizeEvent) -> None:
        self.plots.setGeometry(self.rect())
        self.overlay.setGeometry(self.rect())
        self.refresh()
        self._settle.start(0)


_TIMES_PX, _OVERVIEW_PX = 20, 10
_LABEL_PX = 90
# The visible part can be grabbed however short it is.
_LEAST_THUMB_PX = 8.0


class Ruler(ThemedWidget):
    """Round times under the grid lines of the lanes, above a bar of the whole clip.

    Dragging along the bar moves the visible part.
    """

    range_changed = QtCore.Signal(object)

    def __init__(self, lanes: LaneView) -> None:
        super().__init__()
        self._lanes = lanes
        self._held_s: float | None = None
        self.setFixedHeight(_TIMES_PX + _OVERVIEW_PX)
        self.setToolTip("the whole clip, its events and the visible part: drag it")
        lanes.refreshed.connect(self.update)

    def paintEvent(self, event: QtGui.QPaintEvent) -> None:
        painter = QtGui.QPainter(self)
        painter.fillRect(self.rect(), self._theme.color("panel"))
        if self._lanes.timeline is None:
            return
        scale = self._lanes.scale()
        painter.setPen(self._theme.color("dim"))
        times_s, digits = scale.ticks()
        for time_s in times_s:
            x = scale.x_of(time_s)
            left = min(x - _LABEL_PX / 2, self.width() - _LABEL_PX)
            box = QtCore.QRectF(left, 0, _LABEL_PX, _TIMES_PX)
            is_last = left < x - _LABEL_PX / 2
            flags = QtCore.Qt.AlignmentFlag
            across = flags.AlignRight if is_last else flags.AlignHCenter
            words = word_time(time_s, digits=digits)
            painter.drawText(box, int(across | flags.AlignVCenter), words)
        self._paint_overview(painter, self._lanes.timeline.visible)

    def _whole(self) -> TimeScale:
        timeline = self._lanes.timeline
        limits = self._lanes.scale().visible if timeline is None else timeline.limits
        right_px = float(self.width() - RIGHT_PX)
        return TimeScale(visible=limits, left_px=float(AXIS_PX), right_px=right_px)

    def _paint_overview(self, painter: QtGui.QPainter, visible: TimeRange) -> None:
        theme, whole, model = self._theme, self._whole(), self._lanes.model
        bar = QtCore.QRectF(
            whole.left_px, _TIMES_PX, whole.right_px - whole.left_px, _OVERVIEW_PX - 3
        )
        painter.fillRect(bar, theme.color("surface"))
        left, right = whole.x_of(visible.start_s), whole.x_of(visible.stop_s)
        thumb = QtCore.QRectF(left, bar.top(), max(right - left, _LEAST_THUMB_PX), bar.height())
        painter.fillRect(thumb, theme.color("line"))
        for kind, (_, color) in EVENT_GLYPHS.items():
            times_s = () if model is None else model.events.of(kind)
            for time_s in times_s:
                x = round(whole.x_of(float(time_s)))
                tick = QtCore.QRectF(x, bar.top() + 1, 1, bar.height() - 2)
                painter.fillRect(tick, theme.color(theme.axes[color]))

    def mousePressEvent(self, event: QtGui.QMouseEvent) -> None:
        timeline = self._lanes.timeline
        if timeline is None:
            return
        at_s, visible = self._whole().time_at(event.position().x()), timeline.visible
        self._held_s = at_s - visible.start_s if at_s in visible else 0.5 * visible.span_s
        self.mouseMoveEvent(event)

    def mouseMoveEvent(self, event: QtGui.QMouseEvent) -> None:
        timeline = self._lanes.timeline
        if timeline is None or self._held_s is None:
            return
        start_s = self._whole().time_at(event.position().x()) - self._held_s
        self.range_changed.emit(timeline.visible.moved(start_s - timeline.visible.start_s))

    def mouseReleaseEvent(self, event: QtGui.QMouseEvent) -> None:
        self._held_s = None
