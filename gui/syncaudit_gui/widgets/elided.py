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
    """

    def __init__(
        self,
        text: str = "",
        *,
        elided: QtCore.Qt.TextElideMode = QtCore.Qt.TextElideMode.ElideMiddle,
    ) -> None:
        super().__init__(text)
        self._elided = elided
        self.setTextFormat(QtCore.Qt.TextFormat.PlainText)

    def minimumSizeHint(self) -> QtCore.QSize:
        return QtCore.QSize(0, super().minimumSizeHint().height())

    @property
    def shown_text(self) -> str:
        """What can be seen of it."""
        room_px = self.contentsRect().width()
        return self.fontMetrics().elidedText(self.text(), self._elided, room_px)

    def paintEvent(self, event: QtGui.QPaintEvent) -> None:
        painter = QtGui.QPainter(self)
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
