"""A fixed bar beneath the lanes: times, and the visible part of the clip."""

from __future__ import annotations

from pyqtgraph.Qt import QtCore, QtGui

from syncaudit_gui.viewmodel.events import EVENT_GLYPHS
from syncaudit_gui.viewmodel.timeline import TimeRange
from syncaudit_gui.viewmodel.wording import word_time
from syncaudit_gui.widgets.lane_axis import AXIS_PX, RIGHT_PX
from syncaudit_gui.widgets.lane_view import LaneView
from syncaudit_gui.widgets.theme import ThemedWidget
from syncaudit_gui.widgets.time_scale import TimeScale

TIMES_PX, OVERVIEW_PX = 20, 10
LABEL_PX = 90
# The visible part can be grabbed however short it is.
LEAST_THUMB_PX = 8.0


class Ruler(ThemedWidget):
    """Round times under the grid lines of the lanes, above a bar of the whole clip.

    Dragging along the bar moves the visible part.
    """

    range_changed = QtCore.Signal(object)

    def __init__(self, lanes: LaneView) -> None:
        super().__init__()
        self._lanes = lanes
        self._held_s: float | None = None
        self.setFixedHeight(TIMES_PX + OVERVIEW_PX)
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
            left = min(x - LABEL_PX / 2, self.width() - LABEL_PX)
            box = QtCore.QRectF(left, 0, LABEL_PX, TIMES_PX)
            is_last = left < x - LABEL_PX / 2
            flags = QtCore.Qt.AlignmentFlag
            across = flags.AlignRight if is_last else flags.AlignHCenter
            words = word_time(time_s, digits=digits)
            painter.drawText(box, int(across | flags.AlignVCenter), words)
        self._paint_overview(painter, self._lanes.timeline.visible)

    def _whole(self) -> TimeScale:
        """Return the time scale of the whole clip."""
        timeline = self._lanes.timeline
        limits = self._lanes.scale().visible if timeline is None else timeline.limits
        right_px = float(self.width() - RIGHT_PX)
        return TimeScale(visible=limits, left_px=float(AXIS_PX), right_px=right_px)

    def _paint_overview(self, painter: QtGui.QPainter, visible: TimeRange) -> None:
        theme, whole, model = self._theme, self._whole(), self._lanes.model
        bar = QtCore.QRectF(
            whole.left_px, TIMES_PX, whole.right_px - whole.left_px, OVERVIEW_PX - 3
        )
        painter.fillRect(bar, theme.color("surface"))
        left, right = whole.x_of(visible.start_s), whole.x_of(visible.stop_s)
        thumb = QtCore.QRectF(left, bar.top(), max(right - left, LEAST_THUMB_PX), bar.height())
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
