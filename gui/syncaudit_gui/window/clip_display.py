"""Show the open clip: cursor, range, selection, panels, sound."""

from __future__ import annotations

from syncaudit_gui.viewmodel.comparing import compare
from syncaudit_gui.viewmodel.session import Workspace
from syncaudit_gui.viewmodel.timeline import TimeRange
from syncaudit_gui.widgets.panels import WindowPanels
from syncaudit_gui.window.auditor import Auditor
from syncaudit_gui.window.player import Player, SoundOutput

# Frames decoded ahead of the cursor during playback.
N_AHEAD = 4


class ClipDisplay:
    """Updates the panels to the state of the session."""

    def __init__(
        self,
        work: Workspace,
        panels: WindowPanels,
        player: Player,
        sound: SoundOutput,
        auditor: Auditor,
    ) -> None:
        self._work, self._panels = work, panels
        self._player, self._sound, self._auditor = player, sound, auditor

    def select(self, source: str) -> None:
        """Select a source everywhere, as requested by the user."""
        self._work.session.is_chosen = True
        self.show_selected(source)

    def show_selected(self, source: str) -> None:
        """Select a source everywhere."""
        opened = self._work.opened
        if opened is None:
            return
        opened.session.selected = source
        self._panels.films.select(source)
        self._panels.lanes.select(source)
        self.show_panels()

    def move_to(self, time_s: float, *, is_hasty: bool = False, follow: bool = True) -> None:
        timeline = self._work.session.timeline
        if timeline is None:
            return
        before = timeline.visible
        timeline.move_to(time_s, follow=follow)
        if timeline.visible != before:
            self._panels.lanes.refresh()
        self.show_cursor(is_hasty=is_hasty)

    def jump_to(self, time_s: float) -> None:
        """Move the cursor; playback continues from there."""
        self.move_to(time_s)
        self._player.jumped()

    def scrub(self, time_s: float, is_down: bool) -> None:
        """Follow the mouse."""
        self.move_to(time_s, is_hasty=is_down, follow=False)
        self._player.jumped()

    def play_sound(self) -> None:
        """Play the sound along; it is only audible at normal speed."""
        opened = self._work.opened
        is_heard = self._player.is_playing and self._player.clock.speed == 1.0
        if opened is None or not is_heard:
            self._sound.stop()
            return
        session, model = opened
        why_silent = self._sound.play(model, session.selected, model.timeline.cursor_s)
        if why_silent:
            self._panels.transport.announce(why_silent)

    def show_range(self, wanted: TimeRange) -> None:
        timeline = self._work.session.timeline
        if timeline is not None:
            timeline.show(wanted)
            self._panels.lanes.refresh()
            self.show_state()

    def show_cursor(self, *, is_hasty: bool = False) -> None:
        """Draw the cursor and the frames at it."""
        timeline = self._work.session.timeline
        if timeline is None:
            return
        self._panels.lanes.overlay.move_cursor()
        n_ahead = N_AHEAD if self._player.is_playing else 1
        self._panels.films.show_time(timeline.cursor_s, is_hasty=is_hasty, n_ahead=n_ahead)
        self.show_state()

    def show_marks(self) -> None:
        self._panels.lanes.overlay.update()
        self.show_state()

    def show_state(self) -> None:
        """Show position, speed and marks in the bottom row."""
        self._panels.transport.show_state(
            self._work.session.timeline,
            self._player.clock.speed,
            is_playing=self._player.is_playing,
        )

    def show_clocks(self) -> None:
        """Redraw everything that depends on clocks, and findings that may be shown."""
        if self._work.session.show_findings():
            self._panels.lanes.rebuild()
        self._panels.lanes.refresh()
        self.show_cursor()
        self.show_panels()

    def show_panels(self) -> None:
        session, panels = self._work.session, self._panels
        model, clip_id, selected = session.model, session.clip_id, session.selected
        is_hidden = model is not None and session.is_hidden(clip_id)
        panels.sources.show_model(model, selected, is_hidden=is_hidden)
        is_audited = clip_id in self._auditor.results or self._auditor.is_running
        panels.evidence.show_source(
            model,
            selected if model is not None else "",
            is_hidden=is_hidden,
            can_audit=model is not None and not is_audited,
        )
        panels.events.show_model(model)
        panels.headline.setText(panels.clips.headline_of(clip_id))
        found, std_s = (None, None) if model is None or is_hidden else compare(model, selected)
        panels.comparison.show_comparison(
            found,
            std_s,
            is_corrected=model is not None and model.is_corrected,
        )
        self.show_label()

    def show_label(self) -> None:
        session, panels = self._work.session, self._panels
        clip_id = session.clip_id
        panels.labels.show_label(
            session.labels.of(clip_id),
            session.labels.note_of(clip_id),
            is_blind=session.batch.is_blind,
        )
        panels.labels.setEnabled(session.model is not None)

    def toggle_corrected(self) -> None:
        opened = self._work.opened
        if opened is None:
            return
        if opened.session.is_hidden(self._work.session.clip_id):
            self._panels.transport.announce(
                "corrections are hidden until you have labelled the clip"
            )
            return
        opened.session.toggle_corrected()
        self.show_clocks()
