"""Have the open clip audited, and show what was found."""

from __future__ import annotations

from pyqtgraph.Qt import QtCore

from syncaudit_gui.audits import AuditResult
from syncaudit_gui.viewmodel.events import EventKind
from syncaudit_gui.viewmodel.turning import camera_turning
from syncaudit_gui.viewmodel.workspace import Workspace
from syncaudit_gui.widgets.panels import WindowPanels
from syncaudit_gui.window.auditor import Auditor
from syncaudit_gui.window.clip_display import ClipDisplay

__all__ = ["AuditController"]


class AuditController(QtCore.QObject):
    """Begins and stops audits of the open clip.

    Parameters
    ----------
    work : Workspace
        What is open.
    panels : WindowPanels
        Where it is shown.
    display : ClipDisplay
        Shows it.
    auditor : Auditor
        Runs the audits.
    """

    ended = QtCore.Signal()

    def __init__(
        self, work: Workspace, panels: WindowPanels, display: ClipDisplay, auditor: Auditor
    ) -> None:
        super().__init__(auditor)
        self._work, self._panels, self._display = work, panels, display
        self._auditor = auditor
        auditor.progressed.connect(panels.progress.show_progress)
        auditor.finished.connect(self.take)
        auditor.failed.connect(self._failed)
        panels.progress.cancelled.connect(self.cancel)
        panels.evidence.audit_wanted.connect(self.begin)

    def begin(self) -> None:
        """Audit the open clip in a process of its own."""
        opened = self._work.opened
        if opened is not None and not self._auditor.is_running:
            self._panels.progress.begin()
            self._panels.evidence.measure.hide()
            self._auditor.begin(opened.model)

    def cancel(self) -> None:
        """Stop the audit that runs."""
        if self._auditor.cancel():
            self._panels.progress.hide()
            self._display.show_panels()
            self._panels.transport.announce("audit cancelled")

    def forget(self) -> None:
        """Forget all answers, as another collection is opened."""
        self._auditor.forget()

    def take_known(self) -> None:
        """Show what an audit of this clip found before, if it was audited in this session."""
        known = self._auditor.known(self._work.clip_id)
        if known is not None:
            self.take(known)

    def take(self, result: AuditResult) -> None:
        """Show what an audit of the open clip found."""
        self._panels.progress.hide()
        opened = self._work.opened
        if opened is None:
            return
        session, model = opened.session, opened.model
        session.add_streams(result.aligned)
        session.take_judgement(result.judgement, result.row)
        # Those of the detectors, in place of what a run kept of them.
        model.events = model.events.without(EventKind.FLASH).joined(result.events)
        for name, rotation in result.rotations.items():
            model.turning[name] = camera_turning(rotation, model.epoch_ns)
        model.clocks_changed()
        self._panels.lanes.rebuild()
        self._panels.clips.refresh()
        self._display.show_selected(session.selected)
        self._display.show_clocks()
        self.ended.emit()

    def _failed(self, why: str) -> None:
        self._panels.progress.hide()
        self._display.show_panels()
        self._panels.transport.announce(f"✕ {why}", stays=True)
        self.ended.emit()
