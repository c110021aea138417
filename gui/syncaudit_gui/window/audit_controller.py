"""Audit the open clip, and show the results.

Audits for the window: one at a time, with cached results.
"""

from __future__ import annotations

from collections import OrderedDict

from pyqtgraph.Qt import QtCore

from syncaudit.model import CameraStream
from syncaudit.policy import Policy
from syncaudit_gui.audits import AuditFailed, AuditMessage, AuditProcess, AuditProgress, AuditResult
from syncaudit_gui.viewmodel.clip_model import ClipModel, frames_wanted
from syncaudit_gui.viewmodel.events import EventKind
from syncaudit_gui.viewmodel.session import Workspace
from syncaudit_gui.viewmodel.turning import camera_turning
from syncaudit_gui.widgets.panels import WindowPanels
from syncaudit_gui.window.clip_display import ClipDisplay

KEPT = 20


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
        known = self._auditor.results.get(self._work.clip_id)
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


class Auditor(QtCore.QObject):
    """Starts and stops audit processes, and brings their messages to the window's thread."""

    progressed = QtCore.Signal(object)
    finished = QtCore.Signal(object)
    failed = QtCore.Signal(str)
    _received = QtCore.Signal(str, object)

    def __init__(self, policy: Policy | None, parent: QtCore.QObject) -> None:
        super().__init__(parent)
        self._policy = policy
        self._process: AuditProcess | None = None
        self._clip_id = ""
        self.results: OrderedDict[str, AuditResult] = OrderedDict()
        """The latest of this session, by clip."""
        self._received.connect(self._take)

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def begin(self, model: ClipModel) -> None:
        """Start an audit, stopping a running one."""
        self.cancel()
        clip_id = self._clip_id = model.clip.clip_id
        n_frames = sum(
            frames_wanted(stream, model.clip)
            for stream in model.streams.values()
            if isinstance(stream, CameraStream) and stream.files.paths
        )
        self._process = AuditProcess(
            model.clip,
            self._policy,
            epoch_ns=model.epoch_ns,
            n_frames=n_frames,
            on_message=lambda message: self._received.emit(clip_id, message),
        )

    def cancel(self) -> bool:
        """Stop the running audit; return whether there was one."""
        process, self._process = self._process, None
        if process is None:
            return False
        process.cancel()
        return True

    def _take(self, clip_id: str, message: AuditMessage) -> None:
        if self._process is None or clip_id != self._clip_id:
            return  # cancelled meanwhile
        if isinstance(message, AuditProgress):
            self.progressed.emit(message)
            return
        process, self._process = self._process, None
        process.cancel()  # it has ended: this joins its thread
        if isinstance(message, AuditFailed):
            self.failed.emit(message.why)
        else:
            self.results[clip_id] = message
            if len(self.results) > KEPT:
                self.results.popitem(last=False)
            self.finished.emit(message)
