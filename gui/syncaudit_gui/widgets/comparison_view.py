"""An offset at a glance: two curves apart, and aligned after the correction."""

from __future__ import annotations

import numpy as np
from pyqtgraph.Qt import QtCore, QtGui

from syncaudit.formatting import word_correction, word_duration
from syncaudit.model.arrays import Floats
from syncaudit.model.comparison import Comparison
from syncaudit_gui.viewmodel.timeline import TimeRange
from syncaudit_gui.viewmodel.wording import word_time
from syncaudit_gui.widgets.theme import ALIGN_CENTER, ALIGN_LEFT, ThemedWidget, sized
from syncaudit_gui.widgets.time_scale import TimeScale

# At least three lanes, and a fifth of the height of cameras and lanes together.
LEAST_PX, SHARE = 140, 0.2
HEAD_PX, FOOT_PX, SIDE_PX = 22, 18, 10
# Long enough to be followed by eye.
SLIDE_MS = 450
# A narrower arrow has its head next to it.
HEAD_OF_ARROW_PX = 6.0
LINE_PX = 2.0


def comparison_height(room_px: int) -> int:
    """Return the height of a comparison that shares `room_px` with cameras and lanes."""
    return max(LEAST_PX, round(SHARE * room_px))


class ComparisonView(ThemedWidget):
    """A source's curve over its target's in the most informative second, raw or corrected."""

    time_wanted = QtCore.Signal(float)
    """A click: the time in the clip."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: Comparison | None = None
        """The comparison on screen."""
        self.place = 0.0
        """How far the source has moved from its raw (0) to its corrected timestamps (1)."""
        self._std_s: float | None = None
        self._is_corrected = False
        self._slide = QtCore.QVariantAnimation(self)
        self._slide.setDuration(SLIDE_MS)
        self._slide.setEasingCurve(QtCore.QEasingCurve.Type.InOutCubic)
        self._slide.valueChanged.connect(self.put)
        self.setFixedHeight(LEAST_PX)
        self.setCursor(QtCore.Qt.CursorShape.PointingHandCursor)
        self.hide()

    def show_comparison(
        self, found: Comparison | None, std_s: float | None = None, *, is_corrected: bool
    ) -> None:
        """Show a comparison; the source slides if only its clock has changed.

        None shows nothing; `std_s` is the standard error of the source's offset.
        """
        before = self.shown
        is_same = before is not None and found is not None and before.source == found.source
        self.shown, self._std_s = found, std_s
        self.setVisible(found is not None)
        if found is None:
            return
        wanted = 1.0 if is_corrected or not found.is_seen_raw else 0.0
        if is_same and self.isVisible() and is_corrected is not self._is_corrected:
            self._slide.stop()
            self._slide.setStartValue(self.place)
            self._slide.setEndValue(wanted)
            self._slide.start()
        elif self._slide.state() is not QtCore.QAbstractAnimation.State.Running:
            self.place = wanted
        self._is_corrected = is_corrected
        words = self.words()
        self.setAccessibleName(words)
        self.setToolTip(f"{words}.\nClick: go there. C: raw, corrected.")
        self.update()

    def words(self) -> str:
        """Return a sentence that describes the image."""
        found = self.shown
        if found is None:
            return ""
        offset = word_correction(found.offset_s, self._std_s)
        return f"{found.source} against {found.target} ({found.quantity}): {offset}"

    def end_slide(self) -> None:
        """Move the source to the end of its slide immediately."""
        if self._slide.state() is QtCore.QAbstractAnimation.State.Running:
            self._slide.setCurrentTime(SLIDE_MS)

    def put(self, place: float) -> None:
        """Draw the source between its raw (0) and its corrected timestamps (1)."""
        self.place = float(place)
        self.update()

    def mousePressEvent(self, event: QtGui.QMouseEvent) -> None:
        if self.shown is not None:
            self.time_wanted.emit(self.shown.peak_s)

    def paintEvent(self, event: QtGui.QPaintEvent) -> None:
        found, theme = self.shown, self._theme
        painter = QtGui.QPainter(self)
        painter.fillRect(self.rect(), theme.color("panel"))
        if found is None:
            return
        painter.setRenderHint(QtGui.QPainter.RenderHint.Antialiasing)
        room = self.rect().toRectF().adjusted(SIDE_PX, HEAD_PX, -SIDE_PX, -FOOT_PX)
        visible = TimeRange(start_s=found.visible_s[0], stop_s=found.visible_s[1])
        scale = TimeScale(visible=visible, left_px=room.left(), right_px=room.right())
        self._paint_head(painter, found)
        self._paint_scale(painter, scale, room)
        painter.save()
        painter.setClipRect(room)
        moved_s = self.place * found.offset_s
        colors = theme.color(theme.axes[1]), theme.color(theme.axes[0])
        if found.is_seen_raw and self.place > 0.0:
            ghost = theme.color(theme.axes[0], 110)
            self._paint_side(painter, scale, room, 0, found.source_s, ghost, is_ghost=True)
        self._paint_side(painter, scale, room, 1, found.target_s, colors[0])
        self._paint_side(painter, scale, room, 0, found.source_s + moved_s, colors[1])
        painter.restore()
        if found.is_seen_raw:
            self._paint_arrow(painter, scale, room, found)

    def _paint_head(self, painter: QtGui.QPainter, found: Comparison) -> None:
        theme, left = self._theme, float(SIDE_PX)
        metrics = painter.fontMetrics()
        for name, axis in ((found.source, 0), (found.target, 1)):
            painter.setPen(QtGui.QPen(theme.color(theme.axes[axis]), LINE_PX + 1.0))
            middle = 0.5 * HEAD_PX + 1.0
            painter.drawLine(QtCore.QLineF(left, middle, left + 16, middle))
            painter.setPen(theme.color("text"))
            painter.drawText(QtCore.QRectF(left + 22, 2, self.width(), HEAD_PX), ALIGN_LEFT, name)
            left += 22 + metrics.horizontalAdvance(name) + 16
        state = "corrected" if self.place >= 0.5 else "as timestamped"
        if not found.is_seen_raw:
            state = f"corrected; the raw one is {word_duration(abs(found.offset_s))} away"
        painter.setPen(theme.color("dim"))
        room = QtCore.QRectF(left, 2, self.width() - left - SIDE_PX, HEAD_PX)
        elided = metrics.elidedText(
            f"{found.quantity}, {state} (C)", QtCore.Qt.TextElideMode.ElideRight, int(room.width())
        )
        painter.drawText(room, ALIGN_LEFT, elided)

    def _paint_scale(self, painter: QtGui.QPainter, scale: TimeScale, room: QtCore.QRectF) -> None:
        theme = self._theme
        ticks, digits = scale.ticks()
        for time_s in ticks:
            x = round(scale.x_of(time_s)) + 0.5
            painter.fillRect(QtCore.QRectF(x, room.top(), 1, room.height()), theme.color("raised"))
            painter.setPen(theme.color("dim"))
            box = QtCore.QRectF(x - 50, room.bottom(), 100, FOOT_PX)
            painter.drawText(box, ALIGN_CENTER, word_time(time_s, digits=digits))

    def _paint_side(
        self,
        painter: QtGui.QPainter,
        scale: TimeScale,
        room: QtCore.QRectF,
        side: int,
        times_s: Floats,
        color: QtGui.QColor,
        *,
        is_ghost: bool = False,
    ) -> None:
        found = self.shown
        if found is None:
            return
        pen = QtGui.QPen(color, LINE_PX)
        pen.setJoinStyle(QtCore.Qt.PenJoinStyle.RoundJoin)
        if is_ghost:
            pen.setStyle(QtCore.Qt.PenStyle.DotLine)
        painter.setPen(pen)
        xs = [scale.x_of(time_s) for time_s in times_s.tolist()]
        ys = self._heights(side, room)
        if ys is None:  # events: one stroke each, those of the source from above
            middle, reach = room.center().y(), 0.32 * room.height()
            far = middle + (reach if side else -reach)
            for x in xs:
                painter.drawLine(QtCore.QLineF(x, middle, x, far))
                painter.setBrush(color)
                painter.drawEllipse(QtCore.QPointF(x, far), 3.5, 3.5)
            return
        painter.drawPolyline(
            QtGui.QPolygonF([QtCore.QPointF(x, y) for x, y in zip(xs, ys.tolist(), strict=True)])
        )

    def _heights(self, side: int, room: QtCore.QRectF) -> Floats | None:
        """Return the heights of the samples of a side, on a scale common to both."""
        found = self.shown
        if found is None or found.values is None:
            return None
        low, high = found.extremes()
        # Leave room for the arrow above the curves.
        top, height = room.top() + 26.0, room.height() - 32.0
        heights: Floats = top + height * (high - found.values[side]) / (high - low)
        return heights

    def _height_at(self, side: int, time_s: float, room: QtCore.QRectF) -> float:
        """Return the height of a side's curve at a time; the bottom of the room for events."""
        found, heights = self.shown, self._heights(side, room)
        if found is None or heights is None:
            return room.bottom()
        times_s = found.target_s if side else found.source_s
        return float(np.interp(time_s, times_s, heights))

    def _paint_arrow(
        self, painter: QtGui.QPainter, scale: TimeScale, room: QtCore.QRectF, found: Comparison
    ) -> None:
        """Paint an arrow from the raw to the corrected timestamp, as long as the offset."""
        theme = self._theme
        begin, end = scale.x_of(found.peak_s - found.offset_s), scale.x_of(found.peak_s)
        y = room.top() + 12.0
        color = theme.color("accent")
        drop = QtGui.QPen(theme.color("accent", 90), 1, QtCore.Qt.PenStyle.DashLine)
        for end_of, x in enumerate((begin, end)):
            at_s = found.peak_s - (0.0 if end_of else found.offset_s)
            foot = self._height_at(end_of, at_s, room)
            painter.setPen(drop)
            painter.drawLine(QtCore.QLineF(x, y - 6, x, foot))
            if found.values is not None:
                painter.setPen(QtCore.Qt.PenStyle.NoPen)
                painter.setBrush(theme.color(theme.axes[end_of]))
                painter.drawEllipse(QtCore.QPointF(x, foot), 3.5, 3.5)
        length = end - begin
        side = 1.0 if length >= 0.0 else -1.0
        # The shaft of a short arrow comes from outside.
        is_short = abs(length) <= 2.0 * HEAD_OF_ARROW_PX
        tail = end - side * 3.0 * HEAD_OF_ARROW_PX if is_short else begin
        painter.setPen(QtGui.QPen(color, LINE_PX))
        head = HEAD_OF_ARROW_PX
        if abs(length) > 1.0:
            painter.drawLine(QtCore.QLineF(tail, y, end, y))
            painter.setBrush(color)
            painter.setPen(QtCore.Qt.PenStyle.NoPen)
            painter.drawPolygon(
                QtGui.QPolygonF(
                    [
                        QtCore.QPointF(end, y),
                        QtCore.QPointF(end - side * head, y - 0.6 * head),
                        QtCore.QPointF(end - side * head, y + 0.6 * head),
                    ]
                )
            )
        font = sized(painter.font(), 15)
        font.setBold(True)
        painter.setFont(font)
        painter.setPen(color)
        words = word_correction(found.offset_s, self._std_s)
        width = painter.fontMetrics().horizontalAdvance(words) + 4.0
        left = max(begin, end, tail) + 10.0
        if left + width > room.right():
            left = max(min(begin, end, tail) - 10.0 - width, room.left())
        painter.drawText(QtCore.QRectF(left, y - 10, width, 20), ALIGN_LEFT, words)
