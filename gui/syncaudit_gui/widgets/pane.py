"""One camera: its frame at the cursor, drawn pixel by pixel, above its number and age."""

from __future__ import annotations

from pyqtgraph.Qt import QtCore, QtGui, QtWidgets

from syncaudit_gui.decoding import FrameImage
from syncaudit_gui.widgets.elided import breakable, wrapped_tip
from syncaudit_gui.widgets.theme import ALIGN_CENTER, ThemedWidget, sized

# Height of a one-line caption, and of each further line.
CAPTION_PX, LINE_PX = 20, 13
NAME_FONT_PX, FIGURES_FONT_PX, SMALL_FONT_PX = 11, 10, 9
# Width of a frame number, and the margin of the caption.
NUMBER_PX, MARGIN_PX = 36, 6


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
        self.n_paints = 0
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
        self.n_paints += 1
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
