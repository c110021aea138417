"""The visible lanes with their mouse handling and tool tips.

A tool tip shows elided text in full, and describes items without text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pyqtgraph.Qt import QtCore, QtGui, QtWidgets

from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.events import EVENT_GLYPHS
from syncaudit_gui.viewmodel.lanes import (
    NO_AUDIO,
    CurveLane,
    EventsLane,
    FramesLane,
    Lane,
    MissingLane,
    TierLane,
)
from syncaudit_gui.viewmodel.wording import word_span, word_time
from syncaudit_gui.widgets.frames_paint import frame_rows
from syncaudit_gui.widgets.lane_axis import AXIS_PX, RIGHT_PX
from syncaudit_gui.widgets.lane_paint import LEGEND_PX, LanePainter, has_legend
from syncaudit_gui.widgets.theme import ALIGN_CENTER, ALIGN_LEFT, sized
from syncaudit_gui.widgets.time_scale import TimeScale

if TYPE_CHECKING:
    from syncaudit_gui.widgets.lane_view import LaneView


CURSOR_PX = 70  # width of the time above the cursor
VALUES_PX, VALUE_PX = 76, 12  # width of the values beside it, and height of each
ZOOM_STEP = 1.25

MOST_LABELS = 4
# Items within this distance of the mouse count as hovered.
NEAR_PX = 8.0
_NO_AUDIO = (
    "Its audio could not be read: times count from its start in the manifest, or else from the "
    "start of the clip."
)


class LaneOverlay(QtWidgets.QWidget):
    """A snapshot of the plots of a view, which it covers, with cursor, marks and loop."""

    scrubbed = QtCore.Signal(float, bool)
    """Time, and whether the mouse is still down."""
    range_changed = QtCore.Signal(object)
    source_selected = QtCore.Signal(str)
    nudge_dragged = QtCore.Signal(str, float, bool)
    """Source, seconds since the drag began, and whether it is over."""

    def __init__(self, scene: LaneView) -> None:
        super().__init__(scene)
        self._scene = scene
        self._snapshot: QtGui.QPixmap | None = None
        self.n_snapshots = 0
        self._cursor_px = -1.0
        self._rooms: list[tuple[Lane, QtCore.QRectF]] = []
        self._drag: tuple[str, QtCore.QPointF, float] | None = None
        self._drag_source = ""
        self.setAttribute(QtCore.Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMouseTracking(False)

    def invalidate(self) -> None:
        """Take a new snapshot at the next paint."""
        self._snapshot = None
        self.update()

    def move_cursor(self) -> None:
        """Redraw the cursor at its new position: two strips."""
        timeline = self._scene.timeline
        if timeline is None:
            return
        old, self._cursor_px = self._cursor_px, self._scene.scale().x_of(timeline.cursor_s)
        if len(timeline.marks_s) == 1:
            self.update()  # the length being measured changes as well
            return
        for x in (old, self._cursor_px):
            self.update(self._cursor_box(x).toAlignedRect().adjusted(-1, 0, 1, 1))
            self.update(int(x) - VALUES_PX - 4, 0, 2 * VALUES_PX + 8, self.height())

    def _cursor_box(self, x: float) -> QtCore.QRectF:
        """Return the box of the time above a cursor: inside the lanes, even at their ends."""
        left = min(max(round(x) + 0.5 - CURSOR_PX / 2, AXIS_PX), self.width() - CURSOR_PX)
        return QtCore.QRectF(left, 0, CURSOR_PX, 17)

    def paintEvent(self, event: QtGui.QPaintEvent) -> None:
        if self._snapshot is None:
            self._snapshot = self._taken()
        painter = QtGui.QPainter(self)
        ratio = self._snapshot.devicePixelRatio()
        dirty = event.rect()  # Qt clips to the strips within
        part = QtCore.QRectF(
            dirty.x() * ratio, dirty.y() * ratio, dirty.width() * ratio, dirty.height() * ratio
        )
        painter.drawPixmap(dirty.toRectF(), self._snapshot, part)
        self._paint_marks(painter)
        self._paint_cursor(painter)

    def _taken(self) -> QtGui.QPixmap:
        scene = self._scene
        self.n_snapshots += 1
        ratio = self.devicePixelRatioF()
        pixmap = QtGui.QPixmap(round(self.width() * ratio), round(self.height() * ratio))
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(scene.theme.color("panel"))
        painter = QtGui.QPainter(pixmap)
        painter.setFont(self.font())
        if scene.model is not None:
            rooms = scene.plots.rects()
            scale = scene.scale()
            paint = LanePainter(painter=painter, theme=scene.theme, model=scene.model, scale=scale)
            paint.grid(QtCore.QRectF(AXIS_PX, 0, self.width() - AXIS_PX - RIGHT_PX, self.height()))
            scene.plots.render(painter, scene.plots.rect().toRectF(), scene.plots.rect())
            self._rooms = rooms
            for lane, room in rooms:
                scene.spectrograms.paint(painter, lane, room, scene.model, scale, scene.theme)
                paint.paint(lane, room)
                y = round(room.bottom()) - 1
                painter.fillRect(0, y, self.width(), 1, scene.theme.color("raised"))
            self._cursor_px = scale.x_of(scene.model.timeline.cursor_s)
        painter.end()
        return pixmap

    def _paint_cursor(self, painter: QtGui.QPainter) -> None:
        scene, timeline = self._scene, self._scene.timeline
        if timeline is None:
            return
        x = scene.scale().x_of(timeline.cursor_s)
        if not AXIS_PX - 1 <= x <= self.width() - RIGHT_PX + 1:
            return
        color = scene.theme.color("accent")
        painter.setPen(QtGui.QPen(color, 1))
        at = round(x) + 0.5
        painter.drawLine(QtCore.QLineF(at, 0, at, self.height()))
        self._paint_values(painter, at, timeline.cursor_s)
        box = self._cursor_box(x)
        painter.setRenderHint(QtGui.QPainter.RenderHint.Antialiasing)
        painter.setPen(QtCore.Qt.PenStyle.NoPen)
        painter.setBrush(color)
        painter.drawRoundedRect(box, 3, 3)
        painter.setPen(scene.theme.color("surface"))
        painter.drawText(box, ALIGN_CENTER, word_time(timeline.cursor_s))
        painter.setRenderHint(QtGui.QPainter.RenderHint.Antialiasing, on=False)

    def _paint_values(self, painter: QtGui.QPainter, at_px: float, time_s: float) -> None:
        """Write the value of every curve beside the cursor, as far as its lane has room."""
        scene = self._scene
        painter.setFont(sized(self.font(), 10))
        metrics = painter.fontMetrics()
        for lane, room in self._rooms:
            values = scene.plots.values_at(lane, time_s)
            if not values:
                continue
            top = room.top() + 2.0 + (LEGEND_PX if has_legend(lane) else 0)
            values = values[: max(1, int((room.bottom() - top) / VALUE_PX))]
            width = max(metrics.horizontalAdvance(words) for _, words in values) + 8.0
            left = at_px + 3.0
            if left + width > self.width() - RIGHT_PX:
                left = at_px - 3.0 - width
            box = QtCore.QRectF(left, top, width, VALUE_PX * len(values))
            painter.fillRect(box, scene.theme.color("panel", 170))
            box.setHeight(VALUE_PX)
            for color, words in values:
                painter.setPen(scene.theme.color(color))
                painter.drawText(box.adjusted(4, 0, 0, 0), ALIGN_LEFT, words)
                box.translate(0, VALUE_PX)
        painter.setFont(self.font())

    def _paint_marks(self, painter: QtGui.QPainter) -> None:
        scene, timeline = self._scene, self._scene.timeline
        if timeline is None:
            return
        scale = scene.scale()
        painter.save()
        painter.setClipRect(QtCore.QRectF(AXIS_PX, 0, self.width() - AXIS_PX, self.height()))
        bottom = self.height()
        if timeline.loop is not None:
            left, right = scale.x_of(timeline.loop.start_s), scale.x_of(timeline.loop.stop_s)
            painter.fillRect(
                QtCore.QRectF(left, 0, right - left, bottom), scene.theme.color("passed", 34)
            )
            painter.fillRect(QtCore.QRectF(left, 0, right - left, 2), scene.theme.color("passed"))
        measured_s = timeline.measured_s
        if measured_s is not None:
            first = timeline.marks_s[0]
            places = [scale.x_of(first), scale.x_of(first + measured_s)]
            pen = QtGui.QPen(scene.theme.color("unverified"), 1, QtCore.Qt.PenStyle.DashLine)
            painter.setPen(pen)
            for x in places:
                painter.drawLine(QtCore.QLineF(round(x) + 0.5, 0, round(x) + 0.5, bottom))
            y = 30.5
            painter.drawLine(QtCore.QLineF(places[0], y, places[1], y))
            words = word_span(measured_s)
            width = painter.fontMetrics().horizontalAdvance(words) + 10
            left = 0.5 * (places[0] + places[1] - width)
            left = min(max(left, AXIS_PX), max(AXIS_PX, self.width() - width))
            box = QtCore.QRectF(left, y - 9, width, 18)
            painter.fillRect(box, scene.theme.color("raised"))
            painter.setPen(scene.theme.color("unverified"))
            painter.drawText(box, ALIGN_CENTER, words)
        painter.restore()

    def event(self, event: QtCore.QEvent) -> bool:
        """Show a tip about the hovered place."""
        scene = self._scene
        if isinstance(event, QtGui.QHelpEvent) and scene.model is not None:
            place = event.pos().toPointF()
            for lane, room in scene.plots.rects():
                if room.top() <= place.y() < room.bottom():
                    words = tip_at(lane, room, place, scene.model, scene.scale())
                    QtWidgets.QToolTip.showText(event.globalPos(), words, self)
            return True
        return super().event(event)

    def mousePressEvent(self, event: QtGui.QMouseEvent) -> None:
        scene, timeline = self._scene, self._scene.timeline
        if timeline is None:
            return
        place, keys = event.position(), event.modifiers()
        lane = scene.lane_at(place.y())
        if place.x() < AXIS_PX:
            if lane is not None and lane.source is not None:
                self.source_selected.emit(lane.source)
            return
        is_left = event.button() is QtCore.Qt.MouseButton.LeftButton
        if is_left and keys & QtCore.Qt.KeyboardModifier.AltModifier:
            source = scene.plots.selected if lane is None or lane.source is None else lane.source
            self._drag = ("nudge", place, 0.0)
            self._drag_source = source
            self.setCursor(QtCore.Qt.CursorShape.SizeHorCursor)
        elif is_left and not keys & QtCore.Qt.KeyboardModifier.ShiftModifier:
            self._drag = ("scrub", place, 0.0)
            self.scrubbed.emit(scene.scale().time_at(place.x()), True)
        else:
            self._drag = ("pan", place, timeline.visible.start_s)
            self.setCursor(QtCore.Qt.CursorShape.ClosedHandCursor)

    def mouseMoveEvent(self, event: QtGui.QMouseEvent) -> None:
        scene, timeline = self._scene, self._scene.timeline
        if self._drag is None or timeline is None:
            return
        what, began, start_s = self._drag
        moved_s = (event.position().x() - began.x()) / max(scene.scale().px_per_s, 1e-12)
        if what == "scrub":
            self.scrubbed.emit(scene.scale().time_at(event.position().x()), True)
        elif what == "nudge":
            self.nudge_dragged.emit(self._drag_source, moved_s, False)
        else:
            wanted = timeline.visible.moved(start_s - moved_s - timeline.visible.start_s)
            self.range_changed.emit(wanted)

    def mouseReleaseEvent(self, event: QtGui.QMouseEvent) -> None:
        if self._drag is None:
            return
        what, began, _ = self._drag
        self._drag = None
        self.unsetCursor()
        scene = self._scene
        moved_s = (event.position().x() - began.x()) / max(scene.scale().px_per_s, 1e-12)
        if what == "scrub":
            self.scrubbed.emit(scene.scale().time_at(event.position().x()), False)
        elif what == "nudge":
            self.nudge_dragged.emit(self._drag_source, moved_s, True)

    def wheelEvent(self, event: QtGui.QWheelEvent) -> None:
        scene, timeline = self._scene, self._scene.timeline
        if timeline is None:
            return
        turned = event.angleDelta()
        keys = event.modifiers()
        is_across = abs(turned.x()) > abs(turned.y())
        if keys & QtCore.Qt.KeyboardModifier.ControlModifier:
            event.ignore()  # scrolls the lanes
            return
        if is_across or keys & QtCore.Qt.KeyboardModifier.ShiftModifier:
            steps = (turned.x() if is_across else turned.y()) / 120.0
            wanted = timeline.visible.moved(-0.1 * steps * timeline.visible.span_s)
        else:
            at_s = scene.scale().time_at(event.position().x())
            wanted = timeline.visible.zoomed(ZOOM_STEP ** (-turned.y() / 120.0), at_s)
        self.range_changed.emit(wanted)
        event.accept()


def lane_words(lane: Lane) -> str:
    """Return title, source and unit of a lane in full."""
    source = "" if lane.source in (None, lane.title) else str(lane.source)
    return " · ".join(part for part in (lane.title, source, lane.unit) if part)


def tip_at(
    lane: Lane, room: QtCore.QRectF, place: QtCore.QPointF, model: ClipModel, scale: TimeScale
) -> str:
    """Return the tip at a position; empty if there is none."""
    if place.x() < AXIS_PX and isinstance(lane, EventsLane):
        return "\n".join(f"{glyph}  {kind}" for kind, (glyph, _) in EVENT_GLYPHS.items())
    if place.x() < AXIS_PX:
        curves = ", ".join(lane.names) if isinstance(lane, CurveLane) else ""
        audio = _NO_AUDIO if lane.unit == NO_AUDIO else ""
        return "\n".join(part for part in (lane_words(lane), curves, audio) if part)
    time_s = scale.time_at(place.x())
    if isinstance(lane, EventsLane):
        return _events(model, time_s, NEAR_PX / scale.px_per_s)
    if isinstance(lane, TierLane):
        return _labels(lane, model, time_s)
    if isinstance(lane, FramesLane):
        return _frames(lane, room, place.y(), model, time_s)
    return lane.why if isinstance(lane, MissingLane) else ""


def _events(model: ClipModel, time_s: float, near_s: float) -> str:
    lines = [
        f"{EVENT_GLYPHS[event.kind][0]}  {event.kind}  {word_time(at_s)}  {event.source}"
        for at_s, event in model.events
        if abs(at_s - time_s) <= near_s
    ]
    return "\n".join(lines[:MOST_LABELS])


def _labels(lane: TierLane, model: ClipModel, time_s: float) -> str:
    clock = model.map_of(lane.source)
    start_s, stop_s = clock.apply(lane.start_s), clock.apply(lane.stop_s)
    inside = np.flatnonzero((start_s <= time_s) & (time_s < stop_s))
    lines = [
        f"{lane.labels[k].strip() or '(empty)'}  "
        f"{word_time(float(start_s[k]))} – {word_time(float(stop_s[k]))}"
        for k in inside[:MOST_LABELS]
    ]
    return "\n".join(lines)


def _frames(
    lane: FramesLane, room: QtCore.QRectF, y_px: float, model: ClipModel, time_s: float
) -> str:
    rows = frame_rows(lane, room)
    camera = next((name for name, row in rows if row.top() <= y_px < row.bottom()), None)
    if camera is None:
        return ""
    clock = model.map_of(camera)
    lines = [
        f"{spell.sign}  {word_time(clock.at(spell.start_s))} – "
        f"{word_time(clock.at(spell.stop_s))}, {spell.frames}"
        for spell in model.spells.get(camera, ())
        if clock.at(spell.start_s) <= time_s < clock.at(spell.stop_s)
    ]
    return "\n".join((camera, *lines))
