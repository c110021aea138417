"""What each key and button does in the window."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from syncaudit_gui.viewmodel.bindings import Action
from syncaudit_gui.viewmodel.events import EventKind
from syncaudit_gui.viewmodel.labels import Label
from syncaudit_gui.viewmodel.timeline import MIN_SPAN_S, Timeline, TimeRange
from syncaudit_gui.viewmodel.wording import word_span
from syncaudit_gui.widgets.filmstrip import Arrangement

if TYPE_CHECKING:
    from syncaudit_gui.widgets.window import ViewerWindow

__all__ = ["Actions"]

ZOOM = 1.6
LOOP_S = 0.5
# A step of sources that have no frames.
STEP_S = 0.04


class Actions:
    """The window's verbs.

    Parameters
    ----------
    window : ViewerWindow
        What they act on.
    """

    def __init__(self, window: ViewerWindow) -> None:
        self._window = window
        w = window
        self._verbs: dict[Action, Callable[[], object]] = {
            Action.PLAY: w.player.toggle,
            Action.FRAME_BACK: partial(self._step, -1),
            Action.FRAME_ON: partial(self._step, 1),
            Action.TEN_BACK: partial(self._step, -10),
            Action.TEN_ON: partial(self._step, 10),
            Action.SLOWER: partial(self._speed, -1),
            Action.FASTER: partial(self._speed, 1),
            Action.NEXT_EVENT: partial(self._event, 1),
            Action.PREVIOUS_EVENT: partial(self._event, -1),
            Action.NEXT_FLASH: partial(self._event, 1, EventKind.FLASH),
            Action.NEXT_TURN: partial(self._event, 1, EventKind.TURN),
            Action.NEXT_BUMP: partial(self._event, 1, EventKind.BUMP),
            Action.NEXT_BRAKE: partial(self._event, 1, EventKind.BRAKE),
            Action.NEXT_ONSET: partial(self._event, 1, EventKind.ONSET),
            Action.NEXT_FAULT: partial(self._event, 1, EventKind.FAULT),
            Action.NEXT_STEP: partial(self._event, 1, EventKind.STEP),
            Action.LOOP: self._loop,
            Action.MEASURE: self._measure,
            Action.SOURCE_UP: partial(self._source, -1),
            Action.SOURCE_DOWN: partial(self._source, 1),
            Action.EARLIER: partial(w.nudge, -1e-3),
            Action.LATER: partial(w.nudge, 1e-3),
            Action.EARLIER_10: partial(w.nudge, -1e-2),
            Action.LATER_10: partial(w.nudge, 1e-2),
            Action.EARLIER_FRAME: partial(self._nudge_frame, -1),
            Action.LATER_FRAME: partial(self._nudge_frame, 1),
            Action.CORRECTED: w.toggle_corrected,
            Action.ZOOM_IN: partial(self._zoom, 1.0 / ZOOM),
            Action.ZOOM_OUT: partial(self._zoom, ZOOM),
            Action.ZOOM_ALL: self._zoom_all,
            Action.ENLARGE: self.enlarge,
            Action.GRID: partial(self._arrange, Arrangement.GRID),
            Action.SPECTROGRAM: self._spectrogram,
            Action.ACCEPT: partial(w.give_label, Label.ACCEPT),
            Action.REJECT: partial(w.give_label, Label.REJECT),
            Action.UNSURE: partial(w.give_label, Label.UNSURE),
            Action.NOTE: w.labels.note.setFocus,
            Action.BLIND: self._blind,
            Action.NEXT_CLIP: partial(self._clip, 1),
            Action.PREVIOUS_CLIP: partial(self._clip, -1),
            Action.UNDO: self._undo,
            Action.REDO: self._redo,
            Action.SNAPSHOT: self._snapshot,
            Action.THEME: w.toggle_theme,
            Action.SHEET: w.sheet.toggle,
            Action.QUIT: w.close,
            Action.ESCAPE: self._escape,
        }

    def do(self, action: Action) -> None:
        """Do what a key or button stands for."""
        if self._window.sheet.isVisible():
            self._window.sheet.hide()
            if action in (Action.SHEET, Action.ESCAPE):
                return
        self._verbs[action]()

    def enlarge(self, camera: str = "") -> None:
        """Show a camera large, or all again."""
        if camera:
            self._window.select(camera)
        self._arrange(Arrangement.ONE)

    def _arrange(self, wanted: Arrangement) -> None:
        films = self._window.films
        films.set_arrangement(Arrangement.STRIP if films.arrangement is wanted else wanted)
        self._window.fit_films()

    def _step(self, by: int) -> None:
        session = self._window.session
        if session is None or session.model is None or session.timeline is None:
            return
        self._window.player.pause()
        model = session.model
        table = model.frames_of(session.selected)
        if table is None:  # a source without frames: those of the first camera
            tables = [t for name in model.cameras if (t := model.frames_of(name)) is not None]
            table = tables[0] if tables else None
        now_s = session.timeline.cursor_s
        time_s = now_s + by * STEP_S if table is None else table.stepped(now_s, by)
        if time_s is not None:
            self._window.move_to(time_s)

    def _speed(self, by: int) -> None:
        self._window.transport.say(f"speed {self._window.player.change_speed(by):g}×")

    def _event(self, by: int, kind: EventKind | None = None) -> None:
        session = self._window.session
        if session is None or session.model is None or session.timeline is None:
            return
        found = session.model.events.next(session.timeline.cursor_s, by, kind)
        if found is None:
            where = "after" if by > 0 else "before"
            self._window.transport.say(f"no {kind or 'event'} {where} the cursor")
        else:
            self._window.jump_to(found)

    def _loop(self) -> None:
        timeline = self._timeline
        if timeline is None:
            return
        if timeline.loop is not None:
            timeline.loop = None
        else:
            ends = (timeline.cursor_s - LOOP_S, timeline.cursor_s + LOOP_S)
            marked = (min(timeline.marks_s, default=0.0), max(timeline.marks_s, default=0.0))
            if marked[1] - marked[0] >= MIN_SPAN_S:
                ends = marked
            limits = timeline.limits
            timeline.loop = TimeRange(
                start_s=max(ends[0], limits.start_s), stop_s=min(ends[1], limits.stop_s)
            )
        self._window.lanes.marks_changed()
        self._window.show_state()

    def _measure(self) -> None:
        timeline = self._timeline
        if timeline is not None:
            timeline.mark()
            self._window.lanes.marks_changed()
            self._window.show_state()
            if len(timeline.marks_s) == 2 and timeline.measured_s is not None:
                self._window.transport.say(f"measured {word_span(timeline.measured_s)}")

    def _source(self, by: int) -> None:
        if self._window.session is not None:
            self._window.select(self._window.session.select_neighbour(by))

    def _nudge_frame(self, by: int) -> None:
        session = self._window.session
        if session is None or session.model is None:
            return
        table = session.model.frames_of(session.selected)
        if table is None or not table.period_s:
            self._window.transport.say("select a camera to nudge by its frames")
            return
        self._window.nudge(by * table.period_s)

    def _zoom(self, factor: float) -> None:
        timeline = self._timeline
        if timeline is not None:
            self._window.show_range(timeline.visible.zoomed(factor, timeline.cursor_s))

    def _zoom_all(self) -> None:
        timeline = self._timeline
        if timeline is not None:
            self._window.show_range(timeline.limits)

    def _spectrogram(self) -> None:
        made = self._window.lanes.spectrograms
        made.is_wanted = not made.is_wanted
        self._window.lanes.invalidate()

    def _blind(self) -> None:
        if self._window.session is not None:
            self._window.set_blind(not self._window.session.is_blind)

    def _clip(self, by: int) -> None:
        session = self._window.session
        if session is None:
            return
        row = session.neighbour(by)
        if row is None:
            self._window.transport.say("no clip is listed")
        elif row.clip_id == session.wanted_id:
            self._window.transport.say(f"this is the {'last' if by > 0 else 'first'} clip listed")
        else:
            self._window.open_clip(row.clip_id)

    def _undo(self) -> None:
        session = self._window.session
        words = None if session is None else session.undo.undo()
        self._window.transport.say("nothing to undo" if words is None else f"undone: {words}")
        self._window.show_clocks()

    def _redo(self) -> None:
        session = self._window.session
        words = None if session is None else session.undo.redo()
        self._window.transport.say("nothing to redo" if words is None else f"redone: {words}")
        self._window.show_clocks()

    def _snapshot(self) -> None:
        session = self._window.session
        name = "syncaudit" if session is None or not session.clip_id else session.clip_id
        stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
        path = Path.cwd() / f"{name.replace('/', '_')}-{stamp}.png"
        is_saved = self._window.grab().save(str(path))
        self._window.transport.say(f"saved {path}" if is_saved else f"✕ cannot write {path}")

    def _escape(self) -> None:
        """Undo what was opened last: a large picture, marks and loop, an audit."""
        window, timeline = self._window, self._timeline
        if window.films.arrangement is not Arrangement.STRIP:
            self._arrange(window.films.arrangement)
        elif timeline is not None and (timeline.marks_s or timeline.loop is not None):
            timeline.marks_s.clear()
            timeline.loop = None
            window.lanes.marks_changed()
            window.show_state()
        else:
            window.cancel_audit()

    @property
    def _timeline(self) -> Timeline | None:
        session = self._window.session
        return None if session is None else session.timeline
