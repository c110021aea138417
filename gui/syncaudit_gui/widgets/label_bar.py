"""Accept, reject, unsure, and a note: the label that a person gives the clip."""

from __future__ import annotations

from functools import partial

from pyqtgraph.Qt import QtCore, QtWidgets

from syncaudit.evaluation.labels import Label, LabelRow
from syncaudit_gui.widgets.elided import button
from syncaudit_gui.widgets.tables import Panel

_WORDS = {Label.ACCEPT: "✓ accept", Label.REJECT: "✕ reject", Label.UNSURE: "? unsure"}


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
        for label, words in _WORDS.items():
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
