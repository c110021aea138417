"""The clips of a run: filter, sort, select."""

from __future__ import annotations

import time
from collections.abc import Callable

from pyqtgraph.Qt import QtCore, QtWidgets

from syncaudit_gui.viewmodel.batch import Arranging, BatchList, ClipRow, Show, SortBy
from syncaudit_gui.viewmodel.labels import Labels
from syncaudit_gui.widgets.elided import dim_label
from syncaudit_gui.widgets.tables import Cell, CellTable, Panel, plain_table
from syncaudit_gui.widgets.theme import DARK, GLYPHS, Theme

# The verdict whose glyph and colour each label uses.
LABEL_VERDICTS = {"accept": "pass", "reject": "reject", "unsure": "unverified"}

LEAST_PX = 130
_TITLES = ("", "clip", "why", "you")
# Longest time that arranging blocks the window's thread.
SLICE_S = 0.002
_TIPS = tuple(
    f"Sort by {by}; again: reversed, then as in the file."
    for by in ("verdict, the worst first", "name", "the largest offset", "your label")
)
_SORTS = (SortBy.VERDICT, SortBy.CLIP, SortBy.WORST, SortBy.LABEL)
_SHOWN = (
    ("all", Show.ALL),
    ("✕ reject", Show.REJECT),
    ("? unverified", Show.UNVERIFIED),
    ("✓ pass", Show.PASS),
    ("unlabelled", Show.UNLABELLED),
)


class _ClipTable(CellTable):
    """Lines of a batch list, requested as they come on screen."""

    def __init__(self) -> None:
        super().__init__(_TITLES, _TIPS)
        self.batch = BatchList((), lambda _: None)
        self.labels: Labels | None = None
        self.theme: Theme = DARK
        self.is_hidden: Callable[[str], bool] = lambda _: False

    def rowCount(self, parent: QtCore.QModelIndex | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.batch)

    def headerData(self, section: int, orientation: QtCore.Qt.Orientation, role: int = 0) -> object:
        found = super().headerData(section, orientation, role)
        if role == QtCore.Qt.ItemDataRole.TextAlignmentRole:
            return QtCore.Qt.AlignmentFlag.AlignLeft
        is_title = found is not None and role == QtCore.Qt.ItemDataRole.DisplayRole
        if is_title and self.batch.sort_by is _SORTS[section]:
            return f"{found} {'▾' if self.batch.is_descending else '▴'}".strip()
        return found

    def data(self, index: QtCore.QModelIndex, role: int = 0) -> object:
        if role == QtCore.Qt.ItemDataRole.ToolTipRole:
            return self.words_on(self.batch[index.row()], sign=False)
        return super().data(index, role)

    def cell(self, row: int, column: int) -> Cell:
        clip, theme = self.batch[row], self.theme
        if column == 1:
            return Cell(clip.clip_id, theme.text)
        if column == 3:
            given = None if self.labels is None else self.labels.of(clip.clip_id)
            if given is None or given.label is None:
                return Cell("")
            verdict: str | None = LABEL_VERDICTS[given.label]
            return Cell(GLYPHS[verdict], theme.verdict(verdict))
        is_hidden = self.is_hidden(clip.clip_id)
        if column == 2:
            return Cell("" if is_hidden else clip.brief, theme.dim)
        verdict = None if is_hidden else clip.verdict
        return Cell(GLYPHS.get(verdict, "·"), theme.verdict(verdict))

    def words_on(self, row: ClipRow, *, sign: bool = True) -> str:
        """Return all text that the list shows for a clip."""
        if self.is_hidden(row.clip_id):
            return row.clip_id
        glyph = f"{GLYPHS.get(row.verdict, '·')} " if sign else ""
        return f"{glyph}{row.clip_id}\n{row.headline}".strip()


