"""Labels and buttons of panels; text that may not fit is shown in full on hovering."""

from __future__ import annotations

import html
import re

from pyqtgraph.Qt import QtCore, QtGui, QtWidgets


class ElidedLabel(QtWidgets.QLabel):
    """A line that never requests more room than there is and shows the rest on hovering.

    What is omitted is the middle of names, which differ at their ends, and the end of sentences.
    Fonts down to `least_px` are tried before; 0 keeps the font.
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
        metrics = QtGui.QFontMetrics(self._fitting_font())
        return metrics.elidedText(self.text(), self._elided, self.contentsRect().width())

    def _fitting_font(self) -> QtGui.QFont:
        """Return the font of the label, smaller if that shows more of the text."""
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
            return  # Qt would redo the whole layout
        self.setToolTip("")
        super().setText(text)
        self.setAccessibleName(text)


def heading(text: str) -> ElidedLabel:
    """Return the heading of a panel."""
    label = ElidedLabel(text)
    label.setProperty("role", "heading")
    return label


def dim_label(text: str = "") -> QtWidgets.QLabel:
    """Return a label in the colour of remarks."""
    label = QtWidgets.QLabel(text)
    label.setProperty("role", "dim")
    return label


def button(words: str, tip: str, *, is_checkable: bool = False) -> QtWidgets.QPushButton:
    """Return a button that never takes the focus, as keys have actions of their own."""
    found = QtWidgets.QPushButton(words)
    found.setToolTip(tip)
    found.setCheckable(is_checkable)
    found.setFocusPolicy(QtCore.Qt.FocusPolicy.NoFocus)
    return found


def wrapped_tip(text: str) -> str:
    """Return a text for a tool tip that wraps long lines."""
    return f"<qt>{breakable(html.escape(text)).replace(chr(10), '<br>')}</qt>"


def breakable(text: str) -> str:
    """Return a text with line break opportunities in paths and long names."""
    return re.sub(r"([/_\\])(?=\w)", "\\1\u200b", text)
