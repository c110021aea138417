"""Faults of a camera's frames in words, as the timeline shows them."""

from __future__ import annotations

from pyqtgraph.Qt import QtCore, QtWidgets

from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.spells import Spell
from syncaudit_gui.viewmodel.wording import word_time
from syncaudit_gui.widgets.tables import ROW_PX, Cell, CellTable, plain_table
from syncaudit_gui.widgets.theme import Theme

__all__ = ["FaultsTable"]

MOST_ROWS = 4


class FaultsTable(QtWidgets.QWidget):
    """A line for each spell; a click goes there."""

    time_wanted = QtCore.Signal(float)

    def __init__(self) -> None:
        super().__init__()
        self._spells: tuple[Spell, ...] = ()
        self._model: ClipModel | None = None
        self.table = CellTable(("fault", "frames", "from", "to"))
        self.view = plain_table(self.table, "frame faults")
        self.view.clicked.connect(lambda index: self._go(index.row()))
        column = QtWidgets.QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.view)

    def show_camera(self, model: ClipModel | None, camera: str, theme: Theme) -> None:
        """Show the faults of a camera by the clock that it is drawn by; nothing without any."""
        self._model = model
        self._spells = () if model is None else model.spells.get(camera, ())
        self.setVisible(bool(self._spells))
        if model is None or not self._spells:
            self.table.set_rows([])
            return
        clock = model.map_of(camera)
        self.table.set_rows(
            [
                (
                    Cell(spell.sign, theme.rejected, spell.frames),
                    Cell(_span(spell), theme.dim, spell.frames, is_number=True),
                    Cell(word_time(clock.at(spell.start_s), digits=2), is_number=True),
                    Cell(word_time(clock.at(spell.stop_s), digits=2), is_number=True),
                )
                for spell in self._spells
            ]
        )
        self.view.setFixedHeight(ROW_PX * min(MOST_ROWS, len(self._spells)) + 24)

    def _go(self, row: int) -> None:
        if self._model is not None:
            spell = self._spells[row]
            self.time_wanted.emit(self._model.map_of(spell.camera).at(spell.start_s))


def _span(spell: Spell) -> str:
    return str(spell.first) if spell.first == spell.last else f"{spell.first}–{spell.last}"
