"""Tables of the side panel: compact, without grid, accessible to screen readers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyqtgraph.Qt import QtCore, QtGui, QtWidgets

from syncaudit_gui.widgets.elided import heading, wrapped_tip
from syncaudit_gui.widgets.theme import ALIGN_LEFT, ALIGN_RIGHT, ThemedWidget

# Height of a row, and horizontal padding of a cell.
ROW_PX, PAD_PX = 22, 7
_LEFT, _RIGHT = QtCore.Qt.TextElideMode.ElideLeft, QtCore.Qt.TextElideMode.ElideRight


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: text, colour, tip, whether it is a number, and a shorter text."""

    text: str
    color: str | None = None
    tip: str = ""
    is_number: bool = False
    short: str = ""


class CellTable(QtCore.QAbstractTableModel):
    """A table of cells, which `CellDelegate` draws and screen readers read."""

    def __init__(self, titles: Sequence[str], tips: Sequence[str] = ()) -> None:
        super().__init__()
        self._titles = tuple(titles)
        self._tips = (*tips, *[""] * (len(self._titles) - len(tips)))
        self._rows: list[tuple[Cell, ...]] = []

    def set_rows(self, rows: Sequence[tuple[Cell, ...]]) -> None:
        """Set the rows; if their number is unchanged, only the cells are updated."""
        if len(rows) == len(self._rows):
            self._rows = list(rows)
            if rows:
                self.dataChanged.emit(
                    self.index(0, 0), self.index(len(rows) - 1, len(self._titles) - 1)
                )
            return
        self.beginResetModel()
        self._rows = list(rows)
        self.endResetModel()

    def rowCount(self, parent: QtCore.QModelIndex | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def columnCount(self, parent: QtCore.QModelIndex | None = None) -> int:
        return len(self._titles)

    def headerData(self, section: int, orientation: QtCore.Qt.Orientation, role: int = 0) -> object:
        if orientation is not QtCore.Qt.Orientation.Horizontal:
            return None
        if role == QtCore.Qt.ItemDataRole.DisplayRole:
            return self._titles[section]
        if role == QtCore.Qt.ItemDataRole.ToolTipRole:
            return self._tips[section] or None
        if role == QtCore.Qt.ItemDataRole.TextAlignmentRole:
            return QtCore.Qt.AlignmentFlag.AlignLeft if section == 0 else ALIGN_RIGHT
        return None

    def cell(self, row: int, column: int) -> Cell:
        return self._rows[row][column]

    def data(self, index: QtCore.QModelIndex, role: int = 0) -> object:
        if role in (QtCore.Qt.ItemDataRole.DisplayRole, QtCore.Qt.ItemDataRole.AccessibleTextRole):
            return self.cell(index.row(), index.column()).text
        if role == QtCore.Qt.ItemDataRole.ToolTipRole:
            return self.cell(index.row(), index.column()).tip or None
        return None


class CellDelegate(QtWidgets.QStyledItemDelegate):
    """Draws cells without the style sheet, which would take three times as long.

    Text that does not fit is shown on hovering.

    Text of the column `names` loses its start: names differ at their ends.
    """

    def __init__(self, view: QtWidgets.QTableView, *, names: int | None = None) -> None:
        super().__init__(view)
        self._names = names

    def paint(
        self,
        painter: QtGui.QPainter,
        option: QtWidgets.QStyleOptionViewItem,
        index: QtCore.QModelIndex,
    ) -> None:
        column, room, palette = index.column(), option.rect, option.palette
        cell = _cell(index)
        if option.state & QtWidgets.QStyle.StateFlag.State_Selected:
            painter.fillRect(room, palette.highlight())
        if not cell.text:
            return
        room = room.adjusted(PAD_PX, 0, -PAD_PX, 0)
        metrics, words = option.fontMetrics, cell.text
        if cell.short and metrics.horizontalAdvance(words) > room.width():
            words = cell.short
        elided = _LEFT if column == self._names else _RIGHT
        words = metrics.elidedText(words, elided, room.width())
        painter.setPen(palette.text().color() if cell.color is None else QtGui.QColor(cell.color))
        painter.drawText(room, ALIGN_RIGHT if cell.is_number else ALIGN_LEFT, words)

    def sizeHint(
        self, option: QtWidgets.QStyleOptionViewItem, index: QtCore.QModelIndex
    ) -> QtCore.QSize:
        # The advance is rounded, but text that is a fraction of a pixel too long is elided.
        width = option.fontMetrics.horizontalAdvance(_cell(index).text) + 1
        return QtCore.QSize(width + 2 * PAD_PX, ROW_PX)

    def helpEvent(
        self,
        event: QtGui.QHelpEvent,
        view: QtWidgets.QAbstractItemView,
        option: QtWidgets.QStyleOptionViewItem,
        index: QtCore.QModelIndex,
    ) -> bool:
        if event.type() != QtCore.QEvent.Type.ToolTip:
            return super().helpEvent(event, view, option, index)
        tip = tip_of(view, index)
        QtWidgets.QToolTip.showText(event.globalPos(), wrapped_tip(tip) if tip else "", view)
        return True


def tip_of(view: QtWidgets.QAbstractItemView, index: QtCore.QModelIndex) -> str:
    """Return the tip of a cell, preceded by its full text if that does not fit."""
    text = str(index.data() or "")
    tip = str(index.data(QtCore.Qt.ItemDataRole.ToolTipRole) or "")
    is_cut = view.sizeHintForIndex(index).width() > view.visualRect(index).width()
    return f"{text}\n{tip}".strip() if is_cut and text not in tip else tip


def _cell(index: QtCore.QModelIndex) -> Cell:
    model: CellTable = index.model()
    return model.cell(index.row(), index.column())


def plain_table(
    model: QtCore.QAbstractItemModel,
    name: str,
    on_click: Callable[[int], object],
    *,
    names: int | None = None,
) -> QtWidgets.QTableView:
    """Return a view of a table: whole-row selection, no grid, no editing.

    `name` is for screen readers, `on_click` gets the row, and `names` is as for `CellDelegate`.
    """
    view = QtWidgets.QTableView()
    model.setParent(view)
    view.setModel(model)
    view.setItemDelegate(CellDelegate(view, names=names))
    view.setAccessibleName(name)
    view.setShowGrid(False)
    view.setWordWrap(False)
    view.setSelectionBehavior(QtWidgets.QAbstractItemView.SelectionBehavior.SelectRows)
    view.setSelectionMode(QtWidgets.QAbstractItemView.SelectionMode.SingleSelection)
    view.setEditTriggers(QtWidgets.QAbstractItemView.EditTrigger.NoEditTriggers)
    view.setHorizontalScrollMode(QtWidgets.QAbstractItemView.ScrollMode.ScrollPerPixel)
    view.setHorizontalScrollBarPolicy(QtCore.Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    view.setTextElideMode(QtCore.Qt.TextElideMode.ElideRight)
    view.setMinimumHeight(2 * ROW_PX)
    view.clicked.connect(lambda index: on_click(index.row()))
    across, down = view.horizontalHeader(), view.verticalHeader()
    if across is not None and down is not None:
        across.setHighlightSections(False)
        across.setSectionResizeMode(QtWidgets.QHeaderView.ResizeMode.ResizeToContents)
        across.setSectionResizeMode(0, QtWidgets.QHeaderView.ResizeMode.Stretch)
        across.setMinimumSectionSize(20)
        down.hide()
        down.setSectionResizeMode(QtWidgets.QHeaderView.ResizeMode.Fixed)
        down.setDefaultSectionSize(ROW_PX)
    return view


class Panel(ThemedWidget):
    """A box of the side panel with a heading."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.setProperty("role", "panel")
        self.title = heading(title)
        self.head = QtWidgets.QHBoxLayout()
        self.head.addWidget(self.title)
        self.head.addStretch(1)
        self.body = QtWidgets.QVBoxLayout(self)
        self.body.setContentsMargins(10, 8, 10, 8)
        self.body.setSpacing(6)
        self.body.addLayout(self.head)
