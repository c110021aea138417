"""Audits for the window: one at a time, with cached results."""

from __future__ import annotations

from collections import OrderedDict

from pyqtgraph.Qt import QtCore

from syncaudit.model import CameraStream
from syncaudit.policy import Policy
from syncaudit_gui.audits import AuditMessage, AuditProcess, AuditProgress, AuditResult
from syncaudit_gui.viewmodel.clip_model import ClipModel, frames_wanted

KEPT = 20


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
        if isinstance(message, str):
            self.failed.emit(message)
        else:
            self.results[clip_id] = message
            if len(self.results) > KEPT:
                self.results.popitem(last=False)
            self.finished.emit(message)
