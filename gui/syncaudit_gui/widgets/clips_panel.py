"""The clips of a run: filter, sort, pick."""

from __future__ import annotations

from collections.abc import Callable

from pyqtgraph.Qt import QtCore, QtGui, QtWidgets

from syncaudit_gui.viewmodel.batch import BatchList, Show, SortBy
from syncaudit_gui.viewmodel.labels import Labels
from syncaudit_gui.widgets.tables import Panel, plain_table
from syncaudit_gui.widgets.theme import DARK, GLYPHS, Theme

__all__ = ["LABEL_GLYPHS", "ClipsPanel"]

LABEL_GLYPHS = {"accept": "✓", "reject": "✕", "unsure": "?"}
# The verdict whose colour a label has.
LABEL_VERDICTS = {"accept": "pass", "reject": "reject", "unsure": "unverified"}

LEAST_PX = 130
_TITLES = ("", "clip", "why", "you")
_SORTS = (SortBy.VERDICT, SortBy.CLIP, SortBy.WORST, SortBy.LABEL)
_SHOWN = (
    ("all", Show.ALL),
    ("✕ reject", Show.REJECT),
    ("? unverified", Show.UNVERIFIED),
    ("✓ pass", Show.PASS),
    ("unlabelled", Show.UNLABELLED),
)


class _ClipTable(QtCore.QAbstractTableModel):
    """Lines of a batch list, asked for as they come on screen."""

    def __init__(self) -> None:
        super().__init__()
        self.batch: BatchList | None = None
        self.labels: Labels | None = None
        self.theme: Theme = DARK
        self.is_hidden: Callable[[str], bool] = lambda _: False

    def rowCount(self, parent: QtCore.QModelIndex | None = None) -> int:
        is_child = parent is not None and parent.isValid()
        return 0 if is_child or self.batch is None else len(self.batch)

    def columnCount(self, parent: QtCore.QModelIndex | None = None) -> int:
        return len(_TITLES)

    def headerData(self, section: int, orientation: QtCore.Qt.Orientation, role: int = 0) -> object:
        is_title = orientation is QtCore.Qt.Orientation.Horizontal
        if is_title and role == QtCore.Qt.ItemDataRole.DisplayRole:
            return _TITLES[section]
        if is_title and role == QtCore.Qt.ItemDataRole.TextAlignmentRole:
            return QtCore.Qt.AlignmentFlag.AlignLeft
        return None

    def data(self, index: QtCore.QModelIndex, role: int = 0) -> object:
        if self.batch is None:
            return None
        row = self.batch[index.row()]
        is_hidden = self.is_hidden(row.clip_id)
        label = None if self.labels is None else self.labels.of(row.clip_id)
        if role == QtCore.Qt.ItemDataRole.DisplayRole:
            if index.column() == 0:
                return "·" if is_hidden else GLYPHS.get(row.verdict, "·")
            if index.column() == 1:
                return row.clip_id
            if index.column() == 2:
                return "" if is_hidden else row.headline
            return "" if label is None or label.label is None else LABEL_GLYPHS[label.label]
        if role == QtCore.Qt.ItemDataRole.ForegroundRole and index.column() != 1:
            shown = row.verdict if index.column() == 0 and not is_hidden else None
            if index.column() == 3 and label is not None:
                shown = LABEL_VERDICTS[str(label.label)]
            return QtGui.QBrush(self.theme.color(self.theme.verdict(shown)))
        if role == QtCore.Qt.ItemDataRole.ToolTipRole:
            return row.clip_id if is_hidden else f"{row.clip_id}\n{row.headline}".strip()
        return None


class ClipsPanel(Panel):
    """Filter line over the list."""

    clip_selected = QtCore.Signal(str)

    def __init__(self) -> None:
        super().__init__("CLIPS")
        self.count = QtWidgets.QLabel("")
        self.count.setProperty("role", "dim")
        self.head.addWidget(self.count)
        self.show_which = QtWidgets.QComboBox()
        for words, _ in _SHOWN:
            self.show_which.addItem(words)
        self.show_which.setFocusPolicy(QtCore.Qt.FocusPolicy.ClickFocus)
        self.show_which.setAccessibleName("which clips are listed")
        self.filter = QtWidgets.QLineEdit()
        self.filter.setPlaceholderText("filter by name or reason")
        self.filter.setClearButtonEnabled(True)
        self.filter.setFocusPolicy(QtCore.Qt.FocusPolicy.ClickFocus)
        line = QtWidgets.QHBoxLayout()
        line.addWidget(self.show_which)
        line.addWidget(self.filter, 1)
        self.body.addLayout(line)
        self.table = _ClipTable()
        self.view = plain_table(self.table, "clips")
        header = self.view.horizontalHeader()
        if header is not None:
            mode = QtWidgets.QHeaderView.ResizeMode
            header.setSectionResizeMode(mode.Fixed)
            header.setSectionResizeMode(1, mode.Interactive)
            header.setSectionResizeMode(2, mode.Stretch)
            for section, width in ((0, 22), (1, 130), (3, 32)):
                header.resizeSection(section, width)
            header.setSectionsClickable(True)
            header.setSortIndicatorShown(False)
            header.sectionClicked.connect(self._sort)
        self.view.setMinimumHeight(LEAST_PX)
        self.body.addWidget(self.view, 1)
        self.view.clicked.connect(lambda index: self._click(index.row()))
        self.show_which.currentIndexChanged.connect(lambda _: self.arrange())
        self.filter.textChanged.connect(lambda _: self.arrange())
        self._current = ""

    def set_batch(self, batch: BatchList | None, labels: Labels | None) -> None:
        """Show other clips."""
        self.table.beginResetModel()
        self.table.batch, self.table.labels = batch, labels
        self.table.endResetModel()
        self.arrange()

    def set_theme(self, theme: Theme) -> None:
        """Change the colours."""
        self.table.theme = theme

    def arrange(self) -> None:
        """List anew by filter and order."""
        batch = self.table.batch
        if batch is None:
            self.count.setText("")
            return
        self.table.beginResetModel()
        batch.show = _SHOWN[self.show_which.currentIndex()][1]
        batch.text = self.filter.text()
        batch.arrange()
        self.table.endResetModel()
        self.count.setText(
            f"{batch.n_all}" if len(batch) == batch.n_all else f"{len(batch)} of {batch.n_all}"
        )
        self.mark(self._current)

    def mark(self, clip_id: str) -> None:
        """Mark the clip that is open."""
        self._current = clip_id
        batch = self.table.batch
        line = None if batch is None else batch.line_of(clip_id)
        if line is None:
            self.view.clearSelection()
            return
        self.view.selectRow(line)
        self.view.scrollTo(self.table.index(line, 1))

    def refresh(self) -> None:
        """Draw the lines anew, after a verdict or a label came."""
        viewport = self.view.viewport()
        if viewport is not None:
            viewport.update()

    def _sort(self, section: int) -> None:
        batch = self.table.batch
        if batch is None:
            return
        wanted = _SORTS[section]
        if batch.sort_by is wanted and batch.is_descending:
            batch.sort_by, batch.is_descending = SortBy.FILE, False
        elif batch.sort_by is wanted:
            batch.is_descending = True
        else:
            batch.sort_by, batch.is_descending = wanted, False
        self.arrange()

    def _click(self, row: int) -> None:
        if self.table.batch is not None:
            self.clip_selected.emit(self.table.batch[row].clip_id)
