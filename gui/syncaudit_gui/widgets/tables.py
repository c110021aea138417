"""Tables of the side panel: small, without grid, readable by screen readers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyqtgraph.Qt import QtCore, QtGui, QtWidgets

__all__ = ["Cell", "CellTable", "Panel", "heading", "plain_table"]

ROW_PX = 22


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: words, their colour, what is said on hovering, and whether it is a figure."""

    text: str
    color: str | None = None
    tip: str = ""
    is_number: bool = False
    is_bold: bool = False


class CellTable(QtCore.QAbstractTableModel):
    """A model of cells that are there."""

    def __init__(self, titles: Sequence[str], tips: Sequence[str] = ()) -> None:
        super().__init__()
        self._titles = tuple(titles)
        self._tips = (*tips, *[""] * (len(self._titles) - len(tips)))
        self._rows: list[tuple[Cell, ...]] = []

    def set_rows(self, rows: Sequence[tuple[Cell, ...]]) -> None:
        """Show other rows; where their number stays only the cells change."""
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

    def data(self, index: QtCore.QModelIndex, role: int = 0) -> object:
        cell = self._rows[index.row()][index.column()]
        if role in (QtCore.Qt.ItemDataRole.DisplayRole, QtCore.Qt.ItemDataRole.AccessibleTextRole):
            return cell.text
        if role == QtCore.Qt.ItemDataRole.ForegroundRole and cell.color is not None:
            return QtGui.QBrush(QtGui.QColor(cell.color))
        if role == QtCore.Qt.ItemDataRole.ToolTipRole:
            return cell.tip or None
        if role == QtCore.Qt.ItemDataRole.TextAlignmentRole:
            return ALIGN_RIGHT if cell.is_number else ALIGN_LEFT
        if role == QtCore.Qt.ItemDataRole.FontRole and cell.is_bold:
            font = QtGui.QFont()
            font.setBold(True)
            return font
        return None


ALIGN_LEFT = QtCore.Qt.AlignmentFlag.AlignLeft | QtCore.Qt.AlignmentFlag.AlignVCenter
ALIGN_RIGHT = QtCore.Qt.AlignmentFlag.AlignRight | QtCore.Qt.AlignmentFlag.AlignVCenter


def plain_table(model: QtCore.QAbstractItemModel, name: str) -> QtWidgets.QTableView:
    """Return a view of a table: whole rows, no grid, no editing.

    Parameters
    ----------
    model : QAbstractItemModel
        Content.
    name : str
        For screen readers.
    """
    view = QtWidgets.QTableView()
    view.setModel(model)
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


def heading(text: str) -> QtWidgets.QLabel:
    """Return the heading of a panel."""
    label = QtWidgets.QLabel(text)
    label.setProperty("role", "heading")
    return label


class Panel(QtWidgets.QFrame):
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
