"""The window: who tells whom, and what Qt asks of it."""

from __future__ import annotations

from pyqtgraph.Qt import QtCore, QtGui

from syncaudit.policy import Policy
from syncaudit_gui.widgets.actions import Actions
from syncaudit_gui.widgets.deciding import DecidingWindow
from syncaudit_gui.widgets.key_input import KeyInput
from syncaudit_gui.widgets.theme import DARK, Theme

__all__ = ["ViewerWindow"]

_WELCOME = (
    "⇣",
    "Drop a manifest or the output folder of a run here",
    "or start with\n\nsyncaudit view sample_data/manifest.jsonl\nsyncaudit view out/",
)


class ViewerWindow(DecidingWindow):
    """The timeline viewer.

    Parameters
    ----------
    theme : Theme
        Colours to begin with.
    is_auditing : bool
        Whether clips without a verdict are audited as they are opened.
    policy : Policy, optional
        Of those audits; default is the profile ``driving``.
    """

    def __init__(
        self, *, theme: Theme = DARK, is_auditing: bool = True, policy: Policy | None = None
    ) -> None:
        super().__init__(theme, is_auditing=is_auditing)
        self.auditor.policy = policy
        self.setWindowTitle("syncaudit")
        self.setAcceptDrops(True)
        self.actions_of_keys = Actions(self)
        self.keys = KeyInput(self)
        self._connect()
        self.set_theme(theme)
        self.welcome.show_words(*_WELCOME)
        self.show_state()

    def _connect(self) -> None:
        self.opener.loaded.connect(self._take_session)
        self.opener.progressed.connect(self._tell_opening)
        self.opener.failed.connect(self._cannot_open)
        self.reader.loaded.connect(self._take_clip)
        self.reader.failed.connect(self._cannot_read)
        self.films.camera_selected.connect(self.select)
        self.films.camera_enlarged.connect(self.actions_of_keys.enlarge)
        self.lanes.scrubbed.connect(self._scrub)
        self.lanes.range_changed.connect(self.show_range)
        self.lanes.source_selected.connect(self.select)
        self.lanes.nudge_dragged.connect(self._drag_nudge)
        self.sources.source_selected.connect(self.select)
        self.sources.corrected_toggled.connect(lambda _: self.toggle_corrected())
        self.evidence.audit_wanted.connect(self.begin_audit)
        self.evidence.time_wanted.connect(self.jump_to)
        self.progress.cancelled.connect(self.cancel_audit)
        self.clips.clip_selected.connect(self.open_clip)
        self.labels.label_given.connect(self.give_label)
        self.labels.note_written.connect(self._write_note)
        self.labels.blind_toggled.connect(self.set_blind)
        self.transport.acted.connect(self.actions_of_keys.do)
        self.keys.acted.connect(self.actions_of_keys.do)
        self.keys.typing_ended.connect(self.labels.end_typing)
        self.keys.glance_over.connect(self.toggle_corrected)
        self.player.moved.connect(self._played)
        self.player.state_changed.connect(self.show_state)
        self.player.state_changed.connect(self._play_sound)
        self.auditor.progressed.connect(self.progress.show_progress)
        self.auditor.finished.connect(self._take_audit)
        self.auditor.failed.connect(self._audit_failed)

    def dragEnterEvent(self, event: QtGui.QDragEnterEvent) -> None:
        data = event.mimeData()
        if data is not None and any(url.isLocalFile() for url in data.urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QtGui.QDropEvent) -> None:
        data = event.mimeData()
        urls = [] if data is None else [url for url in data.urls() if url.isLocalFile()]
        if urls:
            self.open_source(urls[0].toLocalFile())

    def resizeEvent(self, event: QtGui.QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.sheet.isVisible():
            self.sheet.setGeometry(self.rect())
        QtCore.QTimer.singleShot(0, self.fit_films)

    def closeEvent(self, event: QtGui.QCloseEvent) -> None:
        self.hide()  # threads end when their file is read
        self.shut_down()
        super().closeEvent(event)

    def shut_down(self) -> None:
        """Save what is typed, and end every thread, timer and process."""
        self.labels.end_typing()
        self.keys.close()
        self.player.pause()
        self.sound.stop()
        self.auditor.cancel()
        self.opener.close()
        self.reader.close()
        self.films.close_threads()
        self.lanes.spectrograms.clear()
