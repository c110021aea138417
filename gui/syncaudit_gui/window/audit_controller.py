"""Audit the open clip, and show the results."""

from __future__ import annotations

from syncaudit_gui.audits import AuditResult
from syncaudit_gui.viewmodel.events import EventKind
from syncaudit_gui.viewmodel.session import Workspace
from syncaudit_gui.viewmodel.turning import camera_turning
from syncaudit_gui.widgets.panels import WindowPanels
from syncaudit_gui.window.auditor import Auditor
from syncaudit_gui.window.clip_display import ClipDisplay


class AuditController:
    """Starts and stops audits of the open clip."""

    def __init__(
        self, work: Workspace, panels: WindowPanels, display: ClipDisplay, auditor: Auditor
    ) -> None:
        self._work, self._panels, self._display = work, panels, display
        self._auditor = auditor
        auditor.progressed.connect(panels.progress.show_progress)
        auditor.finished.connect(self.take)
        auditor.failed.connect(self._failed)
        panels.progress.cancelled.connect(self.cancel)
        panels.evidence.audit_wanted.connect(self.begin)

    def begin(self) -> None:
        """Audit the open clip in a separate process."""
        opened = self._work.opened
        if opened is not None and not self._auditor.is_running:
            self._panels.progress.begin()
            self._panels.evidence.measure.hide()
            self._auditor.begin(opened.model)

    def cancel(self) -> None:
        if self._auditor.cancel():
            self._panels.progress.hide()
            self._display.show_panels()
            self._panels.transport.announce("audit cancelled")

    def forget(self) -> None:
        self._auditor.results.clear()

    def take_known(self) -> None:
        """Show the result of an earlier audit of this clip in this session, if there is one."""
        known = self._auditor.results.get(self._work.session.clip_id)
        if known is not None:
            self.take(known)

    def take(self, result: AuditResult) -> None:
        """Show the result of an audit of the open clip."""
        self._panels.progress.hide()
        opened = self._work.opened
        if opened is None:
            return
        session, model = opened.session, opened.model
        session.add_streams(result.aligned)
        session.take_judgement(result.judgement, result.row)
        # The detectors' events replace those stored by a run.
        model.events = model.events.without(EventKind.FLASH).joined(result.events)
        for name, rotation in result.rotations.items():
            model.turning[name] = camera_turning(rotation, model.epoch_ns)
        model.clocks_changed()
        self._panels.lanes.rebuild()
        self._panels.clips.refresh()
        self._display.show_selected(session.selected)
        self._display.show_clocks()

    def _failed(self, why: str) -> None:
        self._panels.progress.hide()
        self._display.show_panels()
        self._panels.transport.announce(f"✕ {why}", stays=True)
