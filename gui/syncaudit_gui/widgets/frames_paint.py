"""The frames lane: a row for each camera, with ticks, bars, gaps and frame faults."""

from __future__ import annotations

import numpy as np
from pyqtgraph.Qt import QtCore, QtGui

from syncaudit.model.arrays import Floats
from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.frames import FrameTable
from syncaudit_gui.viewmodel.lanes import FramesLane
from syncaudit_gui.viewmodel.spells import FAULT_SIGNS, Spell
from syncaudit_gui.widgets.theme import ALIGN_CENTER, Theme, sized
from syncaudit_gui.widgets.time_scale import TimeScale

__all__ = ["frame_rows", "frames_height", "paint_frames"]

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


def paint_frames(
    painter: QtGui.QPainter,
    lane: FramesLane,
    room: QtCore.QRectF,
    model: ClipModel,
    scale: TimeScale,
    theme: Theme,
) -> None:
    """Paint the lane into its room."""
    for k, (camera, row) in enumerate(frame_rows(lane, room)):
        table = model.frames_of(camera)
        if table is None or not len(table):
            continue
        box = row.adjusted(0, 1, 0, -2)
        _paint_stamps(painter, table, box, scale, theme.color(theme.axes[k % 3], 200))
        _paint_doubled(painter, table, box, scale, theme)
        if camera in model.spells:
            _paint_spells(painter, model, camera, box, scale, theme)


def _part(table: FrameTable, scale: TimeScale) -> Floats:
    times_s, visible = table.times_s, scale.visible
    first = max(0, int(np.searchsorted(times_s, visible.start_s)) - 1)
    return times_s[first : int(np.searchsorted(times_s, visible.stop_s)) + 1]


def _paint_stamps(
    painter: QtGui.QPainter,
    table: FrameTable,
    box: QtCore.QRectF,
    scale: TimeScale,
    color: QtGui.QColor,
) -> None:
    part = _part(table, scale)
    if not part.size:
        return
    x = scale.left_px + (part - scale.visible.start_s) * scale.px_per_s
    if table.period_s * scale.px_per_s >= TICK_PX:
        painter.setPen(QtGui.QPen(color, 1))
        painter.drawLines([QtCore.QLineF(a, box.top(), a, box.bottom()) for a in np.round(x) + 0.5])
        return
    # A bar with a gap wherever a frame is missing.
    breaks = np.flatnonzero(np.diff(part) > 1.5 * table.period_s)
    starts = np.concatenate([[0], breaks + 1])
    ends = np.concatenate([breaks, [part.size - 1]])
    for a, b in zip(starts, ends, strict=True):
        bar = QtCore.QRectF(x[a], box.top(), max(1.0, x[b] - x[a]), box.height())
        painter.fillRect(bar, color)


def _paint_doubled(
    painter: QtGui.QPainter, table: FrameTable, box: QtCore.QRectF, scale: TimeScale, theme: Theme
) -> None:
    """Paint a notch over frames with (nearly) the same timestamp as the previous one."""
    part = _part(table, scale)
    doubled = part[1:][np.diff(part) < DOUBLED_SHARE * table.period_s]
    color, last = theme.color("rejected"), -np.inf
    for time_s in doubled:
        x = scale.x_of(float(time_s))
        if x - last >= LEAST_PX:
            last = x
            painter.fillRect(QtCore.QRectF(round(x) - 1, box.top() - 1, 4, 3), color)


def _paint_spells(
    painter: QtGui.QPainter,
    model: ClipModel,
    camera: str,
    box: QtCore.QRectF,
    scale: TimeScale,
    theme: Theme,
) -> None:
    clock = model.map_of(camera)
    painter.setFont(sized(painter.font(), 11))
    placed = [
        (spell, scale.x_of(clock.at(spell.start_s)), scale.x_of(clock.at(spell.stop_s)))
        for spell in model.spells[camera]
    ]
    shown = [x for x in placed if x[2] >= box.left() and x[1] <= box.right()]
    color = theme.color("rejected")
    for _, left, right in shown:
        left, right = max(left, box.left() - 2), min(right, box.right() + 2)
        bar = QtCore.QRectF(left, box.top(), max(LEAST_PX, right - left), box.height())
        painter.fillRect(bar, theme.color("panel"))
        painter.fillRect(bar, QtGui.QBrush(color, QtCore.Qt.BrushStyle.BDiagPattern))
        painter.setPen(QtGui.QPen(color, 1))
        painter.drawRect(bar)
    free = box.left()
    for k, (spell, left, _) in enumerate(shown):
        begin = max(left, free) + 2
        end = max(shown[k + 1][1], begin + 1) if k + 1 < len(shown) else box.right()
        free = begin + _say(painter, spell, begin, end, box, theme)


def _say(
    painter: QtGui.QPainter,
    spell: Spell,
    begin: float,
    end: float,
    box: QtCore.QRectF,
    theme: Theme,
) -> float:
    """Write the fault, or only its glyph if there is no room; return the width used."""
    metrics, words = painter.fontMetrics(), spell.sign
    if begin + metrics.horizontalAdvance(words) + 4 > end:
        words = FAULT_SIGNS[spell.fault][0]
    width = float(metrics.horizontalAdvance(words) + 4)
    if begin >= end:  # spells of a pixel each: only the hatching is visible
        return 0.0
    where = QtCore.QRectF(begin, box.top() + 1, width, box.height() - 1)
    painter.fillRect(where, theme.color("panel"))
    painter.setPen(theme.color("rejected"))
    painter.drawText(where, ALIGN_CENTER, words)
    return width
