"""Words, phones and instants of a tier."""

from __future__ import annotations

import numpy as np
from pyqtgraph.Qt import QtCore, QtGui

from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.lanes import TierLane
from syncaudit_gui.widgets.theme import ALIGN_CENTER, Theme
from syncaudit_gui.widgets.time_scale import TimeScale

__all__ = ["TIER_ROW_PX", "paint_tier"]

TIER_ROW_PX = 20
# Narrower intervals are not drawn separately.
LEAST_PX = 2.0
# Longer words are cut to the room available; nothing is written if it is below this.
LEAST_WORDS_PX = 16.0


def paint_tier(
    painter: QtGui.QPainter,
    lane: TierLane,
    room: QtCore.QRectF,
    model: ClipModel,
    scale: TimeScale,
    theme: Theme,
) -> None:
    """Paint a tier into its room: words in their intervals, overlapping ones in rows."""
    clock = model.map_of(lane.source)
    start_s, stop_s = clock.apply(lane.start_s), clock.apply(lane.stop_s)
    visible = scale.visible
    shown = np.flatnonzero((stop_s >= visible.start_s) & (start_s <= visible.stop_s))
    height = (room.height() - 6.0) / lane.n_rows
    is_instants = bool(np.all(lane.start_s == lane.stop_s))
    border = theme.color(theme.axes[0]) if is_instants else theme.color("dim", 150)
    last = np.full(lane.n_rows, -np.inf)
    for k in shown:
        left, right = scale.x_of(float(start_s[k])), scale.x_of(float(stop_s[k]))
        row = int(lane.rows[k])
        if left - last[row] < LEAST_PX and right - left < LEAST_PX:
            continue
        last[row] = left
        top = room.top() + 3.0 + row * height
        box = QtCore.QRectF(left, top, right - left, height - (1.0 if lane.n_rows > 1 else 0.0))
        words = lane.labels[k].strip()
        if words and not is_instants:
            painter.fillRect(box.adjusted(1, 0, 0, 0), theme.color("raised"))
        painter.setPen(QtGui.QPen(border, 1))
        for x in {round(left), round(right)} if not is_instants else {round(left)}:
            painter.drawLine(QtCore.QLineF(x + 0.5, box.top() + 1, x + 0.5, box.bottom() - 1))
        if words:
            _write(painter, words, box.intersected(room), theme)


def _write(painter: QtGui.QPainter, words: str, box: QtCore.QRectF, theme: Theme) -> None:
    """Write words in the visible part of their interval, cut if they are too long."""
    metrics = painter.fontMetrics()
    room_px = box.width() - 4.0
    if metrics.horizontalAdvance(words) > room_px:
        if room_px < LEAST_WORDS_PX:
            return
        # Qt also cuts the end of right-to-left text, which is then at the left.
        words = metrics.elidedText(words, QtCore.Qt.TextElideMode.ElideRight, int(room_px))
        if words == "…":
            return
    painter.setPen(theme.color("text"))
    painter.drawText(box, ALIGN_CENTER, words)
