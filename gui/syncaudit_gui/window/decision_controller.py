"""Nudges and labels, saved as they are given."""

from __future__ import annotations

from collections.abc import Callable

from syncaudit.errors import SyncAuditError
from syncaudit.evaluation.labels import Label
from syncaudit_gui.viewmodel.session import Workspace
from syncaudit_gui.viewmodel.wording import word_nudge
from syncaudit_gui.widgets.clips_panel import ClipsPanel
from syncaudit_gui.widgets.side_panels import LabelBar
from syncaudit_gui.widgets.transport import Transport
from syncaudit_gui.window.clip_display import ClipDisplay


class DecisionController:
    """Saves the user's decisions on the open clip."""

    def __init__(
        self,
        work: Workspace,
        display: ClipDisplay,
        *,
        clips: ClipsPanel,
        labels: LabelBar,
        transport: Transport,
    ) -> None:
        self._work, self._display = work, display
        self._clips, self._labels, self._transport = clips, labels, transport

    def nudge(self, by_s: float) -> None:
        """Move the selected source by hand."""
        opened = self._work.opened
        if opened is None:
            return
        session = opened.session
        is_saved = self._is_saved(lambda: session.nudge(session.selected, by_s))
        self._display.show_clocks()
        if is_saved:
            self._announce_nudge(session.selected)

    def drag_nudge(self, source: str, by_s: float, is_over: bool) -> None:
        """Move a source with the mouse; saved when the drag is over."""
        opened = self._work.opened
        if opened is None or not source:
            return
        session = opened.session
        session.preview_nudge(source, 0.0 if is_over else by_s)
        is_saved = is_over and by_s != 0.0 and self._is_saved(lambda: session.nudge(source, by_s))
        self._display.select(source)
        self._display.show_clocks()
        if is_saved or not is_over:
            self._announce_nudge(source)

    def _announce_nudge(self, source: str) -> None:
        """Show the current nudge of a source, and what moved with it."""
        opened = self._work.opened
        if opened is None:
            return
        words = f"{source} nudged by {word_nudge(opened.model.nudges_s.get(source, 0.0))} ms"
        mates = opened.session.clock_mates(source)[1:]
        if mates:
            words += f", and {', '.join(mates)} on the same clock"
        if opened.session.is_hidden(self._work.session.clip_id):
            words += "; C shows it once you have labelled the clip"
        self._transport.announce(words)

    def give_label(self, label: Label) -> None:
        opened = self._work.opened
        if opened is None:
            return
        session, note = opened.session, self._labels.note.text()
        self._labels.note.setModified(False)
        if self._is_saved(lambda: session.label(label, note)):
            is_given = session.labels.of(session.clip_id) is not None
            given = f"{session.clip_id} labelled {label}"
            words = given if is_given else f"label of {session.clip_id} removed"
            self._transport.announce(f"{words} (Ctrl+Z: undo)")
        self._clips.refresh()
        if session.batch.is_blind:
            self._hide_corrections()
            self._display.show_clocks()
        else:
            self._display.show_label()

    def write_note(self, note: str) -> None:
        self._is_saved(lambda: self._work.session.write_note(note))

    def undo(self) -> None:
        """Undo the last nudge or label."""
        self._go("undo", self._work.session.undo.undo)

    def redo(self) -> None:
        self._go("redo", self._work.session.undo.redo)

    def _go(self, verb: str, step: Callable[[], str | None]) -> None:
        done: list[str | None] = []
        if self._is_saved(lambda: done.append(step())):
            self._transport.announce(
                f"nothing to {verb}" if done[0] is None else f"{verb}ne: {done[0]}"
            )
        self._clips.refresh()
        self._hide_corrections()
        self._display.show_clocks()

    def toggle_blind(self) -> None:
        self.set_blind(not self._work.session.batch.is_blind)

    def set_blind(self, is_blind: bool) -> None:
        """Hide verdicts until clips are labelled, or show them."""
        self._work.session.batch.is_blind = is_blind
        self._hide_corrections()
        self._clips.arrange()
        self._display.show_clocks()

    def _hide_corrections(self) -> None:
        """Draw raw clocks if the verdict is hidden."""
        opened = self._work.opened
        if opened is not None and opened.session.is_hidden(self._work.session.clip_id):
            opened.model.is_corrected = False
            opened.model.clocks_changed()

    def _is_saved(self, change: Callable[[], object]) -> bool:
        try:
            change()
        except SyncAuditError as error:
            self._transport.announce(f"✕ not saved: {error}", stays=True)
            return False
        return True
