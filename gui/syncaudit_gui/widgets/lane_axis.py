"""The plot of a lane without pyqtgraph's mouse interaction, and its left end: title and scale."""

from __future__ import annotations

from typing import Any

import pyqtgraph as pg
from pyqtgraph.Qt import QtCore, QtGui, QtWidgets

from syncaudit_gui.viewmodel.lanes import CurveLane, FramesLane, Lane, TurningLane
from syncaudit_gui.widgets.frames_paint import frame_rows
from syncaudit_gui.widgets.theme import ALIGN_LEFT, Theme, sized

# The same width for all, so that lanes line up.
AXIS_PX = 132
RIGHT_PX = 6
TITLE_PX = 88
LINE_PX = 15.0
# Lower lanes have one line of text.
LOW_PX = 34
BETWEEN_PX = 6.0
# Camera names on the right, beside their rows; they differ at their ends.
CAMERA_PX = 64.0
MIDDLE = QtCore.Qt.TextElideMode.ElideMiddle


class _NoAxis(pg.AxisItem):
    """A side of a plot without a scale: pyqtgraph updates hidden ones too, which costs time."""

    def linkedViewChanged(self, view: Any, newRange: Any = None) -> None:
        pass


class SignedAxis(pg.AxisItem):
    """A scale with the same minus sign as in the tables."""

    def tickStrings(self, values: Any, scale: float, spacing: float) -> list[str]:
        return [x.replace("-", "−") for x in super().tickStrings(values, scale, spacing)]


class LaneAxis(SignedAxis):
    """A scale of fixed width with a title on its left."""

    def __init__(self, lane: Lane, theme: Theme) -> None:
        super().__init__("left", maxTickLength=-3)
        self._lane = lane
        self._theme = theme
        self._is_selected = False
        self._is_empty = False
        self.setWidth(AXIS_PX)
        self.setStyle(
            autoExpandTextSpace=False,
            autoReduceTextSpace=False,
            tickTextOffset=3,
            hideOverlappingLabels=True,
            maxTickLevel=0,
        )
        self.setTickFont(sized(QtGui.QFont(), 10))

    def set_lane(self, lane: Lane) -> None:
        self._lane = lane

    def set_theme(self, theme: Theme, *, is_selected: bool) -> None:
        self._theme, self._is_selected = theme, is_selected
        has_scale = isinstance(self._lane, CurveLane | TurningLane) and not self._is_empty
        self.setPen(pg.mkPen(theme.line))
        self.setTextPen(pg.mkPen(theme.dim if has_scale else theme.panel))
        self.setStyle(showValues=has_scale, tickLength=-3 if has_scale else 0)
        self.frame = None
        self.update()

    def set_empty(self, is_empty: bool) -> None:
        """Remove the tick labels if there is nothing to read off them."""
        if is_empty != self._is_empty:
            self._is_empty = is_empty
            self.set_theme(self._theme, is_selected=self._is_selected)

    def updateAutoSIPrefix(self) -> None:
        """Keep the unit unchanged: it is in the title."""

    def _updateLabel(self) -> None:
        """Do no label layout: the title is drawn here, and pyqtgraph's is never shown."""

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
        """Draw the scale and, on its left, the title."""
        super().drawPicture(p, axisSpec, tickSpecs, textSpecs)
        box = self.boundingRect()
        theme = self._theme
        lane, name = self._lane, theme.accent if self._is_selected else theme.text
        has_scale = isinstance(lane, CurveLane | TurningLane)
        source = "" if lane.source in (None, lane.title) else str(lane.source)
        below = " · ".join(x for x in (source, lane.unit) if x)
        room_px = TITLE_PX if has_scale else AXIS_PX - 16.0
        # Low lanes have their source and unit beside the title, others below it.
        if box.height() < LOW_PX and below:
            top = box.center().y() - 0.5 * LINE_PX
            # Each may have half, plus what the other leaves.
            title_px = max(0.5 * room_px, room_px - self._width(p, below, 11) - BETWEEN_PX)
            taken = self._words(p, box.left() + 9.0, top, title_px, lane.title, name)
            left = box.left() + 9.0 + taken + BETWEEN_PX
            self._words(p, left, top, room_px - taken - BETWEEN_PX, below, theme.dim, 11)
        else:
            top = box.center().y() - (LINE_PX if below else 0.5 * LINE_PX)
            self._words(p, box.left() + 9.0, top, room_px, lane.title, name)
            self._words(p, box.left() + 9.0, top + LINE_PX, room_px, below, theme.dim, 11)
        if isinstance(lane, FramesLane):
            self._cameras(p, lane, box)
        if self._is_selected:
            bar = QtCore.QRectF(box.left() + 2, box.top() + 3, 2.5, box.height() - 6)
            p.fillRect(bar, theme.color("accent"))

    def _cameras(self, p: QtGui.QPainter, lane: FramesLane, box: QtCore.QRectF) -> None:
        """Label the rows that are high enough for text."""
        for camera, row in frame_rows(lane, box):
            if camera in lane.faulty:
                room_px = min(CAMERA_PX, self._width(p, camera, 10) + 2.0)
                left, top = box.right() - 8.0 - room_px, row.center().y() - 0.5 * LINE_PX
                self._words(p, left, top, room_px, camera, self._theme.dim, 10, MIDDLE)

    @staticmethod
    def _width(p: QtGui.QPainter, words: str, size_px: int) -> float:
        return float(QtGui.QFontMetricsF(sized(p.font(), size_px)).horizontalAdvance(words))

    @staticmethod
    def _words(
        p: QtGui.QPainter,
        left: float,
        top: float,
        room_px: float,
        words: str,
        color: str,
        size_px: int = 12,
        elided: QtCore.Qt.TextElideMode = QtCore.Qt.TextElideMode.ElideRight,
    ) -> float:
        """Draw text as far as there is room, and return the width used."""
        p.setFont(sized(p.font(), size_px))
        p.setPen(QtGui.QColor(color))
        shown = p.fontMetrics().elidedText(words, elided, int(room_px))
        p.drawText(QtCore.QRectF(left, top, room_px, LINE_PX), ALIGN_LEFT, shown)
        return float(p.fontMetrics().horizontalAdvance(shown))


def make_plot(lane: Lane, theme: Theme, parent: QtWidgets.QWidget) -> tuple[pg.PlotItem, LaneAxis]:
    """Return a plot for lanes and its axis.

    Objects of the plot that are in no scene belong to `parent`, and end with it.
    """
    axis = LaneAxis(lane, theme)
    axes = {side: _NoAxis(side) for side in ("right", "top", "bottom")}
    plot = pg.PlotItem(viewBox=pg.ViewBox(enableMenu=False), axisItems={"left": axis, **axes})
    for side in axes:
        plot.hideAxis(side)  # custom axes are shown by default
    plot.hideButtons()
    plot.setMenuEnabled(False)
    plot.layout.setContentsMargins(0, 0, RIGHT_PX, 0)
    plot.layout.setSpacing(0)
    box = plot.vb
    box.setMouseEnabled(False, False)
    box.setDefaultPadding(0)
    box.disableAutoRange()
    box.setBorder(None)
    adopt_menus(plot, parent)
    return plot, axis


def adopt_menus(plot: pg.PlotItem, parent: QtWidgets.QWidget) -> None:
    """Make a widget the parent of the menu that every pyqtgraph plot has.

    It has no parent otherwise, and PyQt may crash on such objects when Python exits.
    """
    plot.ctrlMenu.setParent(parent, plot.ctrlMenu.windowFlags())
    plot.stateGroup.setParent(parent)
