"""The main window: its parts, signal connections, and Qt event handlers."""

from __future__ import annotations

from pyqtgraph.Qt import QtCore, QtGui, QtWidgets

from syncaudit.policy import Policy
from syncaudit_gui.viewmodel.session import Session, Workspace
from syncaudit_gui.widgets.panels import WindowPanels
from syncaudit_gui.widgets.theme import DARK, LIGHT, Theme, stylesheet, ui_font
from syncaudit_gui.window.actions import Actions
from syncaudit_gui.window.audit_controller import AuditController
from syncaudit_gui.window.auditor import Auditor
from syncaudit_gui.window.clip_display import ClipDisplay
from syncaudit_gui.window.decision_controller import DecisionController
from syncaudit_gui.window.key_input import KeyInput
from syncaudit_gui.window.opening_controller import OpeningController
from syncaudit_gui.window.player import Player, SoundOutput

_WELCOME = (
    "⇣",
    "Drop a manifest or the output folder of a run here",
    "or start with\n\nsyncaudit view sample_data/manifest.jsonl\nsyncaudit view out/",
)


class ViewerWindow(QtWidgets.QWidget):
    """The timeline viewer.

    With `is_auditing`, clips without a verdict are audited as they are opened.
    """

    def __init__(
        self, *, theme: Theme = DARK, is_auditing: bool = True, policy: Policy | None = None
    ) -> None:
        super().__init__()
        self.theme = theme
        self.setFont(ui_font())
        self.setWindowTitle("syncaudit")
        self.setAcceptDrops(True)
        self._work = work = Workspace()
        # Children of the window are destroyed with it (see `application`).
        self.player, self.sound = Player(self), SoundOutput(self)
        self.auditor = Auditor(policy, self)
        self.panels = panels = WindowPanels(self)
        self.display = ClipDisplay(work, panels, self.player, self.sound, self.auditor)
        self.audits = AuditController(work, panels, self.display, self.auditor)
        self.opening = OpeningController(
            work,
            panels,
            self.display,
            self.player,
            self.audits,
            is_auditing=is_auditing,
            window=self,
        )
        self.decisions = DecisionController(
            work,
            self.display,
            clips=panels.clips,
            labels=panels.labels,
            transport=panels.transport,
        )
        self.verbs = Actions(
            work,
            panels,
            self.display,
            self.player,
            self.opening,
            self.audits,
            self.decisions,
            window=self,
        )
        self._keys = KeyInput(self)
        self._connect()
        self.set_theme(theme)
        panels.show_welcome(*_WELCOME)
        self.display.show_state()

    def _connect(self) -> None:
        panels, display, decisions = self.panels, self.display, self.decisions
        panels.films.camera_selected.connect(display.select)
        panels.films.camera_enlarged.connect(self.verbs.enlarge)
        panels.lanes.overlay.scrubbed.connect(display.scrub)
        panels.lanes.overlay.range_changed.connect(display.show_range)
        panels.lanes.overlay.source_selected.connect(display.select)
        panels.lanes.overlay.nudge_dragged.connect(decisions.drag_nudge)
        panels.sources.source_selected.connect(display.select)
        panels.sources.corrected_toggled.connect(lambda _: display.toggle_corrected())
        panels.evidence.time_wanted.connect(display.jump_to)
        panels.events.time_wanted.connect(display.jump_to)
        panels.ruler.range_changed.connect(display.show_range)
        panels.comparison.time_wanted.connect(display.jump_to)
        panels.start.chosen.connect(self.opening.open_source)
        panels.clips.clip_selected.connect(self.opening.open_clip)
        panels.labels.label_given.connect(decisions.give_label)
        panels.labels.note_written.connect(decisions.write_note)
        panels.labels.blind_toggled.connect(decisions.set_blind)
        panels.transport.acted.connect(self.verbs.do)
        self._keys.acted.connect(self.verbs.do)
        self._keys.clicked.connect(self.verbs.focus)
        self.opening.clip_shown.connect(lambda: self.verbs.focus(None))
        self._keys.typing_ended.connect(panels.labels.end_typing)
        self._keys.glance_over.connect(display.toggle_corrected)
        self.player.moved.connect(display.move_to)
        self.player.state_changed.connect(display.show_state)
        self.player.state_changed.connect(display.play_sound)

    @property
    def session(self) -> Session:
        return self._work.session

    @property
    def is_empty(self) -> bool:
        return self._work.is_empty

    def set_theme(self, theme: Theme) -> None:
        self.theme = theme
        self.setStyleSheet(stylesheet(theme))
        self.panels.set_theme(theme)
        self.display.show_panels()

    def toggle_theme(self) -> None:
        self.set_theme(LIGHT if self.theme is DARK else DARK)

    def dragEnterEvent(self, event: QtGui.QDragEnterEvent) -> None:
        data = event.mimeData()
        if data is not None and any(url.isLocalFile() for url in data.urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QtGui.QDropEvent) -> None:
        data = event.mimeData()
        urls = [] if data is None else [url for url in data.urls() if url.isLocalFile()]
        if urls:
            self.opening.open_source(urls[0].toLocalFile())

    def resizeEvent(self, event: QtGui.QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.panels.sheet.isVisible():
            self.panels.sheet.setGeometry(self.rect())
        QtCore.QTimer.singleShot(0, self.panels.fit_films)

    def closeEvent(self, event: QtGui.QCloseEvent) -> None:
        self.hide()  # threads end when they have read their file
        self.shut_down()
        super().closeEvent(event)

    def shut_down(self) -> None:
        """Save text being typed, and end every thread, timer and process."""
        self.panels.labels.end_typing()
        self._keys.close()
        self.player.pause()
        self.sound.stop()
        self.auditor.cancel()
        self.opening.close()
        self.panels.films.close_threads()
        self.panels.lanes.spectrograms.clear()
