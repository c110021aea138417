"""The timeline: hidden plots, and the overlay that the user sees and operates."""

from __future__ import annotations

from pyqtgraph.Qt import QtCore, QtGui, QtWidgets

from syncaudit.model import TranscriptStream
from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.lanes import Lane
from syncaudit_gui.viewmodel.timeline import Timeline, TimeRange
from syncaudit_gui.widgets.lane_axis import AXIS_PX, RIGHT_PX
from syncaudit_gui.widgets.lane_overlay import LaneOverlay
from syncaudit_gui.widgets.lane_plots import LanePlots
from syncaudit_gui.widgets.spectrogram import SpectrogramCache
from syncaudit_gui.widgets.theme import DARK, Theme
from syncaudit_gui.widgets.time_scale import TimeScale


class LaneView(QtWidgets.QWidget):
    """Lanes, ruler, cursor, marks and loop.

    The plots lie beneath and are never visible: this widget is opaque and shows a snapshot of them.
    """

    rebuilt = QtCore.Signal(int)
    """The lanes have changed, and can use this height."""
    refreshed = QtCore.Signal()
    """The lanes were redrawn, perhaps over a different time."""

    def __init__(self) -> None:
        super().__init__()
        self.plots = LanePlots(self)
        self.overlay = LaneOverlay(self)
        self.overlay.raise_()
        self.model: ClipModel | None = None
        self.timeline: Timeline | None = None
        self.theme: Theme = DARK
        self.spectrograms = SpectrogramCache(self.overlay.invalidate, self)
        self._settle = QtCore.QTimer(self, singleShot=True, timeout=self.refresh)
        self.setAccessibleName("timeline")

    def set_model(self, model: ClipModel | None, timeline: Timeline | None) -> None:
        self.model, self.timeline = model, timeline
        self.spectrograms.clear()
        streams = () if model is None else model.streams.values()
        # The usual view of speech: waveform, spectrogram and tiers together.
        self.spectrograms.is_wanted = any(isinstance(x, TranscriptStream) for x in streams)
        self.rebuild()

    def rebuild(self) -> None:
        """Rebuild the lanes, after the clip got or lost some."""
        self.plots.has_spectrograms = self.spectrograms.is_wanted
        is_laid_out_anew = self.plots.set_model(self.model)
        self.setMinimumHeight(max(60, self.plots.least_height()))
        self.rebuilt.emit(max(60, self.plots.most_height()))
        self.refresh()
        if is_laid_out_anew:
            self._settle.start(0)  # the layout of the plots is settled by then

    def set_theme(self, theme: Theme) -> None:
        self.theme = theme
        self.plots.set_theme(theme)
        self.refresh()

    def select(self, source: str) -> None:
        self.plots.select(source)
        self.refresh()

    def refresh(self) -> None:
        """Redraw the curves after a change of range, clocks or data."""
        if self.timeline is not None:
            self.plots.refresh(self.timeline.visible)
        self.overlay.invalidate()
        self.refreshed.emit()

    def toggle_spectrograms(self) -> None:
        self.spectrograms.is_wanted = not self.spectrograms.is_wanted
        self.rebuild()

    def scale(self) -> TimeScale:
        visible = TimeRange(start_s=0.0, stop_s=1.0)
        if self.timeline is not None:
            visible = self.timeline.visible
        return TimeScale(
            visible=visible, left_px=float(AXIS_PX), right_px=float(self.width() - RIGHT_PX)
        )

    def lane_at(self, y_px: float) -> Lane | None:
        for lane, room in self.plots.rects():
            if room.top() <= y_px < room.bottom():
                return lane
        return None

    def resizeEvent(self, event: QtGui.QResizeEvent) -> None:
        self.plots.setGeometry(self.rect())
        self.overlay.setGeometry(self.rect())
        self.refresh()
        self._settle.start(0)
