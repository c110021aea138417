"""The events of a clip as a list: kind, time and source."""

from __future__ import annotations

from pyqtgraph.Qt import QtCore, QtWidgets

from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.events import EVENT_GLYPHS
from syncaudit_gui.viewmodel.wording import word_time
from syncaudit_gui.widgets.tables import ROW_PX, Cell, CellTable, Panel, plain_table
from syncaudit_gui.widgets.theme import DARK, Theme

MOST_ROWS = 7


class EventsPanel(Panel):
    """A line for each event; a click jumps to it. Hidden until requested."""

    time_wanted = QtCore.Signal(float)

    def __init__(self) -> None:
        super().__init__("EVENTS")
        self._theme: Theme = DARK
        self._model: ClipModel | None = None
        self._shown: object = None
        self.counts = QtWidgets.QLabel("")
        self.head.addWidget(self.counts)
        self.table = CellTable(("event", "at", "source"))
        self.view = plain_table(self.table, "events", self._go)
        self.body.addWidget(self.view)
        self.hide()

    def set_theme(self, theme: Theme) -> None:
        self._theme, self._shown = theme, None

    def show_model(self, model: ClipModel | None) -> None:
        """Show the events of a clip with the current clocks."""
        self._model = model
        placed = None if model is None else model.events.times_s
        if self.isHidden() or placed is self._shown:
            return
        self._shown = placed
        theme = self._theme
        rows = []
        for at_s, event in () if model is None else model.events:
            glyph, color = EVENT_GLYPHS[event.kind]
            what = Cell(f"{glyph}  {event.kind}", theme.axes[color])
            at = Cell(word_time(at_s, digits=2), is_number=True)
            rows.append((what, at, Cell(event.source, theme.dim, is_number=True)))
        self.table.set_rows(rows)
        self.view.setFixedHeight(ROW_PX * min(MOST_ROWS, max(1, len(rows))) + 24)
        found = [] if model is None else [event.kind for _, event in model.events]
        self.counts.setText(
            "  ".join(
                f"<span style='color:{theme.axes[color]}'>{glyph}</span> {found.count(kind)}"
                for kind, (glyph, color) in EVENT_GLYPHS.items()
                if kind in found
            )
        )

    def _go(self, row: int) -> None:
        if self._model is not None:
            self.time_wanted.emit(float(self._model.events.times_s[row]))
