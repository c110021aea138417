"""All cameras of a clip: as a strip, as a grid, or one of them enlarged."""

from __future__ import annotations

from enum import StrEnum
from functools import partial

from pyqtgraph.Qt import QtCore, QtGui

from syncaudit.model import CameraStream
from syncaudit_gui.decoding import CameraThread, FrameImage, FrameRequest
from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.frames import ShownFrame
from syncaudit_gui.viewmodel.wording import short_names, word_age
from syncaudit_gui.widgets.elided import dim_label
from syncaudit_gui.widgets.pane import CAPTION_PX, LINE_PX, CameraPane
from syncaudit_gui.widgets.theme import ThemedWidget

GAP_PX = 4
STRIP_COLUMNS = 6
GRID_COLUMNS = 3
EMPTY_PX = 30


class Arrangement(StrEnum):
    """Layouts of the cameras."""

    STRIP = "strip"
    GRID = "grid"
    ONE = "one"


class Filmstrip(ThemedWidget):
    """Panes and the threads that feed them."""

    camera_selected = QtCore.Signal(str)
    camera_enlarged = QtCore.Signal(str)
    _delivered = QtCore.Signal(object, object)

    def __init__(self) -> None:
        super().__init__()
        self.arrangement = Arrangement.STRIP
        self.panes: dict[str, CameraPane] = {}
        self._threads: dict[str, CameraThread] = {}
        self._model: ClipModel | None = None
        self._wanted: dict[str, ShownFrame] = {}
        self._asked: dict[str, FrameRequest] = {}
        self._selected = ""
        self._time_s = 0.0
        self._is_hasty, self._n_ahead = False, 0
        self._words = dim_label()
        self._words.setParent(self)
        self._words.setAlignment(QtCore.Qt.AlignmentFlag.AlignCenter)
        self._delivered.connect(self._take)

    def set_model(self, model: ClipModel | None) -> None:
        """Show the cameras of a clip, ending the threads of the previous one."""
        self.close_threads()
        for pane in self.panes.values():
            pane.hide()
            pane.deleteLater()
        self.panes = {}
        self._wanted.clear()
        self._asked.clear()
        self._model = model
        cameras = model.cameras if model is not None else ()
        for camera, short_name in zip(cameras, short_names(cameras), strict=True):
            pane = CameraPane(camera, self, short_name=short_name)
            pane.set_theme(self._theme)
            pane.selected.connect(self.camera_selected)
            pane.enlarged.connect(self.camera_enlarged)
            pane.resized.connect(partial(self._ask, camera))
            self.panes[camera] = pane
            stream = None if model is None else model.streams.get(camera)
            if isinstance(stream, CameraStream) and stream.files.paths:
                deliver = partial(self._delivered.emit, pane)
                self._threads[camera] = CameraThread(stream.files, deliver)
            pane.show()
        self._words.setText("" if self.panes or model is None else "no cameras in this clip")
        self._words.setVisible(not self.panes)
        self._arrange()

    def close_threads(self) -> None:
        """Stop all decoding and wait for it."""
        for thread in self._threads.values():
            thread.begin_close()
        for thread in self._threads.values():
            thread.close()
        self._threads = {}

    def show_time(self, time_s: float, *, is_hasty: bool = False, n_ahead: int = 0) -> None:
        """Show every camera as it was at a time.

        With `is_hasty` a nearby key frame may be shown for a moment; `n_ahead` frames are decoded
        ahead.
        """
        self._time_s, self._is_hasty, self._n_ahead = time_s, is_hasty, n_ahead
        for camera in self.panes:
            self._ask(camera)

    def _ask(self, camera: str) -> None:
        pane, model = self.panes[camera], self._model
        if model is None:
            return
        table = model.frames_of(camera)
        problems = model.problems.get(camera, ())
        if table is None:
            pane.show_words(problems[0] if problems else "no frames")
            return
        shown = table.at(self._time_s)
        spells = () if shown is None else model.spells_at(camera, shown.index)
        pane.show_fault("  ".join(spell.sign for spell in spells))
        if shown is None:
            self._wanted.pop(camera, None)
            self._asked.pop(camera, None)
            pane.show_words("no footage")
            return
        self._wanted[camera] = shown
        if camera not in self._threads:
            pane.show_words("timestamps without frames", self._caption(shown))
            return
        width_px, height_px = pane.box_px()
        request = FrameRequest(
            index=shown.index,
            width_px=width_px,
            height_px=height_px,
            is_hasty=self._is_hasty,
            n_ahead=self._n_ahead,
        )
        before = self._asked.get(camera)
        is_same = before is not None and (before.index, before.width_px, before.height_px) == (
            request.index,
            width_px,
            height_px,
        )
        if is_same:
            frame = pane.frame
            if frame is not None and frame.index == shown.index:
                pane.show_frame(frame, self._caption(shown), is_stale=shown.is_stale)
            return
        if pane.frame is None:
            pane.show_words("…", self._caption(shown))
        self._asked[camera] = request
        self._threads[camera].ask(request)

    def _take(self, pane: CameraPane, frame: FrameImage) -> None:
        camera = pane.camera
        shown = self._wanted.get(camera)
        if self.panes.get(camera) is not pane or shown is None:
            return  # of the previous clip, or the cursor has left the footage
        if frame.index != shown.index and frame.is_coarse:
            return
        # The age is unknown for a frame that the cursor has left meanwhile.
        is_late = frame.index != shown.index
        caption = f"#{frame.index}" if is_late else self._caption(shown)
        pane.show_frame(frame, caption, is_stale=shown.is_stale)

    @staticmethod
    def _caption(shown: ShownFrame) -> str:
        return f"#{shown.index}  {word_age(shown.age_s)}"

    @property
    def is_settled(self) -> bool:
        """Whether every pane shows the exact frame at the cursor."""
        for camera, shown in self._wanted.items():
            frame = self.panes[camera].frame
            if camera in self._threads and (
                frame is None or frame.is_coarse or frame.index != shown.index
            ):
                return False
        return True

    def select(self, source: str) -> None:
        """Mark a camera as selected; if one is enlarged, enlarge this one instead."""
        self._selected = source
        for camera, pane in self.panes.items():
            pane.set_selected(camera == source)
        if self.arrangement is Arrangement.ONE and source in self.panes:
            self._arrange()

    def set_arrangement(self, arrangement: Arrangement) -> None:
        self.arrangement = arrangement
        self._arrange()

    def wanted_height(self, width: int, room: int) -> int:
        """Return the height for a width, given the room for cameras and lanes together."""
        n = len(self.panes)
        if not n:
            return EMPTY_PX
        if self.arrangement is not Arrangement.STRIP:
            return round(0.62 * room)
        columns = min(n, STRIP_COLUMNS) if n > 2 else 3
        rows = -(-n // STRIP_COLUMNS)
        pane_width = (width - (columns - 1) * GAP_PX) / columns
        caption_px = CAPTION_PX + LINE_PX * self._needs_two_lines(pane_width)
        pane_px = pane_width / self._aspect() + caption_px
        return min(round(rows * pane_px + (rows - 1) * GAP_PX), round(0.5 * room))

    def _needs_two_lines(self, pane_width: float) -> bool:
        """Return whether captions have two lines: all of them, if one needs them."""
        return any(pane.needs_two_lines(int(pane_width)) for pane in self.panes.values())

    def _aspect(self) -> float:
        model = self._model
        streams = [] if model is None else list(model.streams.values())
        shapes = [
            s.width_px / s.height_px
            for s in streams
            if isinstance(s, CameraStream) and s.width_px and s.height_px
        ]
        return min(shapes) if shapes else 16 / 9

    def _arrange(self) -> None:
        names = list(self.panes)
        self._words.setGeometry(self.rect())
        if self.arrangement is Arrangement.ONE and names:
            large = self._selected if self._selected in self.panes else names[0]
            for name in names:
                self.panes[name].setVisible(name == large)
            self.panes[large].has_two_lines = False
            self.panes[large].setGeometry(self.rect())
            return
        n = len(names)
        columns = STRIP_COLUMNS if self.arrangement is Arrangement.STRIP else GRID_COLUMNS
        if self.arrangement is Arrangement.GRID and n > 9:
            columns = 4
        columns = max(1, min(n, columns))
        rows = max(1, -(-n // columns))
        width = (self.width() - (columns - 1) * GAP_PX) / columns
        height = (self.height() - (rows - 1) * GAP_PX) / rows
        has_two_lines = self._needs_two_lines(width)
        for k, name in enumerate(names):
            self.panes[name].has_two_lines = has_two_lines
            row, column = divmod(k, columns)
            left, top = round(column * (width + GAP_PX)), round(row * (height + GAP_PX))
            self.panes[name].setGeometry(left, top, int(width), int(height))
            self.panes[name].show()

    def resizeEvent(self, event: QtGui.QResizeEvent) -> None:
        self._arrange()
