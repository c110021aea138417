"""The window's eyes: cursor, range, selection, panels."""

from __future__ import annotations

from syncaudit_gui.viewmodel.timeline import TimeRange
from syncaudit_gui.widgets.parts import WindowParts
from syncaudit_gui.widgets.theme import Theme

__all__ = ["LookingWindow"]

# Frames decoded ahead of the cursor while it plays.
N_AHEAD = 4


class LookingWindow(WindowParts):
    """Shows what the session says."""

    def set_theme(self, theme: Theme) -> None:
        """Change the colours."""
        super().set_theme(theme)
        self.show_panels()

    def select(self, source: str) -> None:
        """Select a source everywhere, as a person wants it."""
        if self.session is not None:
            self.session.is_chosen = True
        self._show_selected(source)

    def _show_selected(self, source: str) -> None:
        if self.session is None or self.session.model is None:
            return
        self.session.selected = source
        self.films.select(source)
        self.lanes.select(source)
        self.show_panels()

    def move_to(self, time_s: float, *, is_hasty: bool = False, follow: bool = True) -> None:
        """Put the cursor somewhere."""
        session = self.session
        if session is None or session.timeline is None:
            return
        before = session.timeline.visible
        session.timeline.move_to(time_s, follow=follow)
        if session.timeline.visible != before:
            self.lanes.refresh()
        self.show_cursor(is_hasty=is_hasty)

    def jump_to(self, time_s: float) -> None:
        """Put the cursor somewhere; what plays goes on from there."""
        self.move_to(time_s)
        self.player.jumped()

    def _scrub(self, time_s: float, is_down: bool) -> None:
        self.move_to(time_s, is_hasty=is_down, follow=False)
        self.player.jumped()

    def _played(self, time_s: float) -> None:
        self.move_to(time_s)

    def _play_sound(self) -> None:
        """Let the sound run along; it is only heard at its own speed."""
        session = self.session
        model = None if session is None else session.model
        timeline = None if session is None else session.timeline
        is_heard = self.player.is_playing and self.player.clock.speed == 1.0
        if not is_heard or session is None or model is None or timeline is None:
            self.sound.stop()
            return
        why_silent = self.sound.play(model, session.selected, timeline.cursor_s)
        if why_silent:
            self.transport.say(why_silent)

    def show_range(self, wanted: TimeRange) -> None:
        """Look at another part of the clip."""
        if self.session is None or self.session.timeline is None:
            return
        self.session.timeline.show(wanted)
        self.lanes.refresh()
        self.show_state()

    def show_cursor(self, *, is_hasty: bool = False) -> None:
        """Draw the cursor and the pictures at it."""
        session = self.session
        if session is None or session.timeline is None:
            return
        self.lanes.cursor_moved()
        n_ahead = N_AHEAD if self.player.is_playing else 1
        self.films.show_time(session.timeline.cursor_s, is_hasty=is_hasty, n_ahead=n_ahead)
        self.show_state()

    def show_state(self) -> None:
        """Show position, speed and marks in the bottom row."""
        timeline = None if self.session is None else self.session.timeline
        speed = self.player.clock.speed
        self.transport.show_state(timeline, speed, is_playing=self.player.is_playing)

    def show_clocks(self) -> None:
        """Draw everything that clocks move, and what was found where it may be seen."""
        if self.session is not None and self.session.show_findings():
            self.lanes.rebuild()
        self.lanes.refresh()
        self.show_cursor()
        self.show_panels()

    def show_panels(self) -> None:
        """Bring the side panels up to date."""
        session = self.session
        model = None if session is None else session.model
        clip_id = "" if session is None else session.clip_id
        is_hidden = session is not None and bool(clip_id) and session.is_hidden(clip_id)
        selected = "" if session is None else session.selected
        known = self.auditor.known(clip_id)
        self.sources.show_model(model, selected, is_hidden=is_hidden)
        self.evidence.show_source(
            model,
            selected if model is not None else "",
            is_hidden=is_hidden,
            can_audit=model is not None and known is None and not self.auditor.is_running,
        )
        row = None if session is None else session.labels.of(clip_id)
        note = "" if session is None else session.labels.note_of(clip_id)
        is_blind = session is not None and session.is_blind
        self.labels.show_label(row, note, is_blind=is_blind)
        self.labels.setEnabled(model is not None)

    def toggle_corrected(self) -> None:
        """Change between raw and corrected clocks."""
        if self.session is not None and self.session.model is not None:
            if self.session.is_hidden(self.session.clip_id):
                self.transport.say("corrections are hidden until you have labelled the clip")
                return
            self.session.toggle_corrected()
            self.show_clocks()
