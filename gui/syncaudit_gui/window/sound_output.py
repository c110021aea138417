"""Sound at normal speed if the machine has a sound device; otherwise silence with a hint."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from pyqtgraph.Qt import QT_LIB, QtCore

from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.lanes import SoundLane, sample_times

# Longer sounds are restarted: users pause or jump earlier than that.
MAX_S = 600.0


def bytes_from(lane: SoundLane, model: ClipModel, time_s: float) -> bytes:
    """Return the sound from a time as 16-bit samples, on the current clock.

    Silence is inserted before its beginning.
    """
    audio = lane.audio
    zero = sample_times(audio, model.epoch_ns, np.zeros(1))
    begins_s = float(model.map_of(lane.source).apply(zero)[0])
    first = round((time_s - begins_s) * audio.rate_hz)
    n = int(MAX_S * audio.rate_hz)
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
