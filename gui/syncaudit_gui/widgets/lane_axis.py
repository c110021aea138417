"""The left end of a lane: what it shows, whose it is, and its scale."""

from __future__ import annotations

from typing import Any

import pyqtgraph as pg
from pyqtgraph.Qt import QtCore, QtGui

from syncaudit_gui.viewmodel.lanes import CurveLane, Lane, TurningLane
from syncaudit_gui.widgets.theme import Theme

__all__ = ["AXIS_PX", "LaneAxis", "NoAxis"]

# One width for all, or lanes would not line up.
AXIS_PX = 132
TITLE_PX = 88


class NoAxis(pg.AxisItem):
    """A side of a plot without a scale: pyqtgraph keeps hidden ones up to date, which costs."""

    def linkedViewChanged(self, view: Any, newRange: Any = None) -> None:
        pass


class LaneAxis(pg.AxisItem):
    """A scale with a title at its left, of fixed width.

    Parameters
    ----------
    lane : Lane
        What is named.
    theme : Theme
        Colours.
    """

    def __init__(self, lane: Lane, theme: Theme) -> None:
        super().__init__("left", maxTickLength=-3)
        self._lane = lane
        self._theme = theme
        self._is_selected = False
        self.setWidth(AXIS_PX)
        self.setStyle(
            autoExpandTextSpace=False,
            autoReduceTextSpace=False,
            tickTextOffset=3,
            hideOverlappingLabels=True,
            maxTickLevel=0,
        )
        font = QtGui.QFont()
        font.setPixelSize(10)
        self.setTickFont(font)

    def set_theme(self, theme: Theme, *, is_selected: bool) -> None:
        """Change the colours."""
        self._theme, self._is_selected = theme, is_selected
        has_scale = isinstance(self._lane, CurveLane | TurningLane)
        self.setPen(pg.mkPen(theme.line))
        self.setTextPen(pg.mkPen(theme.dim if has_scale else theme.panel))
        self.setStyle(showValues=has_scale)
        self.picture = None
        self.update()

    def updateAutoSIPrefix(self) -> None:
        """Keep the unit as it is: it stands in the title."""

    def tickValues(self, minVal: float, maxVal: float, size: float) -> Any:
        """Return at most three ticks: lanes are low."""
        levels = super().tickValues(minVal, maxVal, size)
        margin = 0.08 * (maxVal - minVal)
        for spacing, values in levels:
            inside = [v for v in values if minVal + margin <= v <= maxVal - margin]
            if 1 <= len(inside) <= 3:
                return [(spacing, inside)]
        spacing, values = levels[0]
        inside = [v for v in values if minVal + margin <= v <= maxVal - margin]
        return [(spacing, inside[:: max(1, len(inside) // 2)])]

    def drawPicture(self, p: QtGui.QPainter, axisSpec: Any, tickSpecs: Any, textSpecs: Any) -> None:
        """Draw the scale and, at its left, the title."""
        super().drawPicture(p, axisSpec, tickSpecs, textSpecs)
        box = self.boundingRect()
        theme = self._theme
        font = QtGui.QFont(p.font())
        font.setPixelSize(12)
        p.setFont(font)
        lines = [(self._lane.title, theme.accent if self._is_selected else theme.text)]
        below = " · ".join(x for x in (self._lane.source, self._lane.unit) if x)
        if below and below != self._lane.title and box.height() >= 34:
            lines.append((below, theme.dim))
        elif self._lane.unit:
            lines = [(f"{self._lane.title} {self._lane.unit}", lines[0][1])]
        height = 15.0
        top = box.center().y() - 0.5 * height * len(lines)
        left = box.left() + 9.0
        for text, color in lines:
            p.setPen(theme.color(color))
            room = QtCore.QRectF(left, top, TITLE_PX, height)
            shown = p.fontMetrics().elidedText(
                text, QtCore.Qt.TextElideMode.ElideRight, int(room.width())
            )
            flags = QtCore.Qt.AlignmentFlag.AlignLeft | QtCore.Qt.AlignmentFlag.AlignVCenter
            p.drawText(room, int(flags), shown)
            top += height
            font.setPixelSize(11)
            p.setFont(font)
        if self._is_selected:
            bar = QtCore.QRectF(box.left() + 2, box.top() + 3, 2.5, box.height() - 6)
            p.fillRect(bar, theme.color("accent"))
