"""Plays the timeline: a timer polls a monotonic clock for the position."""

from __future__ import annotations

import time

from pyqtgraph.Qt import QtCore

from syncaudit_gui.viewmodel.playback import PlayClock
from syncaudit_gui.viewmodel.timeline import Timeline

TICK_MS = 16


class Player(QtCore.QObject):
    """Moves the cursor while playing."""

    moved = QtCore.Signal(float)
    state_changed = QtCore.Signal()

    def __init__(self, parent: QtCore.QObject | None = None) -> None:
        super().__init__(parent)
        self.clock = PlayClock()
        self._timeline: Timeline | None = None
        precise = QtCore.Qt.TimerType.PreciseTimer
        self._timer = QtCore.QTimer(self, timerType=precise, interval=TICK_MS, timeout=self.tick)

    @property
    def is_playing(self) -> bool:
        return self.clock.is_playing

    def set_timeline(self, timeline: Timeline | None) -> None:
        """Switch to another clip, stopping playback."""
        self.pause()
        self._timeline = timeline

    def toggle(self) -> None:
        """Play or pause; at the end it starts over."""
        if self.is_playing:
            self.pause()
            return
        timeline = self._timeline
        if timeline is None:
            return
        from_s = timeline.cursor_s
        if timeline.loop is not None and from_s not in timeline.loop:
            from_s = timeline.loop.start_s
        elif from_s >= timeline.limits.stop_s - 0.02:
            from_s = timeline.limits.start_s
        self.clock.play(time.perf_counter(), from_s)
        self._timer.start()
        self.state_changed.emit()

    def pause(self) -> None:
        self._timer.stop()
        if self.clock.is_playing:
            self.clock.pause()
            self.state_changed.emit()

    def jumped(self) -> None:
        """Continue from where the cursor was put."""
        if self.is_playing and self._timeline is not None:
            self.clock.play(time.perf_counter(), self._timeline.cursor_s)
            self.state_changed.emit()

    def change_speed(self, by: int) -> float:
        speed = self.clock.change_speed(by, time.perf_counter())
        self.state_changed.emit()
        return speed

    def tick(self) -> None:
        """Move the cursor to the position of the clock."""
        timeline = self._timeline
        if timeline is None or not self.clock.is_playing:
            return
        before_s = timeline.cursor_s
        time_s = self.clock.position(time.perf_counter(), timeline.limits, timeline.loop)
        self.moved.emit(time_s)
        if time_s < before_s:
            self.state_changed.emit()  # a loop started over
        if not self.clock.is_playing:
            self._timer.stop()
            self.state_changed.emit()
