"""The times beneath the lanes, which stay while lanes are scrolled."""

from __future__ import annotations

from pyqtgraph.Qt import QtCore, QtGui, QtWidgets

from syncaudit_gui.viewmodel.wording import word_time
from syncaudit_gui.widgets.lane_view import LaneView
from syncaudit_gui.widgets.theme import DARK, Theme

__all__ = ["Ruler"]

HEIGHT_PX = 22
LABEL_PX = 90


class Ruler(QtWidgets.QWidget):
    """Round times under the grid lines of the lanes.

    Parameters
    ----------
    lanes : LaneView
        Whose times they are.
    """

    def __init__(self, lanes: LaneView) -> None:
        super().__init__()
        self._lanes = lanes
        self._theme: Theme = DARK
        self.setFixedHeight(HEIGHT_PX)
        lanes.refreshed.connect(self.update)

    def set_theme(self, theme: Theme) -> None:
        """Change the colours."""
        self._theme = theme
        self.update()

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
            box = QtCore.QRectF(left, 0, LABEL_PX, HEIGHT_PX)
            is_last = left < x - LABEL_PX / 2
            flags = QtCore.Qt.AlignmentFlag
            across = flags.AlignRight if is_last else flags.AlignHCenter
            words = word_time(time_s, digits=digits)
            painter.drawText(box, int(across | flags.AlignVCenter), words)
