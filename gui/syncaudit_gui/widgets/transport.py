"""The bottom row: play, position, speed, loop, measured length, and messages."""

from __future__ import annotations

from pyqtgraph.Qt import QtCore, QtWidgets

from syncaudit_gui.viewmodel.bindings import Action
from syncaudit_gui.viewmodel.timeline import Timeline
from syncaudit_gui.viewmodel.wording import word_span, word_time
from syncaudit_gui.widgets.elided import ElidedLabel, button, dim_label

MESSAGE_MS = 6000


class Transport(QtWidgets.QWidget):
    """Buttons with the same actions as keys, and text."""

    acted = QtCore.Signal(object)

    def __init__(self) -> None:
        super().__init__()
        line = QtWidgets.QHBoxLayout(self)
        line.setContentsMargins(4, 2, 4, 2)
        line.setSpacing(8)
        self.play = self._button("▶", Action.PLAY, "play, pause (Space)")
        self.play.setFixedWidth(36)
        self.time = QtWidgets.QLabel("0.000 s")
        self.time.setMinimumWidth(84)
        self.speed = self._button("1×", Action.FASTER, "faster (L), slower (J)")
        self.loop = self._button("loop ±0.5 s", Action.LOOP, "loop around the cursor (E)")
        self.loop.setCheckable(True)
        self.measured = QtWidgets.QLabel("")
        self.span = dim_label()
        self.message = ElidedLabel()
        self.message.setProperty("role", "dim")
        self.message.setSizePolicy(
            QtWidgets.QSizePolicy.Policy.Ignored, QtWidgets.QSizePolicy.Policy.Preferred
        )
        self.events = self._button("◆ events", Action.EVENTS, "list of events (V)")
        self.theme = self._button("◐", Action.THEME, "dark, light (T)")
        self.keys = self._button("? keys", Action.SHEET, "all keys (?)")
        for widget in (self.play, self.time, self.speed, self.loop, self.measured, self.span):
            line.addWidget(widget)
        line.addWidget(self.message, 1)
        line.addWidget(self.events)
        line.addWidget(self.theme)
        line.addWidget(self.keys)
        self._fade = QtCore.QTimer(self, singleShot=True, timeout=lambda: self.message.setText(""))

    def announce(self, words: str, *, stays: bool = False) -> None:
        """Show a message for a while."""
        self.message.setText(words)
        self._fade.stop()
        if words and not stays:
            self._fade.start(MESSAGE_MS)

    def show_state(self, timeline: Timeline | None, speed: float, *, is_playing: bool) -> None:
        """Show the state of the timeline."""
        self.play.setText("❚❚" if is_playing else "▶")
        self.play.setAccessibleName("pause" if is_playing else "play")
        self.speed.setText(f"{speed:g}×")
        has_timeline = timeline is not None
        for own in (self.play, self.speed, self.loop):
            own.setEnabled(has_timeline)
        if timeline is None:
            self.time.setText("")
            self.measured.setText("")
            self.span.setText("")
            return
        self.time.setText(word_time(timeline.cursor_s))
        loop = timeline.loop
        self.loop.setChecked(loop is not None)
        around = "loop marks" if len(timeline.marks_s) == 2 else "loop ±0.5 s"
        self.loop.setText(around if loop is None else f"loop {word_time(loop.span_s)}")
        measured_s = timeline.measured_s
        self.measured.setText("" if measured_s is None else f"Δ {word_span(measured_s)}")
        self.span.setText(f"view {word_time(timeline.visible.span_s, digits=2)}")

    def _button(self, words: str, action: Action, tip: str) -> QtWidgets.QPushButton:
        found = button(words, tip)
        found.setProperty("role", "flat")
        found.clicked.connect(lambda: self.acted.emit(action))
        return found
