"""The frames lane: a row for each camera, with ticks, bars, gaps and frame faults."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pyqtgraph.Qt import QtCore, QtGui

from syncaudit.model.arrays import Floats
from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.frames import FAULT_SIGNS, FrameTable, Spell
from syncaudit_gui.viewmodel.lanes import FramesLane
from syncaudit_gui.widgets.theme import ALIGN_CENTER, Theme, sized
from syncaudit_gui.widgets.time_scale import TimeScale

MARGIN_PX = 5
ROW_PX = 9
# Height of a row with text for frame faults.
WORDS_PX = 16
# Closer ticks would merge, so a bar is drawn.
TICK_PX = 4.0
# Frames closer than this fraction of the usual period are doubled: marked above the row.
DOUBLED_SHARE = 0.25
# Narrower spells would not be visible.
LEAST_PX = 3.0


def frames_height(lane: FramesLane) -> int:
    """Return the height of the lane in pixels."""
    return 2 * MARGIN_PX + sum(_row_px(lane, camera) for camera in lane.cameras)


def frame_rows(lane: FramesLane, room: QtCore.QRectF) -> list[tuple[str, QtCore.QRectF]]:
    """Return every camera and the room of its row, from top to bottom."""
    rows, top = [], room.top() + MARGIN_PX
    for camera in lane.cameras:
        height = _row_px(lane, camera)
        rows.append((camera, QtCore.QRectF(room.left(), top, room.width(), height)))
        top += height
    return rows


def _row_px(lane: FramesLane, camera: str) -> int:
    return WORDS_PX if camera in lane.faulty else ROW_PX


@dataclass(frozen=True, slots=True, kw_only=True)
class FramesPainter:
    """Paints the frames lane into a snapshot."""

    painter: QtGui.QPainter
    theme: Theme
    model: ClipModel
    scale: TimeScale

    def frames(self, lane: FramesLane, room: QtCore.QRectF) -> None:
        for k, (camera, row) in enumerate(frame_rows(lane, room)):
            table = self.model.frames_of(camera)
            if table is None or not len(table):
                continue
            box, part_s = row.adjusted(0, 1, 0, -2), self._visible(table)
            if part_s.size:
                color = self.theme.color(self.theme.axes[k % 3], 200)
                self._stamps(part_s, table.period_s, box, color)
            self._doubled(part_s, table.period_s, box)
            if camera in self.model.spells:
                self._spells(camera, box)

    def _visible(self, table: FrameTable) -> Floats:
        """Return the times on screen, and the next ones outside."""
        times_s, visible = table.times_s, self.scale.visible
        first = max(0, int(np.searchsorted(times_s, visible.start_s)) - 1)
        return times_s[first : int(np.searchsorted(times_s, visible.stop_s)) + 1]

    def _stamps(
        self, part_s: Floats, period_s: float, box: QtCore.QRectF, color: QtGui.QColor
    ) -> None:
        x = self.scale.left_px + (part_s - self.scale.visible.start_s) * self.scale.px_per_s
        if period_s * self.scale.px_per_s >= TICK_PX:
            self.painter.setPen(QtGui.QPen(color, 1))
            top, bottom = box.top(), box.bottom()
            self.painter.drawLines([QtCore.QLineF(a, top, a, bottom) for a in np.round(x) + 0.5])
            return
        # A bar with a gap wherever a frame is missing.
        breaks = np.flatnonzero(np.diff(part_s) > 1.5 * period_s)
        starts = np.concatenate([[0], breaks + 1])
        ends = np.concatenate([breaks, [part_s.size - 1]])
        for a, b in zip(starts, ends, strict=True):
            bar = QtCore.QRectF(x[a], box.top(), max(1.0, x[b] - x[a]), box.height())
            self.painter.fillRect(bar, color)

    def _doubled(self, part_s: Floats, period_s: float, box: QtCore.QRectF) -> None:
        """Paint a notch over frames with (nearly) the same timestamp as the previous one."""
        color, last = self.theme.color("rejected"), -np.inf
        for time_s in part_s[1:][np.diff(part_s) < DOUBLED_SHARE * period_s]:
            x = self.scale.x_of(float(time_s))
            if x - last >= LEAST_PX:
                last = x
                self.painter.fillRect(QtCore.QRectF(round(x) - 1, box.top() - 1, 4, 3), color)

    def _spells(self, camera: str, box: QtCore.QRectF) -> None:
        clock, painter, scale = self.model.map_of(camera), self.painter, self.scale
        painter.setFont(sized(painter.font(), 11))
        placed = [
            (spell, scale.x_of(clock.at(spell.start_s)), scale.x_of(clock.at(spell.stop_s)))
            for spell in self.model.spells[camera]
        ]
        shown = [x for x in placed if x[2] >= box.left() and x[1] <= box.right()]
        color = self.theme.color("rejected")
        for _, left, right in shown:
            left, right = max(left, box.left() - 2), min(right, box.right() + 2)
            bar = QtCore.QRectF(left, box.top(), max(LEAST_PX, right - left), box.height())
            painter.fillRect(bar, self.theme.color("panel"))
            painter.fillRect(bar, QtGui.QBrush(color, QtCore.Qt.BrushStyle.BDiagPattern))
            painter.setPen(QtGui.QPen(color, 1))
            painter.drawRect(bar)
        free = box.left()
        for k, (spell, left, _) in enumerate(shown):
            begin = max(left, free) + 2
            end = max(shown[k + 1][1], begin + 1) if k + 1 < len(shown) else box.right()
            free = begin + self._fault(spell, begin, end, box)

    def _fault(self, spell: Spell, begin: float, end: float, box: QtCore.QRectF) -> float:
        """Write the fault, or only its glyph if there is no room; return the width used."""
        metrics, words = self.painter.fontMetrics(), spell.sign
        if begin + metrics.horizontalAdvance(words) + 4 > end:
            words = FAULT_SIGNS[spell.fault][0]
        width = float(metrics.horizontalAdvance(words) + 4)
        if begin >= end:  # spells of a pixel each: only the hatching is visible
            return 0.0
        where = QtCore.QRectF(begin, box.top() + 1, width, box.height() - 1)
        self.painter.fillRect(where, self.theme.color("panel"))
        self.painter.setPen(self.theme.color("rejected"))
        self.painter.drawText(where, ALIGN_CENTER, words)
        return width
