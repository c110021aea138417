"""The window: what is where, and who tells whom."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from pyqtgraph.Qt import QtCore, QtGui, QtWidgets

from syncaudit.errors import SyncAuditError
from syncaudit_gui.audits import AuditResult
from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.collection import Collection, open_collection
from syncaudit_gui.viewmodel.labels import Label
from syncaudit_gui.viewmodel.session import Session
from syncaudit_gui.viewmodel.timeline import TimeRange
from syncaudit_gui.viewmodel.turning import camera_turning
from syncaudit_gui.widgets.actions import Actions
from syncaudit_gui.widgets.audit_panel import AuditPanel
from syncaudit_gui.widgets.auditor import Auditor
from syncaudit_gui.widgets.clips_panel import ClipsPanel
from syncaudit_gui.widgets.covers import KeySheet, Message
from syncaudit_gui.widgets.evidence_panel import EvidencePanel
from syncaudit_gui.widgets.filmstrip import Filmstrip
from syncaudit_gui.widgets.key_input import KeyInput
from syncaudit_gui.widgets.label_bar import LabelBar
from syncaudit_gui.widgets.lane_view import LaneView
from syncaudit_gui.widgets.loading import Loader
from syncaudit_gui.widgets.player import Player
from syncaudit_gui.widgets.ruler import Ruler
from syncaudit_gui.widgets.sound_output import SoundOutput
from syncaudit_gui.widgets.sources_panel import SourcesPanel
from syncaudit_gui.widgets.theme import DARK, LIGHT, Theme, stylesheet, ui_font
from syncaudit_gui.widgets.transport import Transport

__all__ = ["ViewerWindow"]

SIDE_PX = 400
N_AHEAD = 4
_WELCOME = (
    "⇣",
    "Drop a manifest or the output folder of a run here",
    "or start with\n\nsyncaudit view sample_data/manifest.jsonl\nsyncaudit view out/",
)


class ViewerWindow(QtWidgets.QWidget):
    """The timeline viewer.

    Parameters
    ----------
    theme : Theme
        Colours to begin with.
    is_auditing : bool
        Whether clips without a verdict are audited as they are opened.
    """

    clip_shown = QtCore.Signal()
    audit_ended = QtCore.Signal()

    def __init__(self, *, theme: Theme = DARK, is_auditing: bool = True) -> None:
        super().__init__()
        self.session: Session | None = None
        self.theme = theme
        self._is_auditing = is_auditing
        self._wanted_clip: str | None = None
        self._is_whole = True
        self.setWindowTitle("syncaudit")
        self.setFont(ui_font())
        self.setAcceptDrops(True)
        self.player, self.auditor, self.sound = Player(), Auditor(), SoundOutput()
        self.opener, self.reader = Loader(), Loader()
        self._build()
        self.sheet = KeySheet(self)
        self.actions_of_keys = Actions(self)
        self.keys = KeyInput(self)
        self._connect()
        self.set_theme(theme)
        self.welcome.show_words(*_WELCOME)
        self.show_state()

    # Layout -------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.films, self.lanes = Filmstrip(), LaneView()
        self.transport = Transport()
        self.sources, self.evidence = SourcesPanel(), EvidencePanel()
        self.progress, self.clips, self.labels = AuditPanel(), ClipsPanel(), LabelBar()
        self.scroller = QtWidgets.QScrollArea()
        self.scroller.setWidget(self.lanes)
        self.scroller.setWidgetResizable(True)
        self.scroller.setFrameShape(QtWidgets.QFrame.Shape.NoFrame)
        self.scroller.setHorizontalScrollBarPolicy(QtCore.Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.scroller.setFocusPolicy(QtCore.Qt.FocusPolicy.NoFocus)
        self.down = QtWidgets.QSplitter(QtCore.Qt.Orientation.Vertical)
        self.ruler = Ruler(self.lanes)
        timeline = QtWidgets.QWidget()
        over_ruler = QtWidgets.QVBoxLayout(timeline)
        over_ruler.setContentsMargins(0, 0, 0, 0)
        over_ruler.setSpacing(0)
        over_ruler.addWidget(self.scroller, 1)
        over_ruler.addWidget(self.ruler)
        self.down.addWidget(self.films)
        self.down.addWidget(timeline)
        self.down.setStretchFactor(1, 1)
        self.down.setChildrenCollapsible(False)
        self.message = Message()
        self.left = QtWidgets.QStackedWidget()
        self.left.addWidget(self.down)
        self.left.addWidget(self.message)
        side = QtWidgets.QWidget()
        column = QtWidgets.QVBoxLayout(side)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        for panel in (self.sources, self.progress, self.evidence):
            column.addWidget(panel)
        column.addWidget(self.clips, 1)
        column.addWidget(self.labels)
        self.across = QtWidgets.QSplitter(QtCore.Qt.Orientation.Horizontal)
        self.across.addWidget(self.left)
        self.across.addWidget(side)
        self.across.setStretchFactor(0, 1)
        self.across.setChildrenCollapsible(False)
        self.across.setSizes([1000, SIDE_PX])
        self.across.setHandleWidth(6)
        self.down.setHandleWidth(6)
        content = QtWidgets.QWidget()
        rows = QtWidgets.QVBoxLayout(content)
        rows.setContentsMargins(6, 6, 6, 2)
        rows.setSpacing(2)
        rows.addWidget(self.across, 1)
        rows.addWidget(self.transport)
        self.welcome = Message()
        self.pages = QtWidgets.QStackedLayout(self)
        self.pages.addWidget(self.welcome)
        self.pages.addWidget(content)

    def _connect(self) -> None:
        self.opener.loaded.connect(self._take_collection)
        self.opener.failed.connect(self._cannot_open)
        self.reader.loaded.connect(self._take_clip)
        self.reader.failed.connect(self._cannot_read)
        self.films.camera_selected.connect(self.select)
        self.films.camera_enlarged.connect(self.actions_of_keys.enlarge)
        self.lanes.scrubbed.connect(self._scrub)
        self.lanes.range_changed.connect(self.show_range)
        self.lanes.source_selected.connect(self.select)
        self.lanes.nudge_dragged.connect(self._drag_nudge)
        self.sources.source_selected.connect(self.select)
        self.sources.corrected_toggled.connect(lambda _: self.toggle_corrected())
        self.evidence.audit_wanted.connect(self.begin_audit)
        self.progress.cancelled.connect(self.cancel_audit)
        self.clips.clip_selected.connect(self.open_clip)
        self.labels.label_given.connect(self.give_label)
        self.labels.note_written.connect(self._write_note)
        self.labels.blind_toggled.connect(self.set_blind)
        self.transport.acted.connect(self.actions_of_keys.do)
        self.keys.acted.connect(self.actions_of_keys.do)
        self.keys.glance_over.connect(self.toggle_corrected)
        self.player.moved.connect(self._played)
        self.player.state_changed.connect(self.show_state)
        self.player.state_changed.connect(self._play_sound)
        self.auditor.progressed.connect(self.progress.show_progress)
        self.auditor.finished.connect(self._take_audit)
        self.auditor.failed.connect(self._audit_failed)

    def set_theme(self, theme: Theme) -> None:
        """Change the colours."""
        self.theme = theme
        self.setStyleSheet(stylesheet(theme))
        for part in (
            self.films,
            self.lanes,
            self.ruler,
            self.sources,
            self.evidence,
            self.clips,
            self.message,
            self.welcome,
            self.sheet,
        ):
            part.set_theme(theme)
        self.show_panels()

    def toggle_theme(self) -> None:
        """Change between dark and light."""
        self.set_theme(LIGHT if self.theme is DARK else DARK)

    def fit_films(self) -> None:
        """Give the cameras the height that suits their number and the width."""
        room = self.down.height()
        wanted = self.films.wanted_height(self.down.width(), room)
        self.down.setSizes([wanted, max(1, room - wanted)])

    # Opening ------------------------------------------------------------------------------------

    def open_source(
        self,
        source: str,
        *,
        verdicts: Path | None = None,
        labels: Path | None = None,
        clip_id: str | None = None,
    ) -> None:
        """Open a manifest or an output folder; arguments as for `open_collection`."""
        self._wanted_clip = clip_id
        self.pages.setCurrentIndex(1)
        self._say("…", "opening", source)
        self.opener.load(partial(open_collection, source, verdicts=verdicts, labels=labels))

    def _take_collection(self, collection: Collection) -> None:
        self.close_clip()
        try:
            self.session = Session(collection)
        except SyncAuditError as error:
            self._cannot_open(str(error))
            return
        session = self.session
        self.setWindowTitle(f"{collection.name} – syncaudit")
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

    def open_clip(self, clip_id: str) -> None:
        """Read a clip and show it."""
        session = self.session
        if session is None:
            return
        self.close_clip()
        self.clips.mark(clip_id)
        clip = session.collection.clip(clip_id)
        if clip is None:
            self._wanted_clip = None
            why = f"no manifest row of '{clip_id}' lies beside the verdicts"
            self._say("✕", "This clip cannot be read", why)
            return
        self._wanted_clip = clip_id
        self._say("…", f"reading {clip_id}", f"{len(clip.sources)} sources")

        def read() -> ClipModel:
            from syncaudit.pipeline import read_clip
            from syncaudit_gui.viewmodel.clip_model import build_clip

            return build_clip(clip, read_clip(clip))

        self.reader.load(read)

    def close_clip(self) -> None:
        """Show no clip; audits and decoding end."""
        self.reader.drop()
        self.player.set_timeline(None)
        self.cancel_audit()
        self.films.set_model(None)
        self.lanes.set_model(None, None)
        if self.session is not None:
            self.session.close_clip()
        self.show_panels()
        self.show_state()

    def _take_clip(self, model: ClipModel) -> None:
        session = self.session
        if session is None:
            return
        session.open_clip(model)
        self.player.set_timeline(session.timeline)
        self.films.set_model(model)
        self.lanes.set_model(model, session.timeline)
        self.left.setCurrentIndex(0)
        self.fit_films()
        self.select(session.selected)
        self.show_cursor()
        self.show_state()
        self._show_finish()
        if model.judgement is None and self._is_auditing:
            self.begin_audit()
        self.clip_shown.emit()

    def _show_finish(self) -> None:
        """Show what an audit of this clip found before, if it was audited in this session."""
        session = self.session
        known = None if session is None else self.auditor.known(session.clip_id)
        if known is not None:
            self._take_audit(known)

    def _cannot_read(self, why: str) -> None:
        self._say("✕", "This clip cannot be read", why)

    def _say(self, sign: str, title: str, text: str) -> None:
        self.message.show_words(sign, title, text)
        self.left.setCurrentIndex(1)

    # Auditing -----------------------------------------------------------------------------------

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
        if result.aligned:
            self.lanes.rebuild()
        self.lanes.plots.fit_heights()
        self.clips.refresh()
        self.show_clocks()
        self.audit_ended.emit()

    def _audit_failed(self, why: str) -> None:
        self.progress.hide()
        self.show_panels()
        self.transport.say(f"✕ {why}", stays=True)
        self.audit_ended.emit()

    # Looking ------------------------------------------------------------------------------------

    def select(self, source: str) -> None:
        """Select a source everywhere."""
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
        """Draw everything that clocks move."""
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
            {} if known is None else known.evidence,
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

    # Deciding -----------------------------------------------------------------------------------

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

    def _saved(self, change: object) -> None:
        try:
            change()  # type: ignore[operator]  # always a function
        except SyncAuditError as error:
            self.transport.say(f"✕ not saved: {error}", stays=True)

    # Qt -----------------------------------------------------------------------------------------

    def dragEnterEvent(self, event: QtGui.QDragEnterEvent) -> None:
        data = event.mimeData()
        if data is not None and any(url.isLocalFile() for url in data.urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QtGui.QDropEvent) -> None:
        data = event.mimeData()
        urls = [] if data is None else [url for url in data.urls() if url.isLocalFile()]
        if urls:
            self.open_source(urls[0].toLocalFile())

    def resizeEvent(self, event: QtGui.QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.sheet.isVisible():
            self.sheet.setGeometry(self.rect())
        QtCore.QTimer.singleShot(0, self.fit_films)

    def closeEvent(self, event: QtGui.QCloseEvent) -> None:
        self.shut_down()
        super().closeEvent(event)

    def shut_down(self) -> None:
        """End every thread, timer and process."""
        self.keys.close()
        self.player.pause()
        self.sound.stop()
        self.auditor.cancel()
        self.opener.close()
        self.reader.close()
        self.films.close_threads()
        self.lanes.spectrograms.clear()
