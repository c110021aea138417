"""The window's hand: nudges and labels, saved as they are given."""

from __future__ import annotations

from collections.abc import Callable

from syncaudit.errors import SyncAuditError
from syncaudit_gui.viewmodel.labels import Label
from syncaudit_gui.viewmodel.wording import word_nudge
from syncaudit_gui.widgets.opening import OpeningWindow

__all__ = ["DecidingWindow"]


class DecidingWindow(OpeningWindow):
    """Saves what a person decides."""

    def nudge(self, by_s: float) -> None:
        """Move the selected source by hand."""
        session = self.session
        if session is None or session.model is None:
            return
        is_saved = self._saved(lambda: session.nudge(session.selected, by_s))
        self.show_clocks()
        if is_saved:
            self._say_nudge(session.selected)

    def _drag_nudge(self, source: str, by_s: float, is_over: bool) -> None:
        session = self.session
        if session is None or session.model is None or not source:
            return
        session.preview_nudge(source, 0.0 if is_over else by_s)
        is_saved = is_over and by_s != 0.0 and self._saved(lambda: session.nudge(source, by_s))
        self.select(source)
        self.show_clocks()
        if is_saved or not is_over:
            self._say_nudge(source)

    def _say_nudge(self, source: str) -> None:
        """Say by how much a source is nudged now, and what moved with it."""
        session = self.session
        if session is None or session.model is None:
            return
        nudge_s = session.model.nudges_s.get(source, 0.0)
        mates = session.clock_mates(source)[1:]
        words = f"{source} nudged by {word_nudge(nudge_s)} ms"
        if mates:
            words += f", and {', '.join(mates)} of the same clock"
        if session.is_hidden(session.clip_id):
            words += "; C shows it once you have labelled the clip"
        self.transport.say(words)

    def give_label(self, label: Label) -> None:
        """Label the open clip."""
        session = self.session
        if session is None or session.model is None:
            return
        note = self.labels.note.text()
        self.labels.note.setModified(False)
        self._saved(lambda: session.label(label, note))
        self.clips.refresh()
        if session.is_blind:
            self._hide_corrections()
            self.show_clocks()
        else:
            self.show_panels()

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
        self._hide_corrections()
        self.clips.arrange()
        self.show_clocks()

    def _hide_corrections(self) -> None:
        """Draw raw clocks where a verdict is hidden."""
        session = self.session
        model = None if session is None else session.model
        if session is not None and model is not None and session.is_hidden(session.clip_id):
            model.is_corrected = False
            model.clocks_changed()

    def _saved(self, change: Callable[[], object]) -> bool:
        try:
            change()
        except SyncAuditError as error:
            self.transport.say(f"✕ not saved: {error}", stays=True)
            return False
        return True
