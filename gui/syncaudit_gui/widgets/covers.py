"""Overlays and pages of the window: nothing opened, reading, error, start page, and key sheet."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby

from pyqtgraph.Qt import QtCore, QtGui, QtWidgets

from syncaudit_gui.viewmodel.bindings import BINDINGS, Binding
from syncaudit_gui.widgets.elided import ElidedLabel, breakable, wrapped_tip
from syncaudit_gui.widgets.theme import ThemedWidget, sized

LINE_PX, COLUMN_PX, KEYS_PX, N_COLUMNS = 22, 350, 96, 3


class Message(ThemedWidget):
    """A few centred words in place of content."""

    def __init__(self) -> None:
        super().__init__()
        self._sign, self.title, self.text = "", "", ""

    def show_words(self, sign: str, title: str, text: str = "") -> None:
        self._sign, self.title, self.text = sign, title, text
        self.setAccessibleName(title)
        self.setAccessibleDescription(text)
        self.setToolTip(wrapped_tip(f"{title}\n{text}") if sign == "✕" else "")
        self.update()

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
        # Between words, and only for words longer than any line.
        wrapping = QtGui.QTextOption(QtCore.Qt.AlignmentFlag.AlignHCenter)
        wrapping.setWrapMode(QtGui.QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        top = box.top() + 34
        for text, size, color, room in (
            (self._sign, 30, "dim", 48),
            (self.title, 17, "text", 34),
            (self.text, 12, "dim", 130),
        ):
            painter.setFont(sized(self.font(), size))
            painter.setPen(theme.color(color))
            place = QtCore.QRect(box.left() + 24, top, box.width() - 48, room)
            if text is self.title:
                middle = QtCore.Qt.TextElideMode.ElideMiddle
                text = painter.fontMetrics().elidedText(text, middle, place.width())
            painter.drawText(place.toRectF(), breakable(text), wrapping)
            top += room


class KeySheet(ThemedWidget):
    """All keys, shown over the window until any key is pressed."""

    def __init__(self, parent: QtWidgets.QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName("keys")
        self.setAccessibleDescription("; ".join(f"{b.keys}: {b.text}" for b in BINDINGS))
        self.hide()

    def toggle(self) -> None:
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
        columns = _columns(N_COLUMNS if self.width() >= N_COLUMNS * COLUMN_PX else N_COLUMNS - 1)
        rows = max(sum(len(part) + 2 for _, part in column) for column in columns)
        box = QtCore.QRect(0, 0, len(columns) * COLUMN_PX, rows * LINE_PX + 22)
        scale = min(1.0, (self.width() - 8) / box.width(), (self.height() - 8) / box.height())
        painter.translate(self.rect().center())
        painter.scale(scale, scale)
        box.moveCenter(QtCore.QPoint(0, 0))
        painter.setPen(QtGui.QPen(theme.color("line"), 1))
        painter.setBrush(theme.color("panel"))
        painter.drawRoundedRect(box, 10, 10)
        bold = QtGui.QFont(self.font())
        bold.setBold(True)
        left = box.left() + 24
        for column in columns:
            top = box.top() + 26
            for name, bindings in column:
                painter.setFont(bold)
                painter.setPen(theme.color("dim"))
                painter.drawText(left, top + 14, name.upper())
                painter.setFont(self.font())
                top += LINE_PX
                for binding in bindings:
                    painter.setPen(theme.color("text"))
                    painter.drawText(left, top + 14, binding.keys)
                    painter.setPen(theme.color("dim"))
                    painter.drawText(left + KEYS_PX, top + 14, binding.text)
                    top += LINE_PX
                top += LINE_PX
            left += COLUMN_PX


def _columns(n_columns: int) -> list[list[tuple[str, list[Binding]]]]:
    """Return the groups of keys by column, adding each to the shortest column."""
    columns: list[list[tuple[str, list[Binding]]]] = [[] for _ in range(n_columns)]
    for name, rows in groupby(BINDINGS, key=lambda binding: binding.group):
        fewest = min(columns, key=lambda column: sum(len(part) + 2 for _, part in column))
        fewest.append((name, list(rows)))
    return columns


_MESSAGE_PX, _WIDTH_PX = 260, 560
_KINDS = "Manifests and verdicts (*.jsonl *.json *.csv *.parquet *.yaml *.yml);;All files (*)"


class StartPage(QtWidgets.QWidget):
    """A message above buttons to open something, and a list of recent files and folders."""

    chosen = QtCore.Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.message = Message()
        self.message.setFixedHeight(_MESSAGE_PX)
        buttons = QtWidgets.QHBoxLayout()
        buttons.addStretch(1)
        for words, ask in (("Open manifest…", self._ask_file), ("Open folder…", self._ask_folder)):
            button = QtWidgets.QPushButton(words)
            button.clicked.connect(ask)
            buttons.addWidget(button)
        buttons.addStretch(1)
        self.recent = QtWidgets.QVBoxLayout()
        self.recent.setSpacing(2)
        middle = QtWidgets.QWidget()
        middle.setFixedWidth(_WIDTH_PX)
        column = QtWidgets.QVBoxLayout(middle)
        column.addLayout(buttons)
        column.addSpacing(18)
        column.addLayout(self.recent)
        page = QtWidgets.QVBoxLayout(self)
        page.addStretch(1)
        page.addWidget(self.message)
        page.addWidget(middle, 0, QtCore.Qt.AlignmentFlag.AlignHCenter)
        page.addStretch(2)

    def show_recent(self, sources: Sequence[str]) -> None:
        """Offer recently opened sources, the latest first."""
        while (item := self.recent.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.deleteLater()
        if sources:
            title = ElidedLabel("RECENT")
            title.setProperty("role", "heading")
            self.recent.addWidget(title)
        for source in sources:
            line = QtWidgets.QPushButton()
            line.setProperty("role", "recent")
            middle = QtCore.Qt.TextElideMode.ElideMiddle
            line.setText(line.fontMetrics().elidedText(source, middle, _WIDTH_PX - 40))
            line.setToolTip(source)
            line.clicked.connect(partial(self._choose, source))
            self.recent.addWidget(line)

    def _choose(self, source: str, _is_checked: bool = False) -> None:
        self.chosen.emit(source)

    def _ask_file(self) -> None:
        path, _ = QtWidgets.QFileDialog.getOpenFileName(self, "Open a manifest", "", _KINDS)
        if path:
            self.chosen.emit(path)

    def _ask_folder(self) -> None:
        path = QtWidgets.QFileDialog.getExistingDirectory(self, "Open the output folder of a run")
        if path:
            self.chosen.emit(path)
