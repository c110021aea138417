"""How clips come into the window, and leave it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pyqtgraph.Qt import QtCore

from syncaudit.errors import nearest_name
from syncaudit.pipeline import read_clip
from syncaudit_gui.audits import AuditResult
from syncaudit_gui.viewmodel.clip_model import ClipModel, build_clip
from syncaudit_gui.viewmodel.collection import Collection, open_collection
from syncaudit_gui.viewmodel.session import Session
from syncaudit_gui.viewmodel.turning import camera_turning
from syncaudit_gui.widgets.looking import LookingWindow
from syncaudit_gui.widgets.theme import Theme

__all__ = ["OpeningWindow"]

# Panels of the clip before stay until the next one is there: emptied and filled again they flicker.
EMPTY_MS = 150


class OpeningWindow(LookingWindow):
    """Opens collections and clips, and has clips audited."""

    clip_shown = QtCore.Signal()
    audit_ended = QtCore.Signal()
    refused = QtCore.Signal(str)
    """Nothing is shown of what was asked for, and why."""

    def __init__(self, theme: Theme, *, is_auditing: bool) -> None:
        super().__init__(theme)
        self._is_auditing = is_auditing
        self._wanted_clip: str | None = None
        self._opens_blind = False
        self._emptying = QtCore.QTimer(self)
        self._emptying.setSingleShot(True)
        self._emptying.setInterval(EMPTY_MS)
        self._emptying.timeout.connect(self.show_panels)
        self._source = ""

    def open_source(
        self,
        source: str,
        *,
        verdicts: Path | None = None,
        labels: Path | None = None,
        clip_id: str | None = None,
        is_blind: bool = False,
    ) -> None:
        """Open a manifest or an output folder; arguments as for `open_collection`.

        With `is_blind` verdicts are hidden from the start.
        """
        self._wanted_clip = clip_id
        self._opens_blind = is_blind
        self.pages.setCurrentIndex(1)
        self._say("…", "opening", source)
        self._source = source
        self.opener.load(
            partial(_session_of, partial(open_collection, source, verdicts=verdicts, labels=labels))
        )

    def _tell_opening(self, words: str) -> None:
        self._say("…", "opening", f"{self._source}\n{words}")

    def _take_session(self, session: Session) -> None:
        self.close_clip()
        self.auditor.forget()
        self.session = session
        session.is_blind = self._opens_blind
        collection = session.collection
        self.setWindowTitle(f"{collection.name} – syncaudit")
        self.labels.note.setToolTip(f"Labels are kept in {collection.labels_path}")
        if collection.is_apart:
            self.transport.say(
                f"nothing can be written here: labels are kept in {collection.labels_path}",
                stays=True,
            )
        self.clips.table.is_hidden = session.is_hidden
        self.clips.set_batch(session.batch, session.labels)
        wanted = self._wanted_clip or session.first_clip_id()
        if wanted is not None:
            self.open_clip(wanted)

    def _cannot_open(self, why: str) -> None:
        if self.session is None:
            self.pages.setCurrentIndex(0)
            self.welcome.show_words("✕", "This cannot be opened", why)
        elif self.session.model is not None:
            self.left.setCurrentIndex(0)
            self.transport.say(f"✕ {why}")
        else:
            self._say("✕", "This cannot be opened", why)
        self.refused.emit(why)

    def open_clip(self, clip_id: str) -> None:
        """Read a clip and show it."""
        session = self.session
        if session is None:
            return
        self.close_clip()
        session.wanted_id = clip_id
        self.clips.mark(clip_id)
        clip = session.collection.clip(clip_id)
        if clip is None:
            self._cannot_read(_why_not_there(session, clip_id))
            return
        self._say("…", f"reading {clip_id}", f"{len(clip.sources)} sources")

        self.reader.load(lambda _: build_clip(clip, read_clip(clip, is_tolerant=True)))

    def close_clip(self) -> None:
        """Show no clip; audits and decoding end."""
        self.labels.end_typing()
        self.reader.drop()
        self.player.set_timeline(None)
        self.cancel_audit()
        self.films.set_model(None)
        self.lanes.set_model(None, None)
        if self.session is not None:
            self.session.close_clip()
        self._emptying.start()
        self.show_state()

    def _take_clip(self, model: ClipModel) -> None:
        session = self.session
        if session is None:
            return
        self._emptying.stop()
        session.open_clip(model)
        self.player.set_timeline(session.timeline)
        self.films.set_model(model)
        self.lanes.set_model(model, session.timeline)
        self.left.setCurrentIndex(0)
        self.fit_films()
        self._show_selected(session.selected)
        self.show_cursor()
        self.show_state()
        self._take_known_audit()
        if model.judgement is None and self._is_auditing:
            self.begin_audit()
        self.clip_shown.emit()

    def _take_known_audit(self) -> None:
        """Show what an audit of this clip found before, if it was audited in this session."""
        session = self.session
        known = None if session is None else self.auditor.known(session.clip_id)
        if known is not None:
            self._take_audit(known)

    def _cannot_read(self, why: str) -> None:
        self.show_panels()
        self._say("✕", "This clip cannot be read", why)
        self.refused.emit(why)

    def _say(self, sign: str, title: str, text: str) -> None:
        self.message.show_words(sign, title, text)
        self.left.setCurrentIndex(1)

    def begin_audit(self) -> None:
        """Audit the open clip in a process of its own."""
        session = self.session
        if session is None or session.model is None or self.auditor.is_running:
            return
        self.progress.begin()
        self.evidence.measure.hide()
        self.auditor.begin(session.model)

    def cancel_audit(self) -> None:
        """Stop the audit that runs."""
        if self.auditor.cancel():
            self.progress.hide()
            self.show_panels()
            self.transport.say("audit cancelled")

    def _take_audit(self, result: AuditResult) -> None:
        self.progress.hide()
        session = self.session
        model = None if session is None else session.model
        if session is None or model is None:
            return
        session.add_streams(result.aligned)
        session.take_judgement(result.judgement, result.row)
        model.events = model.events.joined(result.events)
        for name, rotation in result.rotations.items():
            model.turning[name] = camera_turning(rotation, model.epoch_ns)
        model.clocks_changed()
        self.lanes.rebuild()
        self.lanes.plots.fit_heights()
        self.clips.refresh()
        self._show_selected(session.selected)
        self.show_clocks()
        self.audit_ended.emit()

    def _audit_failed(self, why: str) -> None:
        self.progress.hide()
        self.show_panels()
        self.transport.say(f"✕ {why}", stays=True)
        self.audit_ended.emit()


def _session_of(opened: Callable[..., Collection], tell: Callable[[str], None]) -> Session:
    """Return the session of what is opened, without holding the window's thread meanwhile.

    Looking for cycles among a hundred thousand rows would stop all threads for 0.2 s at a time.
    There are none: the rows go as soon as nothing needs them.
    """
    gc.disable()
    try:
        return Session(opened(tell=tell))
    finally:
        gc.freeze()
        gc.enable()


def _why_not_there(session: Session, clip_id: str) -> str:
    if session.batch.find(clip_id) is not None:
        return f"there is a verdict on '{clip_id}', but no manifest row beside it"
    near = nearest_name(clip_id, [row.clip_id for row in session.collection.rows[:1000]])
    return f"there is no clip '{clip_id}'. {near}".strip()
