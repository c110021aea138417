"""The page before anything is opened: a drop target, buttons to open, and recent files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from pyqtgraph.Qt import QtCore, QtWidgets

from syncaudit_gui.widgets.covers import Message
from syncaudit_gui.widgets.elided import ElidedLabel

MESSAGE_PX, WIDTH_PX = 260, 560
_KINDS = "Manifests and verdicts (*.jsonl *.json *.csv *.parquet *.yaml *.yml);;All files (*)"


class StartPage(QtWidgets.QWidget):
    """A message above buttons to open something, and a list of recent files and folders."""

    chosen = QtCore.Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.message = Message()
        self.message.setFixedHeight(MESSAGE_PX)
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
        middle.setFixedWidth(WIDTH_PX)
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
            line.setText(line.fontMetrics().elidedText(source, middle, WIDTH_PX - 40))
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
