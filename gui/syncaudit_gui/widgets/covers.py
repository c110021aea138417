"""What lies over the window: nothing opened yet, reading, broken, and the sheet of keys."""

from __future__ import annotations

from itertools import groupby

from pyqtgraph.Qt import QtCore, QtGui, QtWidgets

from syncaudit_gui.viewmodel.bindings import BINDINGS
from syncaudit_gui.widgets.theme import DARK, Theme

__all__ = ["KeySheet", "Message"]


class Message(QtWidgets.QWidget):
    """A few centred words in place of content."""

    def __init__(self, parent: QtWidgets.QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme: Theme = DARK
        self._sign, self._title, self._text = "", "", ""

    def set_theme(self, theme: Theme) -> None:
        """Change the colours."""
        self._theme = theme
        self.update()

    def show_words(self, sign: str, title: str, text: str = "") -> None:
        """Show a sign, a title and a text."""
        self._sign, self._title, self._text = sign, title, text
        self.setAccessibleName(title)
        self.setAccessibleDescription(text)
        self.update()

    @property
    def title(self) -> str:
        """The title that is shown."""
        return self._title

    @property
    def text(self) -> str:
        """The text that is shown."""
        return self._text

    def paintEvent(self, event: QtGui.QPaintEvent) -> None:
        painter = QtGui.QPainter(self)
        painter.setRenderHint(QtGui.QPainter.RenderHint.Antialiasing)
        theme = self._theme
        painter.fillRect(self.rect(), theme.color("surface"))
        middle = self.rect().center()
        box = QtCore.QRect(0, 0, min(620, self.width() - 40), 240)
        box.moveCenter(middle)
        pen = QtGui.QPen(theme.color("line"), 1, QtCore.Qt.PenStyle.DashLine)
        if self._sign == "⇣":
            painter.setPen(pen)
            painter.drawRoundedRect(box, 10, 10)
        flags = QtCore.Qt.AlignmentFlag.AlignHCenter | QtCore.Qt.TextFlag.TextWordWrap
        font = QtGui.QFont(self.font())
        top = box.top() + 34
        for text, size, color, room in (
            (self._sign, 30, "dim", 48),
            (self._title, 17, "text", 34),
            (self._text, 12, "dim", 130),
        ):
            font.setPixelSize(size)
            painter.setFont(font)
            painter.setPen(theme.color(color))
            place = QtCore.QRect(box.left() + 24, top, box.width() - 48, room)
            painter.drawText(place, int(flags), text)
            top += room


class KeySheet(QtWidgets.QWidget):
    """All keys, over the window until any of them is pressed."""

    def __init__(self, parent: QtWidgets.QWidget) -> None:
        super().__init__(parent)
        self._theme: Theme = DARK
        self.setAccessibleName("keys")
        self.setAccessibleDescription("; ".join(f"{b.keys}: {b.text}" for b in BINDINGS))
        self.hide()

    def set_theme(self, theme: Theme) -> None:
        """Change the colours."""
        self._theme = theme
        self.update()

    def toggle(self) -> None:
        """Show or hide it."""
        parent = self.parentWidget()
        if parent is not None:
            self.setGeometry(parent.rect())
        self.setVisible(not self.isVisible())
        self.raise_()

    def mousePressEvent(self, event: QtGui.QMouseEvent) -> None:
        self.hide()

    def paintEvent(self, event: QtGui.QPaintEvent) -> None:
        painter = QtGui.QPainter(self)
        painter.setRenderHint(QtGui.QPainter.RenderHint.Antialiasing)
        theme = self._theme
        painter.fillRect(self.rect(), theme.color("surface", 190))
        groups = [(name, list(rows)) for name, rows in groupby(BINDINGS, key=lambda b: b.group)]
        columns = (groups[:1] + groups[4:], groups[1:3], groups[3:4])
        line_px, column_px = 22, 345
        rows = max(sum(len(rows) + 2 for _, rows in part) for part in columns)
        box = QtCore.QRect(0, 0, len(columns) * column_px + 40, rows * line_px + 44)
        box.moveCenter(self.rect().center())
        painter.setPen(QtGui.QPen(theme.color("line"), 1))
        painter.setBrush(theme.color("panel"))
        painter.drawRoundedRect(box, 10, 10)
        bold = QtGui.QFont(self.font())
        bold.setBold(True)
        left = box.left() + 30
        for part in columns:
            top = box.top() + 26
            for name, bindings in part:
                painter.setFont(bold)
                painter.setPen(theme.color("dim"))
                painter.drawText(left, top + 14, name.upper())
                painter.setFont(self.font())
                top += line_px
                for binding in bindings:
                    painter.setPen(theme.color("text"))
                    painter.drawText(left, top + 14, binding.keys)
                    painter.setPen(theme.color("dim"))
                    painter.drawText(left + 92, top + 14, binding.text)
                    top += line_px
                top += line_px
            left += column_px
