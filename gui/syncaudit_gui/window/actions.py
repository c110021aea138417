"""Actions of keys and buttons in the window."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pyqtgraph.Qt import QtWidgets

from syncaudit.evaluation.labels import Label
from syncaudit_gui.viewmodel.bindings import Action
from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.events import EventKind
from syncaudit_gui.viewmodel.session import Workspace
from syncaudit_gui.viewmodel.wording import word_span
from syncaudit_gui.widgets.filmstrip import Arrangement
from syncaudit_gui.widgets.panels import WindowPanels
from syncaudit_gui.window.audit_controller import AuditController
from syncaudit_gui.window.clip_display import ClipDisplay
from syncaudit_gui.window.decision_controller import DecisionController
from syncaudit_gui.window.opening_controller import OpeningController
from syncaudit_gui.window.player import Player

if TYPE_CHECKING:
    from syncaudit_gui.window.window import ViewerWindow

ZOOM = 1.6
# Step for sources without frames.
STEP_S = 0.04


class Actions:
    """Implements the actions of keys and buttons."""

    def __init__(
        self,
        work: Workspace,
        panels: WindowPanels,
        display: ClipDisplay,
        player: Player,
        opening: OpeningController,
        audits: AuditController,
        decisions: DecisionController,
        *,
        window: ViewerWindow,
    ) -> None:
        self._work, self._panels, self._display, self._player = work, panels, display, player
        self._audits, self._decisions, self._window = audits, decisions, window
        self._is_clip_focused = True
        self._clip_verbs: dict[Action, Callable[[ClipModel], object]] = {
            Action.FRAME_BACK: partial(self._step, -1),
            Action.FRAME_ON: partial(self._step, 1),
            Action.TEN_BACK: partial(self._step, -10),
            Action.TEN_ON: partial(self._step, 10),
            Action.NEXT_EVENT: partial(self._event, 1, None),
            Action.PREVIOUS_EVENT: partial(self._event, -1, None),
            **{Action(f"next_{kind}"): partial(self._event, 1, kind) for kind in EventKind},
            Action.LOOP: self._loop,
            Action.MEASURE: self._measure,
            Action.EARLIER_FRAME: partial(self._nudge_frame, -1),
            Action.LATER_FRAME: partial(self._nudge_frame, 1),
            Action.ZOOM_IN: partial(self._zoom, 1.0 / ZOOM),
            Action.ZOOM_OUT: partial(self._zoom, ZOOM),
            Action.ZOOM_ALL: lambda model: display.show_range(model.timeline.limits),
        }
        """What is done with the open clip; nothing without one."""
        self._verbs: dict[Action, Callable[[], object]] = {
            Action.PLAY: player.toggle,
            Action.SLOWER: partial(self._speed, -1),
            Action.FASTER: partial(self._speed, 1),
            Action.SOURCE_UP: partial(self._source, -1),
            Action.SOURCE_DOWN: partial(self._source, 1),
            Action.EARLIER: partial(decisions.nudge, -1e-3),
            Action.LATER: partial(decisions.nudge, 1e-3),
            Action.EARLIER_10: partial(decisions.nudge, -1e-2),
            Action.LATER_10: partial(decisions.nudge, 1e-2),
            Action.CORRECTED: display.toggle_corrected,
            Action.ENLARGE: self.enlarge,
            Action.GRID: partial(self._arrange, Arrangement.GRID),
            Action.SPECTROGRAM: panels.lanes.toggle_spectrograms,
            Action.EVENTS: self._events,
            Action.ACCEPT: partial(self._label, Label.ACCEPT),
            Action.REJECT: partial(self._label, Label.REJECT),
            Action.UNSURE: partial(self._label, Label.UNSURE),
            Action.NOTE: panels.labels.note.setFocus,
            Action.BLIND: decisions.toggle_blind,
            Action.NEXT_CLIP: partial(opening.open_neighbour, 1),
            Action.PREVIOUS_CLIP: partial(opening.open_neighbour, -1),
            Action.UNDO: decisions.undo,
            Action.REDO: decisions.redo,
            Action.SNAPSHOT: self._snapshot,
            Action.THEME: window.toggle_theme,
            Action.SHEET: panels.sheet.toggle,
            Action.QUIT: window.close,
            Action.ESCAPE: self._escape,
        }

    def do(self, action: Action) -> None:
        """Run the action of a key or button."""
        if self._panels.sheet.isVisible():
            self._panels.sheet.hide()
            if action in (Action.SHEET, Action.ESCAPE):
                return
        opened = self._work.opened
        if action in self._verbs:
            self._verbs[action]()
        elif opened is not None:
            self._clip_verbs[action](opened.model)

    def focus(self, clicked: QtWidgets.QWidget | None) -> None:
        """Determine from a click whether the user works on the clip or on the list.

        `clicked` is None if the clip was just opened. A click near the list may have missed the
        filter, and what is typed next must not label anything.
        """
        clips = self._panels.clips
        is_beside = clicked is clips or (clicked is not None and clips.isAncestorOf(clicked))
        is_line = clicked is not None and clips.view.isAncestorOf(clicked)
        self._is_clip_focused = is_line or not is_beside

    def _label(self, label: Label) -> None:
        if self._is_clip_focused:
            self._decisions.give_label(label)
        else:
            self._panels.transport.announce("to label by keys, click the clip first")

    def enlarge(self, camera: str = "") -> None:
        """Enlarge a camera, or show all again."""
        if camera:
            self._display.select(camera)
        self._arrange(Arrangement.ONE)

    def _arrange(self, wanted: Arrangement) -> None:
        films = self._panels.films
        films.set_arrangement(Arrangement.STRIP if films.arrangement is wanted else wanted)
        self._panels.fit_films()

    def _step(self, by: int, model: ClipModel) -> None:
        self._player.pause()
        table = model.frames_of(self._work.session.selected)
        if table is None:  # a source without frames: use the first camera
            tables = [t for name in model.cameras if (t := model.frames_of(name)) is not None]
            table = tables[0] if tables else None
        now_s = model.timeline.cursor_s
        time_s = now_s + by * STEP_S if table is None else table.stepped(now_s, by)
        if time_s is not None:
            self._display.move_to(time_s)

    def _speed(self, by: int) -> None:
        self._panels.transport.announce(f"speed {self._player.change_speed(by):g}×")

    def _event(self, by: int, kind: EventKind | None, model: ClipModel) -> None:
        found = model.events.next(model.timeline.cursor_s, by, kind)
        if found is None:
            where = "after" if by > 0 else "before"
            self._panels.transport.announce(f"no {kind or 'event'} {where} the cursor")
        else:
            self._display.jump_to(found)

    def _loop(self, model: ClipModel) -> None:
        model.timeline.toggle_loop()
        self._display.show_marks()

    def _measure(self, model: ClipModel) -> None:
        timeline = model.timeline
        timeline.mark()
        self._display.show_marks()
        if len(timeline.marks_s) == 2 and timeline.measured_s is not None:
            self._panels.transport.announce(f"measured {word_span(timeline.measured_s)}")

    def _source(self, by: int) -> None:
        self._display.select(self._work.session.select_neighbour(by))

    def _nudge_frame(self, by: int, model: ClipModel) -> None:
        table = model.frames_of(self._work.session.selected)
        if table is None or not table.period_s:
            self._panels.transport.announce("select a camera to nudge by its frames")
            return
        self._decisions.nudge(by * table.period_s)

    def _zoom(self, factor: float, model: ClipModel) -> None:
        timeline = model.timeline
        self._display.show_range(timeline.visible.zoomed(factor, timeline.cursor_s))

    def _events(self) -> None:
        events = self._panels.events
        events.setVisible(events.isHidden())
        self._display.show_panels()

    def _snapshot(self) -> None:
        name = self._work.session.clip_id or "syncaudit"
        stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
        path = Path.cwd() / f"{name.replace('/', '_')}-{stamp}.png"
        is_saved = self._window.grab().save(str(path))
        self._panels.transport.announce(f"saved {path}" if is_saved else f"✕ cannot write {path}")

    def _escape(self) -> None:
        """Undo the latest of: an enlarged frame, marks and loop, a running audit."""
        films, timeline = self._panels.films, self._work.session.timeline
        if films.arrangement is not Arrangement.STRIP:
            self._arrange(films.arrangement)
        elif timeline is not None and timeline.clear_marks():
            self._display.show_marks()
        else:
            self._audits.cancel()
