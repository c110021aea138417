"""The window's hand: nudges and labels, saved as they are given."""

from __future__ import annotations

from collections.abc import Callable

from syncaudit.errors import SyncAuditError
from syncaudit_gui.viewmodel.labels import Label
from syncaudit_gui.widgets.opening import OpeningWindow

__all__ = ["DecidingWindow"]


class DecidingWindow(OpeningWindow):
    """Saves what a person decides."""

    def nudge(self, by_s: float) -> None:
        """Move the selected source by hand."""
        session = self.session
        if session is None or session.model is None:
            return
        self._saved(lambda: session.nudge(session.selected, by_s))
        self.show_clocks()

    def _drag_nudge(self, source: str, by_s: float, is_over: bool) -> None:
        session = self.session
        if session is None or session.model is None or not source:
            return
        session.preview_nudge(source, 0.0 if is_over else by_s)
        if is_over:
            self._saved(lambda: session.nudge(source, by_s))
        self.select(source)
        self.show_clocks()

    def give_label(self, label: Label) -> None:
        """Label the open clip."""
        session = self.session
        if session is None or session.model is None:
            return
        note = self.labels.note.text()
        self._saved(lambda: session.label(label, note))
        self.clips.refresh()
        self.show_clocks()

    def _write_note(self, note: str) -> None:
        session = self.session
        if session is not None:
            self._saved(lambda: session.write_note(note))

    def set_blind(self, is_blind: bool) -> None:
        """Hide verdicts until clips are labelled, or show them."""
        session = self.session
        if session is None:
            return
        session.is_blind = is_blind
        if session.model is not None and session.is_hidden(session.clip_id):
            session.model.is_corrected = False
            session.model.clocks_changed()
        self.clips.refresh()
        self.show_clocks()

    def _saved(self, change: Callable[[], object]) -> None:
        try:
            change()
        except SyncAuditError as error:
            self.transport.say(f"✕ not saved: {error}", stays=True)