class ClipsPanel(Panel):
    """Filter line over the list."""

    clip_selected = QtCore.Signal(str)

    def __init__(self) -> None:
        super().__init__("CLIPS")
        self.count = dim_label()
        self.head.addWidget(self.count)
        self.show_which = QtWidgets.QComboBox()
        self.show_which.setView(QtWidgets.QListView())  # the default one ignores the style sheet
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
        self.view = plain_table(self.table, "clips", self._click, names=1)
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
        # Takes the rest of the side panel, however long the list is.
        self.view.setSizePolicy(
            QtWidgets.QSizePolicy.Policy.Expanding, QtWidgets.QSizePolicy.Policy.Ignored
        )
        self.body.addWidget(self.view, 1)
        self.empty = dim_label("no clip is listed: change the filter")
        self.empty.setAlignment(QtCore.Qt.AlignmentFlag.AlignCenter)
        self.empty.setMinimumHeight(LEAST_PX)
        self.empty.hide()
        self.body.addWidget(self.empty, 1)
        self.show_which.currentIndexChanged.connect(lambda _: self.arrange())
        self.filter.textChanged.connect(lambda _: self.arrange())
        self._current = ""
        self._steps: Arranging | None = None
        self._next_slice = QtCore.QTimer(self, singleShot=True, timeout=self._go_on)

    def set_batch(self, batch: BatchList, labels: Labels) -> None:
        self.table.beginResetModel()
        self.table.batch, self.table.labels = batch, labels
        self.table.endResetModel()
        self.arrange()

    def set_theme(self, theme: Theme) -> None:
        self.table.theme = theme

    def arrange(self) -> None:
        """Update filter and order; long lists in slices, between which input is handled."""
        batch = self.table.batch
        if not batch.n_all:
            return
        batch.show = _SHOWN[self.show_which.currentIndex()][1]
        batch.text = self.filter.text()
        self._steps = batch.arranging()
        self._go_on()

    @property
    def is_arranging(self) -> bool:
        """Whether the list is not up to date yet."""
        return self._steps is not None

    def _go_on(self) -> None:
        batch, steps = self.table.batch, self._steps
        if steps is None:
            return
        try:
            next(steps)
            end_s = time.perf_counter() + SLICE_S
            while time.perf_counter() < end_s:
                next(steps)
        except StopIteration as found:
            self._steps = None
            self.table.beginResetModel()
            batch.list(found.value)
            self.table.endResetModel()
            self._show_count(batch)
            self.mark(self._current)
            return
        self.count.setText("…")
        self._next_slice.start(0)

    def _show_count(self, batch: BatchList) -> None:
        is_all = len(batch) == batch.n_all
        self.count.setText(f"{batch.n_all}" if is_all else f"{len(batch)} of {batch.n_all}")
        self.empty.setVisible(not len(batch))
        self.view.setVisible(bool(len(batch)))

    def mark(self, clip_id: str) -> None:
        self._current = clip_id
        line = self.table.batch.line_of(clip_id)
        if line is None:
            self.view.clearSelection()
            return
        self.view.selectRow(line)
        self.view.scrollTo(self.table.index(line, 1))

    def headline_of(self, clip_id: str) -> str:
        """Return the verdict on a clip and its first reason in a line."""
        row = self.table.batch.find(clip_id)
        return "" if row is None else self.table.words_on(row).replace("\n", ": ")

    def refresh(self) -> None:
        """Redraw the line of the open clip after a new verdict or label."""
        line = self.table.batch.line_of(self._current)
        if line is not None:
            ends = self.table.index(line, 0), self.table.index(line, len(_TITLES) - 1)
            self.table.dataChanged.emit(*ends)

    def _click(self, row: int) -> None:
        self.clip_selected.emit(self.table.batch[row].clip_id)

    def _sort(self, section: int) -> None:
        batch, wanted = self.table.batch, _SORTS[section]
        if not batch.n_all:
            return
        if batch.sort_by is wanted and batch.is_descending:
            batch.sort_by, batch.is_descending = SortBy.FILE, False
        elif batch.sort_by is wanted:
            batch.is_descending = True
        else:
            batch.sort_by, batch.is_descending = wanted, False
        self.arrange()
