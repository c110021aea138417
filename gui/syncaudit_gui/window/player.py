"""Plays the timeline, by a timer that polls a monotonic clock, and the sound of a lane."""

from __future__ import annotations

import importlib
import time
from typing import Any

import numpy as np
from pyqtgraph.Qt import QT_LIB, QtCore

from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.lanes import SoundLane, sample_times
from syncaudit_gui.viewmodel.timeline import PlayClock, Timeline

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


# Longer sounds are restarted: users pause or jump earlier than that.
_MAX_S = 600.0


def bytes_from(lane: SoundLane, model: ClipModel, time_s: float) -> bytes:
    """Return the sound from a time as 16-bit samples, on the current clock.

    Silence is inserted before its beginning.
    """
    audio = lane.audio
    zero = sample_times(audio, model.epoch_ns, np.zeros(1))
    begins_s = float(model.map_of(lane.source).apply(zero)[0])
    first = round((time_s - begins_s) * audio.rate_hz)
    n = int(_MAX_S * audio.rate_hz)
    samples = np.nan_to_num(audio.samples[max(0, first) : max(0, first + n)])
    pulses = np.rint(32767.0 * np.clip(samples, -1.0, 1.0)).astype("<i2")
    silence = np.zeros(min(n, max(0, -first)), dtype="<i2")
    return silence.tobytes() + pulses.tobytes()


class SoundOutput(QtCore.QObject):
    """Plays the sound of a clip along with the cursor."""

    def __init__(self, parent: QtCore.QObject | None = None) -> None:
        super().__init__(parent)
        self._multimedia: Any = None
        self._sink: Any = None
        self._buffer: QtCore.QBuffer | None = None
        self._why_silent: str | None = None

    def play(self, model: ClipModel, selected: str, time_s: float) -> str:
        """Play from a time; return why nothing is heard, empty if something is."""
        self.stop()
        lanes = [lane for lane in model.lanes if isinstance(lane, SoundLane)]
        if not lanes:
            return ""
        lane = next((lane for lane in lanes if lane.source == selected), lanes[0])
        device = self._device()
        if device is None:
            return self._why_silent or ""
        form = self._multimedia.QAudioFormat()
        form.setSampleRate(round(lane.audio.rate_hz))
        form.setChannelCount(1)
        form.setSampleFormat(self._multimedia.QAudioFormat.SampleFormat.Int16)
        if not device.isFormatSupported(form):
            return f"silent: the sound device does not support {lane.audio.rate_hz:.0f} Hz"
        self._buffer = QtCore.QBuffer()
        self._buffer.setData(bytes_from(lane, model, time_s))
        self._buffer.open(QtCore.QIODevice.OpenModeFlag.ReadOnly)
        self._sink = self._multimedia.QAudioSink(device, form)
        self._sink.start(self._buffer)
        return ""

    def stop(self) -> None:
        if self._sink is not None:
            self._sink.stop()
            self._sink = None
        self._buffer = None

    def _device(self) -> Any:
        """Return the sound device, None if there is none; Qt's module for it is loaded lazily."""
        if self._multimedia is None and self._why_silent is None:
            QtCore.QLoggingCategory.setFilterRules("qt.multimedia.*=false")
            try:
                self._multimedia = importlib.import_module(f"{QT_LIB}.QtMultimedia")
            except ImportError:
                self._why_silent = "silent: this Qt has no QtMultimedia"
        if self._multimedia is None:
            return None
        device = self._multimedia.QMediaDevices.defaultAudioOutput()
        if device.isNull():
            self._why_silent = "silent: no sound device"
            return None
        return device
