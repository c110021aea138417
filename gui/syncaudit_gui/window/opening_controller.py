"""Open and close collections and clips in the window.

They are read on threads, of which only the result of the newest request arrives.
"""

from __future__ import annotations

import gc
import threading
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pyqtgraph.Qt import QtCore, QtWidgets

from syncaudit.errors import SyncAuditError, nearest_name
from syncaudit.pipeline import read_clip
from syncaudit_gui.viewmodel.clip_model import ClipModel, build_clip
from syncaudit_gui.viewmodel.collection import Collection, open_collection
from syncaudit_gui.viewmodel.session import Session, Workspace
from syncaudit_gui.widgets.panels import WindowPanels
from syncaudit_gui.window.audit_controller import AuditController
from syncaudit_gui.window.clip_display import ClipDisplay
from syncaudit_gui.window.player import Player

# The previous clip stays on screen until the next one is ready: clearing it would flicker.
EMPTY_MS = 150

# Reading a clip that was left cannot be stopped: one more may start beside it, but not a third.
MOST_THREADS = 2


class OpeningController(QtCore.QObject):
    """Opens collections and clips.

    With `is_auditing`, clips without a verdict are audited as they are opened.
    """

    clip_shown = QtCore.Signal()
    refused = QtCore.Signal(str)
    """Nothing can be shown of what was requested, and why."""

    def __init__(
        self,
        work: Workspace,
        panels: WindowPanels,
        display: ClipDisplay,
        player: Player,
        audits: AuditController,
        *,
        is_auditing: bool,
        window: QtWidgets.QWidget,
    ) -> None:
        super().__init__(window)
        self._work, self._panels, self._display = work, panels, display
        self._player, self._audits, self._is_auditing = player, audits, is_auditing
        self._window = window
        self._collections, self._clips = Loader(self), Loader(self)
        self._collections.loaded.connect(self._take_session)
        self._collections.progressed.connect(self._show_progress)
        self._collections.failed.connect(self._cannot_open)
        self._clips.loaded.connect(self._take_clip)
        self._clips.failed.connect(self._cannot_read)
        self._wanted_clip: str | None = None
        self.source = ""
        """Source opened last, or being opened."""
        self._emptying = QtCore.QTimer(
            self, singleShot=True, interval=EMPTY_MS, timeout=self._show_reading
        )
        self._reading = ("", "")
        self._read: ClipModel | None = None
        self._showing = QtCore.QTimer(self, singleShot=True, interval=0, timeout=self._show_clip)

    def open_source(
        self,
        source: str,
        *,
        rules: Mapping[str, Any] | None = None,
        verdicts: Path | None = None,
        labels: Path | None = None,
        clip_id: str | None = None,
        is_blind: bool = False,
    ) -> None:
        """Open a manifest or an output folder; arguments as for `open_collection`.

        With `is_blind` verdicts are hidden initially.
        """
        self._wanted_clip = clip_id
        self._panels.show_message("…", "opening", source)
        self.source = source
        self._collections.load(
            partial(
                _session_of,
                partial(open_collection, source, rules=rules, verdicts=verdicts, labels=labels),
                is_blind=is_blind,
            )
        )

    def _show_progress(self, words: str) -> None:
        self._panels.show_message("…", "opening", f"{self.source}\n{words}")

    def _take_session(self, session: Session) -> None:
        self.close_clip()
        self._audits.forget()
        self._work.session = session
        collection, panels = session.collection, self._panels
        self._window.setWindowTitle(f"{collection.name} – syncaudit")
        panels.labels.note.setToolTip(f"Labels are kept in {collection.labels_path}")
        if collection.is_apart:
            panels.transport.announce(
                f"this folder is not writable: labels are kept in {collection.labels_path}",
                stays=True,
            )
        panels.clips.table.is_hidden = session.is_hidden
        panels.clips.set_batch(session.batch, session.labels)
        wanted = self._wanted_clip or session.first_clip_id()
        if wanted is not None:
            self.open_clip(wanted)

    def _cannot_open(self, why: str) -> None:
        if self._work.is_empty:
            self._panels.show_welcome("✕", "This cannot be opened", why)
        elif self._work.opened is not None:
            self._panels.show_clip()
            self._panels.transport.announce(f"✕ {why}")
        else:
            self._panels.show_message("✕", "This cannot be opened", why)
        self.refused.emit(why)

    def open_clip(self, clip_id: str) -> None:
        """Read a clip and show it."""
        session = self._work.session
        self.close_clip()
        session.wanted_id = clip_id
        self._panels.clips.mark(clip_id)
        clip = session.collection.clip(clip_id)
        if clip is None:
            self._cannot_read(_why_not_there(session, clip_id))
            return
        self._reading = (f"reading {clip_id}", f"{len(clip.sources)} sources")
        self._clips.load(lambda _: build_clip(clip, read_clip(clip, is_tolerant=True)))

    def open_neighbour(self, by: int) -> None:
        """Open the clip `by` lines further in the list."""
        session, announce = self._work.session, self._panels.transport.announce
        row = session.batch.neighbour(session.wanted_id, by)
        if row is None:
            announce("no clip is listed")
        elif row.clip_id == session.wanted_id:
            announce(f"this is the {'last' if by > 0 else 'first'} clip listed")
        else:
            self.open_clip(row.clip_id)

    def close_clip(self) -> None:
        """Close the clip; it stays on screen until the next one, for at most `EMPTY_MS`."""
        self._panels.labels.end_typing()
        self._clips.drop()
        self._showing.stop()
        self._player.set_timeline(None)
        self._audits.cancel()
        self._work.session.close_clip()
        self._emptying.start()

    def _empty(self) -> None:
        self._emptying.stop()
        self._panels.films.set_model(None)
        self._panels.lanes.set_model(None)
        self._display.show_state()
        self._display.show_panels()

    def _show_reading(self) -> None:
        self._empty()
        self._panels.show_message("…", *self._reading)

    def _take_clip(self, model: ClipModel) -> None:
        self._read = model
        self._showing.start()  # first handle keys and pending paints

    def _show_clip(self) -> None:
        session, model = self._work.session, self._read
        self._read = None
        if model is None:
            return
        self._emptying.stop()
        session.open_clip(model)
        self._player.set_timeline(model.timeline)
        self._panels.films.set_model(model)
        self._panels.lanes.set_model(model)
        self._panels.show_clip()
        self._panels.fit_films()
        self._display.show_selected(session.selected)
        self._display.show_cursor()
        self._audits.take_known()
        if model.judgement is None and self._is_auditing:
            self._audits.begin()
        self.clip_shown.emit()

    def _cannot_read(self, why: str) -> None:
        self._empty()
        self._panels.show_message("✕", "This clip cannot be read", why)
        self.refused.emit(why)

    def close(self) -> None:
        """End the reading threads."""
        self._collections.close()
        self._clips.close()


