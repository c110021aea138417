"""What the window is made of, and where it lies."""

from __future__ import annotations

from pyqtgraph.Qt import QtCore, QtWidgets

from syncaudit_gui.viewmodel.session import Session
from syncaudit_gui.widgets.audit_panel import AuditPanel
from syncaudit_gui.widgets.auditor import Auditor
from syncaudit_gui.widgets.clips_panel import ClipsPanel
from syncaudit_gui.widgets.covers import KeySheet, Message
from syncaudit_gui.widgets.evidence_panel import EvidencePanel
from syncaudit_gui.widgets.filmstrip import Filmstrip
from syncaudit_gui.widgets.label_bar import LabelBar
from syncaudit_gui.widgets.lane_view import LaneView
from syncaudit_gui.widgets.loading import Loader
from syncaudit_gui.widgets.player import Player
from syncaudit_gui.widgets.ruler import Ruler
from syncaudit_gui.widgets.sound_output import SoundOutput
from syncaudit_gui.widgets.sources_panel import SourcesPanel
from syncaudit_gui.widgets.theme import DARK, LIGHT, Theme, stylesheet, ui_font
from syncaudit_gui.widgets.transport import Transport

__all__ = ["WindowParts"]

SIDE_PX = 400


class WindowParts(QtWidgets.QWidget):
    """The widgets of the window and what works behind them; nothing is connected yet."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.session: Session | None = None
        self.theme = theme
        self.setFont(ui_font())
        # Children of the window end with it (see `application`).
        self.player, self.auditor, self.sound = Player(self), Auditor(self), SoundOutput(self)
        self.opener, self.reader = Loader(self), Loader(self)
        self._build()
        self.sheet = KeySheet(self)

    def _build(self) -> None:
        self.films, self.lanes = Filmstrip(), LaneView()
        self.transport = Transport()
        self.sources, self.evidence = SourcesPanel(), EvidencePanel()
        self.progress, self.clips, self.labels = AuditPanel(), ClipsPanel(), LabelBar()
        self.scroller = _scrolled(self.lanes)
        self.down = QtWidgets.QSplitter(QtCore.Qt.Orientation.Vertical)
        self.ruler = Ruler(self.lanes)
        timeline = QtWidgets.QWidget()
        over_ruler = QtWidgets.QVBoxLayout(timeline)
        over_ruler.setContentsMargins(0, 0, 0, 0)
        over_ruler.setSpacing(0)
        over_ruler.addWidget(self.scroller, 1)
        over_ruler.addWidget(self.ruler)
        over_ruler.addStretch(0)  # below few lanes
        self.lanes.rebuilt.connect(self.scroller.setMaximumHeight)
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
        # As wide as there is room, however long a name is.
        side.setMinimumWidth(1)
        right = QtWidgets.QWidget()
        over_labels = QtWidgets.QVBoxLayout(right)
        over_labels.setContentsMargins(0, 0, 0, 0)
        over_labels.setSpacing(6)
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

    def toggle_theme(self) -> None:
        """Change between dark and light."""
        self.set_theme(LIGHT if self.theme is DARK else DARK)

    def fit_films(self) -> None:
        """Give the cameras the height that suits their number and the width."""
        room = self.down.height()
        wanted = self.films.wanted_height(self.down.width(), room)
        self.down.setSizes([wanted, max(1, room - wanted)])


def _scrolled(content: QtWidgets.QWidget) -> QtWidgets.QScrollArea:
    """Return an area that scrolls its content up and down where there is no room for all of it."""
    area = QtWidgets.QScrollArea()
    area.setWidget(content)
    area.setWidgetResizable(True)
    area.setFrameShape(QtWidgets.QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(QtCore.Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFocusPolicy(QtCore.Qt.FocusPolicy.NoFocus)
    return area
