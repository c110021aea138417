"""Small panels at the side: the progress of an audit, the events, the label of a person."""

from __future__ import annotations

from functools import partial

from pyqtgraph.Qt import QtCore, QtWidgets

from syncaudit.evaluation.labels import Label, LabelRow
from syncaudit_gui.audits import AuditProgress
from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.events import EVENT_GLYPHS
from syncaudit_gui.viewmodel.wording import word_time
from syncaudit_gui.widgets.elided import button, dim_label
from syncaudit_gui.widgets.tables import ROW_PX, Cell, CellTable, Panel, plain_table
from syncaudit_gui.widgets.theme import Theme

_WORDS = {
    "read": "reading the sources",
    "align": "aligning the text",
    "stamps": "checking the timestamps",
    "decode": "decoding frames",
    "detect": "decoding frames",
    "estimate": "measuring pairs",
    "solve": "solving for the clocks",
}


class AuditPanel(Panel):
    """A bar and a button, visible only while an audit runs."""

    cancelled = QtCore.Signal()

    def __init__(self) -> None:
        super().__init__("AUDITING")
        self.words = dim_label()
        self.bar = QtWidgets.QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setRange(0, 1000)
        self.stop = button("cancel", "stop the audit (Esc)")
        self.stop.clicked.connect(self.cancelled)
        self.head.addWidget(self.stop)
        self.body.addWidget(self.bar)
        self.body.addWidget(self.words)
        self.hide()

    def begin(self) -> None:
        """Show that an audit has started."""
        self.bar.setRange(0, 0)
        self.words.setText("starting")
        self.show()

    def show_progress(self, progress: AuditProgress) -> None:
        """Show the progress; the bar counts frames, which take nearly all of the time."""
        words = _WORDS.get(progress.stage, progress.stage)
        if progress.n_all:
            # Pairs and clocks take the remaining time.
            self.bar.setRange(0, 1000)
            self.bar.setValue(round(900 * progress.share))
            if progress.stage in ("decode", "detect"):
                words += f"  {progress.n_frames} of {progress.n_all}"
        elif progress.stage in ("decode", "detect"):
            words = "examining the signals"
        self.words.setText(words)


_MOST_ROWS = 7


class EventsPanel(Panel):
    """A line for each event; a click jumps to it. Hidden until requested."""

    time_wanted = QtCore.Signal(float)

    def __init__(self) -> None:
        super().__init__("EVENTS")
        self._model: ClipModel | None = None
        self._shown: object = None
        self.counts = QtWidgets.QLabel("")
        self.head.addWidget(self.counts)
        self.table = CellTable(("event", "at", "source"))
        self.view = plain_table(self.table, "events", self._go)
        self.body.addWidget(self.view)
        self.hide()

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self._shown = None

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
        self.view.setFixedHeight(ROW_PX * min(_MOST_ROWS, max(1, len(rows))) + 24)
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


_LABEL_WORDS = {Label.ACCEPT: "✓ accept", Label.REJECT: "✕ reject", Label.UNSURE: "? unsure"}


class LabelBar(Panel):
    """Three buttons above a line for the note."""

    label_given = QtCore.Signal(object)
    note_written = QtCore.Signal(str)
    blind_toggled = QtCore.Signal(bool)

    def __init__(self) -> None:
        super().__init__("YOUR LABEL")
        tip = "Hide the verdict on a clip until you have labelled it (B)"
        self.blind = button("blind", tip, is_checkable=True)
        self.blind.clicked.connect(self.blind_toggled)
        self.head.addWidget(self.blind)
        self.buttons: dict[Label, QtWidgets.QPushButton] = {}
        line = QtWidgets.QHBoxLayout()
        line.setSpacing(6)
        for label, words in _LABEL_WORDS.items():
            tip = f"{label} ({label[0].upper()}); again removes it"
            self.buttons[label] = button(words, tip, is_checkable=True)
            self.buttons[label].clicked.connect(partial(self._give, label))
            line.addWidget(self.buttons[label], 1)
        self.body.addLayout(line)
        self.note = QtWidgets.QLineEdit()
        self.note.setPlaceholderText("note (I)")
        self.note.setFocusPolicy(QtCore.Qt.FocusPolicy.ClickFocus)
        self.note.editingFinished.connect(self._save_note)
        self.body.addWidget(self.note)

    def show_label(self, row: LabelRow | None, note: str, *, is_blind: bool) -> None:
        for label, own in self.buttons.items():
            own.setChecked(row is not None and row.label is label)
        if not self.note.isModified():  # otherwise the user is typing
            self.note.setText(note)
        self.blind.setChecked(is_blind)

    def end_typing(self) -> None:
        """Save the note that is being typed."""
        self._save_note()
        self.note.clearFocus()

    def _save_note(self) -> None:
        if self.note.isModified():
            self.note.setModified(False)
            self.note_written.emit(self.note.text())

    def _give(self, label: Label, _is_checked: bool = False) -> None:
        self.label_given.emit(label)