def _session_of(
    opened: Callable[..., Collection], on_progress: Callable[[str], None], *, is_blind: bool
) -> Session:
    """Return the session of what is opened, without blocking the window's thread.

    Garbage collection among a hundred thousand rows would stop all threads for 0.2 s at a time.
    The rows contain no cycles, so reference counting frees them.
    """
    gc.disable()
    try:
        return Session(opened(on_progress=on_progress), is_blind=is_blind)
    finally:
        gc.freeze()
        gc.enable()


def _why_not_there(session: Session, clip_id: str) -> str:
    if session.batch.find(clip_id) is not None:
        return f"there is a verdict on '{clip_id}', but no manifest row for it"
    near = nearest_name(clip_id, [row.clip_id for row in session.collection.rows[:1000]])
    return f"no clip '{clip_id}'. {near}".strip()


class _Dropped(Exception):  # noqa: N818  # not an error: the answer is not wanted
    """Ends a thread."""


class Loader(QtCore.QObject):
    """Runs the newest request; the answers of older ones are dropped."""

    loaded = QtCore.Signal(object)
    failed = QtCore.Signal(str)
    progressed = QtCore.Signal(str)
    _answered = QtCore.Signal(int, object, str)
    _reported = QtCore.Signal(int, str)

    def __init__(self, parent: QtCore.QObject | None = None) -> None:
        super().__init__(parent)
        self._number = 0
        self._n_busy = 0
        self._waiting: tuple[int, Callable[[Callable[[str], None]], object]] | None = None
        self._threads: list[threading.Thread] = []
        self._answered.connect(self._take)
        self._reported.connect(self._take_words)

    def load(self, make: Callable[[Callable[[str], None]], object]) -> None:
        """Run something on a thread; `loaded` delivers its answer, `failed` the error.

        `make` gets a function for reporting progress, which is passed on by `progressed`. That
        function ends the thread if the answer is no longer wanted.
        """
        self._number += 1
        self._waiting = (self._number, make)
        self._start()

    def _start(self) -> None:
        """Start the waiting request, unless enough threads are busy with outdated ones."""
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        if self._waiting is None or self._n_busy >= MOST_THREADS:
            return
        (number, make), self._waiting = self._waiting, None
        self._n_busy += 1
        thread = threading.Thread(
            target=self._run, args=(number, make), name="syncaudit-read", daemon=True
        )
        self._threads.append(thread)
        thread.start()

    def _run(self, number: int, make: Callable[[Callable[[str], None]], object]) -> None:
        def report(words: str) -> None:
            if number != self._number:
                raise _Dropped
            self._reported.emit(number, words)

        answer, why = None, ""
        try:
            answer = make(report)
        except _Dropped:
            pass
        except SyncAuditError as error:
            why = str(error)
        except Exception as error:  # noqa: BLE001  # the boundary of the thread
            first = str(error).splitlines()[0] if str(error) else ""
            place = traceback.extract_tb(error.__traceback__)[-1]
            why = (
                f"{type(error).__name__}: {first} ({place.name}, line {place.lineno}). "
                "This is a defect of syncaudit."
            )
        self._answered.emit(number, answer, why)

    def drop(self) -> None:
        self._number += 1
        self._waiting = None

    def close(self) -> None:
        """Drop pending requests, and wait for them to end."""
        self.drop()
        for thread in self._threads:
            thread.join()
        self._threads = []

    def _take_words(self, number: int, words: str) -> None:
        if number == self._number:
            self.progressed.emit(words)

    def _take(self, number: int, answer: object, why: str) -> None:
        self._n_busy -= 1
        self._start()
        if number != self._number:
            return
        if why:
            self.failed.emit(why)
        else:
            self.loaded.emit(answer)
