"""The panels of the window, and their layout."""

from __future__ import annotations

from pyqtgraph.Qt import QtCore, QtWidgets

from syncaudit_gui.widgets.clips_panel import ClipsPanel
from syncaudit_gui.widgets.comparison_view import ComparisonView, comparison_height
from syncaudit_gui.widgets.covers import KeySheet, Message, StartPage
from syncaudit_gui.widgets.elided import ElidedLabel
from syncaudit_gui.widgets.evidence_panel import EvidencePanel
from syncaudit_gui.widgets.filmstrip import Filmstrip
from syncaudit_gui.widgets.lane_view import LaneView, Ruler
from syncaudit_gui.widgets.side_panels import AuditPanel, EventsPanel, LabelBar
from syncaudit_gui.widgets.sources_panel import SourcesPanel
from syncaudit_gui.widgets.theme import Theme, ThemedWidget
from syncaudit_gui.widgets.transport import Transport

# Width of the side panel: in a wide window, as a share of a narrow one, and the minimum.
SIDE_PX, SIDE_SHARE, LEAST_SIDE_PX = 400, 0.38, 220


class WindowPanels:
    """The panels of a window, laid out in it; signals are not connected yet."""

    def __init__(self, window: QtWidgets.QWidget) -> None:
        self._window = window
        self.films, self.lanes = Filmstrip(), LaneView()
        self.transport = Transport()
        self.sources, self.evidence = SourcesPanel(), EvidencePanel()
        self.progress, self.clips, self.labels = AuditPanel(), ClipsPanel(), LabelBar()
        self.events = EventsPanel()
        self.scroller = _scrolled(self.lanes)
        self.down = QtWidgets.QSplitter(QtCore.Qt.Orientation.Vertical)
        self.ruler = Ruler(self.lanes)
        timeline, over_ruler = _column(0)
        self.comparison = ComparisonView()
        over_ruler.addWidget(self.comparison)
        over_ruler.addSpacing(4)
        over_ruler.addWidget(self.scroller, 1)
        over_ruler.addWidget(self.ruler)
        over_ruler.addStretch(0)  # when there are few lanes
        self.lanes.rebuilt.connect(self.scroller.setMaximumHeight)
        self.down.addWidget(self.films)
        self.down.addWidget(timeline)
        self.down.setStretchFactor(1, 1)
        self.down.setChildrenCollapsible(False)
        self.message = Message()
        self.headline = ElidedLabel(elided=QtCore.Qt.TextElideMode.ElideRight, least_px=11)
        self.headline.setProperty("role", "headline")
        clip, under_headline = _column(2)
        under_headline.addWidget(self.headline)
        under_headline.addWidget(self.down, 1)
        self.left = QtWidgets.QStackedWidget()
        self.left.addWidget(clip)
        self.left.addWidget(self.message)
        side, column = _column(6)
        for panel in (self.sources, self.progress, self.evidence, self.events):
            column.addWidget(panel)
        column.addWidget(self.clips, 1)
        # As wide as the available room, however long a name is.
        side.setMinimumWidth(1)
        right, over_labels = _column(6)
        over_labels.addWidget(_scrolled(side), 1)
        over_labels.addWidget(self.labels)
        self.across = QtWidgets.QSplitter(QtCore.Qt.Orientation.Horizontal)
        self.across.addWidget(self.left)
        self.across.addWidget(right)
        self.across.setStretchFactor(0, 1)
        self.across.setChildrenCollapsible(False)
        self.across.setSizes([1000, SIDE_PX])
        self.across.setHandleWidth(6)
        self.down.setHandleWidth(6)
        content, rows = _column(2)
        rows.setContentsMargins(6, 6, 6, 2)
        rows.addWidget(self.across, 1)
        rows.addWidget(self.transport)
        self.start = StartPage()
        self.welcome = self.start.message
        self.pages = QtWidgets.QStackedLayout(window)
        self.pages.addWidget(self.start)
        self.pages.addWidget(content)
        self.sheet = KeySheet(window)

    def set_theme(self, theme: Theme) -> None:
        for part in self._window.findChildren(ThemedWidget):
            part.set_theme(theme)

    def show_welcome(self, sign: str, title: str, text: str) -> None:
        """Show text instead of everything."""
        self.welcome.show_words(sign, title, text)
        self.pages.setCurrentIndex(0)

    def show_message(self, sign: str, title: str, text: str) -> None:
        """Show text instead of a clip."""
        self.message.show_words(sign, title, text)
        self.pages.setCurrentIndex(1)
        self.left.setCurrentIndex(1)

    def show_clip(self) -> None:
        """Show the lanes and the cameras."""
        self.left.setCurrentIndex(0)

    def fit_films(self) -> None:
        """Set the height of the cameras for their number and width, and the width of the sides."""
        narrow_px = max(LEAST_SIDE_PX, round(SIDE_SHARE * self.across.width()))
        if self.across.sizes()[1] > narrow_px < SIDE_PX:
            self.across.setSizes([self.across.width() - narrow_px, narrow_px])
        room = self.down.height()
        self.comparison.setFixedHeight(comparison_height(room))
        wanted = self.films.wanted_height(self.down.width(), room)
        self.down.setSizes([wanted, max(1, room - wanted)])


def _column(spacing_px: int) -> tuple[QtWidgets.QWidget, QtWidgets.QVBoxLayout]:
    """Return a widget, and its layout from top to bottom."""
    widget = QtWidgets.QWidget()
    column = QtWidgets.QVBoxLayout(widget)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(spacing_px)
    return widget, column


def _scrolled(content: QtWidgets.QWidget) -> QtWidgets.QScrollArea:
    """Return an area that scrolls its content vertically if it does not fit."""
    area = QtWidgets.QScrollArea()
    area.setWidget(content)
    area.setWidgetResizable(True)
    area.setFrameShape(QtWidgets.QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(QtCore.Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFocusPolicy(QtCore.Qt.FocusPolicy.NoFocus)
    return area
