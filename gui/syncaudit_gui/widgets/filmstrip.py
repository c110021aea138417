"""All cameras of a clip: as a strip, as a grid, or one of them enlarged.

Each shows its frame at the cursor, drawn pixel by pixel, above its number and age.
"""

from __future__ import annotations

from enum import StrEnum
from functools import partial

from pyqtgraph.Qt import QtCore, QtGui, QtWidgets

from syncaudit.model import CameraStream
from syncaudit_gui.decoding import CameraThread, FrameImage, FrameRequest
from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.frames import ShownFrame
from syncaudit_gui.viewmodel.wording import short_names, word_age
from syncaudit_gui.widgets.elided import breakable, dim_label, wrapped_tip
from syncaudit_gui.widgets.theme import ALIGN_CENTER, ThemedWidget, sized

GAP_PX = 4
STRIP_COLUMNS = 6
GRID_COLUMNS = 3
EMPTY_PX = 30

# Height of a one-line caption, and of each further line.
CAPTION_PX, LINE_PX = 20, 13
NAME_FONT_PX, FIGURES_FONT_PX, SMALL_FONT_PX = 11, 10, 9
# Width of a frame number, and the margin of the caption.
NUMBER_PX, MARGIN_PX = 36, 6


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


class CameraPane(ThemedWidget):
    """An image over a caption.

    `short_name` is for narrow panes: without the prefix shared by all cameras.
    """

    selected = QtCore.Signal(str)
    enlarged = QtCore.Signal(str)
    resized = QtCore.Signal()

    def __init__(
        self, camera: str, parent: QtWidgets.QWidget | None = None, *, short_name: str = ""
    ) -> None:
        super().__init__(parent)
        self.camera = camera
        self._short_name = short_name or camera
        self.has_two_lines = False
        """Whether the name is above the frame number, not beside it."""
        self.frame: FrameImage | None = None
        self.words, self.caption, self.fault = "", "", ""
        """Text instead of the image, beneath it, and over it."""
        self._image: QtGui.QImage | None = None
        self._is_stale = False
        self._is_selected = False
        self._description = ""
        self.setAttribute(QtCore.Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName(f"camera {camera}")
        self.setMinimumSize(48, 48)

    def needs_two_lines(self, width_px: int) -> bool:
        """Return whether the name does not fit beside the frame number."""
        name = QtGui.QFontMetrics(sized(self.font(), NAME_FONT_PX)).horizontalAdvance(
            self._short_name
        )
        return name + NUMBER_PX + 2 * MARGIN_PX > width_px

    def _caption_px(self) -> int:
        return CAPTION_PX + LINE_PX * self.has_two_lines

    def box_px(self) -> tuple[int, int]:
        """Return the room for the image in device pixels."""
        ratio = self.devicePixelRatioF()
        return (
            max(1, round((self.width() - 2) * ratio)),
            max(1, round((self.height() - self._caption_px() - 1) * ratio)),
        )

    def set_selected(self, is_selected: bool) -> None:
        if is_selected != self._is_selected:
            self._is_selected = is_selected
            self.update()

    def show_frame(self, frame: FrameImage, caption: str, *, is_stale: bool) -> None:
        self.frame = frame
        self.words = frame.error
        if frame.pixels is None:
            self._image = None
        else:
            height, width, _ = frame.pixels.shape
            # The image is a view: `frame` keeps its memory.
            self._image = QtGui.QImage(
                frame.pixels.data, width, height, 4 * width, QtGui.QImage.Format.Format_RGB32
            )
            self._image.setDevicePixelRatio(self.devicePixelRatioF())
        self.caption, self._is_stale = caption, is_stale
        self._update(f"{caption} {self.words}")

    def show_fault(self, words: str) -> None:
        """Show a fault over the image; nothing if `words` is empty."""
        if words != self.fault:
            self.fault = words
            self._update(self._description)

    def show_words(self, words: str, caption: str = "") -> None:
        """Show text instead of an image."""
        if self.frame is None and words == self.words and caption == self.caption:
            return
        self.frame, self._image = None, None
        self.words, self.caption, self._is_stale = words, caption, False
        self._update(f"{words} {caption}")

    def _update(self, description: str) -> None:
        self._description = description
        self.setAccessibleDescription(f"{self.fault} {description}".strip())
        self.update()

    def event(self, event: QtCore.QEvent) -> bool:
        if event.type() == QtCore.QEvent.Type.ToolTip:  # names, ages and words may be cut
            lines = (self.camera, self.caption, self.words)
            self.setToolTip(wrapped_tip("\n".join(line for line in lines if line)))
        return super().event(event)

    def paintEvent(self, event: QtGui.QPaintEvent) -> None:
        painter = QtGui.QPainter(self)
        theme = self._theme
        painter.fillRect(self.rect(), theme.color("panel"))
        room = QtCore.QRect(1, 1, self.width() - 2, self.height() - self._caption_px() - 1)
        if self._image is not None:
            size = self._image.deviceIndependentSize()
            left = room.left() + int((room.width() - size.width()) / 2)
            top = room.top() + int((room.height() - size.height()) / 2)
            painter.drawImage(QtCore.QPointF(left, top), self._image)
            if self.frame is not None and self.frame.is_coarse:
                self._tag(painter, room, "≈ key frame", is_left=False)
        elif self.words:
            painter.setPen(theme.color("dim"))
            self._paint_words(painter, room.adjusted(8, 4, -8, -4))
        if self.fault:
            self._tag(painter, room, self.fault, is_left=True)
        self._paint_caption(painter)
        if self._is_selected:
            painter.setPen(QtGui.QPen(theme.color("accent"), 1))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def _paint_words(self, painter: QtGui.QPainter, room: QtCore.QRect) -> None:
        """Draw text in the middle; if it is too long, drop the path, then cut to fit."""
        middle = int(QtCore.Qt.AlignmentFlag.AlignCenter | QtCore.Qt.TextFlag.TextWordWrap)
        metrics = painter.fontMetrics()

        def fits(words: str) -> bool:
            return metrics.boundingRect(room, middle, words).height() <= room.height()

        words = breakable(self.words)
        if not fits(words):
            words = words.partition(": ")[2] or words  # the problem without the file name
        if fits(words):
            painter.drawText(room, middle, words)
            return
        room.setHeight(max(1, room.height() // metrics.lineSpacing()) * metrics.lineSpacing())
        flags = QtCore.Qt.AlignmentFlag.AlignHCenter | QtCore.Qt.TextFlag.TextWordWrap
        painter.setClipRect(room)
        painter.drawText(room, int(flags), words)
        painter.setClipping(False)

    @staticmethod
    def _tag(painter: QtGui.QPainter, room: QtCore.QRect, words: str, *, is_left: bool) -> None:
        metrics = painter.fontMetrics()
        words = metrics.elidedText(words, QtCore.Qt.TextElideMode.ElideRight, room.width() - 18)
        width = metrics.horizontalAdvance(words) + 10
        left = room.left() + 4 if is_left else room.right() - width - 4
        # If both are present, the left one is at the bottom.
        top = room.bottom() - 22 if is_left else room.top() + 4
        box = QtCore.QRect(left, top, width, 18)
        painter.fillRect(box, QtGui.QColor(0, 0, 0, 170))
        painter.setPen(QtGui.QColor("#f0e442"))
        painter.drawText(box, ALIGN_CENTER, words)

    def _paint_caption(self, painter: QtGui.QPainter) -> None:
        theme, flags = self._theme, QtCore.Qt.AlignmentFlag
        margin_px = MARGIN_PX // 2 if self.has_two_lines else MARGIN_PX
        below_px = self.height() - CAPTION_PX
        box = QtCore.QRect(margin_px, below_px, self.width() - 2 * margin_px, CAPTION_PX)
        painter.setFont(sized(self.font(), FIGURES_FONT_PX))
        painter.setPen(theme.color("unverified" if self._is_stale else "dim"))
        caption, metrics = self.caption, painter.fontMetrics()
        share = 1.0 if self.has_two_lines else 0.55
        if metrics.horizontalAdvance(caption) > share * box.width():
            caption = caption.partition(" ")[0]  # the frame number; its age is in the description
        side = flags.AlignLeft if self.has_two_lines else flags.AlignRight
        painter.drawText(box, int(side | flags.AlignVCenter), caption)
        room_px = box.width()
        if self.has_two_lines:
            box.translate(0, -LINE_PX)
        elif caption:
            room_px = max(24, room_px - metrics.horizontalAdvance(caption) - 8)
        font, name = self._fitting(room_px)
        painter.setFont(font)
        painter.setPen(theme.color("accent" if self._is_selected else "text"))
        painter.drawText(box, int(flags.AlignLeft | flags.AlignVCenter), name)

    def _fitting(self, room_px: int) -> tuple[QtGui.QFont, str]:
        """Return font and text of the name that fit: full, short, or short in small."""
        ways = (
            (self.camera, NAME_FONT_PX),
            (self._short_name, NAME_FONT_PX),
            (self._short_name, SMALL_FONT_PX),
        )
        for name, size_px in ways:
            font = sized(self.font(), size_px)
            metrics = QtGui.QFontMetrics(font)
            if metrics.horizontalAdvance(name) <= room_px:
                break
        return font, metrics.elidedText(name, QtCore.Qt.TextElideMode.ElideMiddle, room_px)

    def mousePressEvent(self, event: QtGui.QMouseEvent) -> None:
        self.selected.emit(self.camera)

    def mouseDoubleClickEvent(self, event: QtGui.QMouseEvent) -> None:
        self.enlarged.emit(self.camera)

    def resizeEvent(self, event: QtGui.QResizeEvent) -> None:
        self.resized.emit()
