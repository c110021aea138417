"""The legend of a lane: a dash of its colour and the name of each curve, in a line above."""

from __future__ import annotations

from pyqtgraph.Qt import QtCore, QtGui

from syncaudit_gui.viewmodel.lanes import CurveLane
from syncaudit_gui.widgets.theme import ALIGN_LEFT, Theme, sized

__all__ = ["LEGEND_PX", "curve_colors", "has_legend", "paint_legend"]

LEGEND_PX = 13
DASH_PX = 10
GAP_PX = 10


def curve_colors(lane: CurveLane, theme: Theme) -> tuple[str, ...]:
    """Return the colour of every curve of a lane."""
    n = lane.pyramid.n_channels
    if n == 1:
        return (theme.axes[1],)
    palette = (*theme.axes, theme.text)
    return tuple(palette[k % len(palette)] for k in range(n))


def has_legend(lane: object) -> bool:
    """Return whether a lane has curves that need names."""
    return isinstance(lane, CurveLane) and len(lane.names) > 1


def paint_legend(
    painter: QtGui.QPainter, lane: CurveLane, room: QtCore.QRectF, theme: Theme
) -> None:
    """Paint the legend at the top of a lane; names that do not fit are counted."""
    painter.setFont(sized(painter.font(), 10))
    metrics, left = painter.fontMetrics(), room.left() + 6.0
    middle = room.top() + 2 + 0.5 * LEGEND_PX
    colors = curve_colors(lane, theme)
    for k, (name, color) in enumerate(zip(lane.names, colors, strict=False)):
        width = metrics.horizontalAdvance(name)
        rest = f"+{len(lane.names) - k}"
        is_last = k + 1 == len(lane.names)
        needed = DASH_PX + 4 + width + (0 if is_last else GAP_PX + metrics.horizontalAdvance(rest))
        box = QtCore.QRectF(left, room.top() + 2, room.right() - left, LEGEND_PX)
        if left + needed > room.right():
            painter.setPen(theme.color("dim"))
            painter.drawText(box, ALIGN_LEFT, rest)
            return
        painter.setPen(QtGui.QPen(theme.color(color), 2))
        painter.drawLine(QtCore.QLineF(left, middle, left + DASH_PX, middle))
        painter.setPen(theme.color("dim"))
        painter.drawText(box.adjusted(DASH_PX + 4, 0, 0, 0), ALIGN_LEFT, name)
        left += DASH_PX + 4 + width + GAP_PX
