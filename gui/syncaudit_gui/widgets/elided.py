"""Words for which there may be no room: cut in the middle, shown on hovering."""

from __future__ import annotations

import html
import re

from pyqtgraph.Qt import QtCore, QtGui, QtWidgets

__all__ = ["ElidedLabel", "breakable", "heading", "wrapped_tip"]


class ElidedLabel(QtWidgets.QLabel):
    """A line that never asks for more room than there is: it shows the rest on hovering.

    Parameters
    ----------
    text : str
        What it says.
    elided : Qt.TextElideMode
        What is left out: the middle of names, which differ at their ends, and the end of sentences.
    least_px : int
        Down to this size the font shrinks before anything is left out; 0: not at all.
    """

    def __init__(
        self,
        text: str = "",
        *,
        elided: QtCore.Qt.TextElideMode = QtCore.Qt.TextElideMode.ElideMiddle,
        least_px: int = 0,
    ) -> None:
        super().__init__(text)
        self._elided, self._least_px = elided, least_px
        self.setTextFormat(QtCore.Qt.TextFormat.PlainText)

    def minimumSizeHint(self) -> QtCore.QSize:
        return QtCore.QSize(0, super().minimumSizeHint().height())

    @property
    def shown_text(self) -> str:
        """What can be seen of it."""
        metrics = QtGui.QFontMetrics(self._fitting_font())
        return metrics.elidedText(self.text(), self._elided, self.contentsRect().width())

    def _fitting_font(self) -> QtGui.QFont:
        """Return the font of the label, smaller where that shows more of the text."""
        font = QtGui.QFont(self.font())
        while font.pixelSize() > self._least_px > 0 and (
            QtGui.QFontMetrics(font).horizontalAdvance(self.text()) > self.contentsRect().width()
        ):
            font.setPixelSize(font.pixelSize() - 1)
        return font

    def paintEvent(self, event: QtGui.QPaintEvent) -> None:
        painter = QtGui.QPainter(self)
        painter.setFont(self._fitting_font())
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.contentsRect(), int(self.alignment()), self.shown_text)

    def event(self, event: QtCore.QEvent) -> bool:
        if event.type() == QtCore.QEvent.Type.ToolTip and self.shown_text != self.text():
            self.setToolTip(wrapped_tip(self.text()))
        return super().event(event)

    def setText(self, text: str) -> None:
        if text == self.text():
            return  # Qt would lay everything out anew
        self.setToolTip("")
        super().setText(text)
        self.setAccessibleName(text)


def heading(text: str) -> ElidedLabel:
    """Return the heading of a panel."""
    label = ElidedLabel(text)
    label.setProperty("role", "heading")
    return label


def wrapped_tip(text: str) -> str:
    """Return a text for a tool tip, which then breaks long lines."""
    return f"<qt>{breakable(html.escape(text)).replace(chr(10), '<br>')}</qt>"


def breakable(text: str) -> str:
    """Return a text with places to break in paths and long names."""
    return re.sub(r"([/_\\])(?=\w)", "\\1\u200b", text)
