"""Spectrograms of the visible part of a sound, computed on a thread on demand."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from pyqtgraph.Qt import QtCore, QtGui

from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.lanes import Lane, SoundLane, sample_times
from syncaudit_gui.widgets.theme import ALIGN_CENTER, Theme
from syncaudit_gui.widgets.time_scale import TimeScale

# A longer part cannot be resolved on a screen, and takes long.
MAX_SPAN_S = 120.0
# Share of a lane, beneath the waveform.
SHARE = 0.6
# Spectrograms extend to half of the sampling rate, and at most to this frequency.
MAX_KHZ = 8.0


class SpectrogramCache(QtCore.QObject):
    """The last spectrogram of each sound.

    `on_made` is called when a new one is ready.
    """

    _made = QtCore.Signal(str, object, object)

    def __init__(self, on_made: Callable[[], None], parent: QtCore.QObject | None = None) -> None:
        super().__init__(parent)
        self.is_wanted = False
        self._on_made = on_made
        self._done: dict[str, tuple[tuple[int, int], NDArray[np.uint8]]] = {}
        self._under_way: dict[str, tuple[int, int]] = {}
        self._threads: list[threading.Thread] = []
        self._made.connect(self._keep)

    def clear(self) -> None:
        """Forget all, and wait for pending computations."""
        for thread in self._threads:
            thread.join()
        self._threads = []
        self._done.clear()
        self._under_way.clear()

    def paint(
        self,
        painter: QtGui.QPainter,
        lane: Lane,
        room: QtCore.QRectF,
        model: ClipModel,
        scale: TimeScale,
        theme: Theme,
    ) -> None:
        """Paint the spectrogram of a sound beneath its waveform; start one if there is none."""
        if not self.is_wanted or not isinstance(lane, SoundLane) or lane.source is None:
            return
        room = room.adjusted(0, (1.0 - SHARE) * room.height(), 0, -1)
        painter.fillRect(
            QtCore.QRectF(room.topLeft(), QtCore.QSizeF(room.width(), 1)), theme.color("raised")
        )
        wanted = self._part(lane, model, scale)
        if wanted is None:
            painter.setPen(theme.color("dim"))
            words = f"zoom in to {MAX_SPAN_S:.0f} s or less for a spectrogram"
            painter.drawText(room, ALIGN_CENTER, words)
            return
        found = self._done.get(lane.source)
        if found is None or found[0] != wanted:
            self._begin(lane, wanted)
        if found is None:
            return
        (first, stop), ink = found
        ends = sample_times(lane.audio, model.epoch_ns, np.array([first, stop], dtype=np.float64))
        ends = model.map_of(lane.source).apply(ends)
        pixels = np.empty((*ink.shape, 4), dtype=np.uint8)
        color = theme.color(theme.axes[1])
        pixels[:, :, :3] = (color.blue(), color.green(), color.red())
        pixels[:, :, 3] = ink
        image = QtGui.QImage(
            pixels.data,
            ink.shape[1],
            ink.shape[0],
            4 * ink.shape[1],
            QtGui.QImage.Format.Format_ARGB32,
        )
        left, right = (scale.x_of(float(x)) for x in ends)
        painter.save()
        painter.setClipRect(room)
        painter.setRenderHint(QtGui.QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawImage(QtCore.QRectF(left, room.top(), right - left, room.height()), image)
        painter.setPen(theme.color("dim"))
        flags = int(QtCore.Qt.AlignmentFlag.AlignTop | QtCore.Qt.AlignmentFlag.AlignLeft)
        top_khz = min(MAX_KHZ, 0.5e-3 * lane.audio.rate_hz)
        painter.drawText(room.adjusted(4, 2, 0, 0), flags, f"{top_khz:g} kHz")
        painter.restore()

    def _part(self, lane: SoundLane, model: ClipModel, scale: TimeScale) -> tuple[int, int] | None:
        """Return the samples on screen; None if there are too many."""
        if scale.visible.span_s > MAX_SPAN_S:
            return None
        n = int(lane.audio.samples.size)
        stamps = model.map_of(lane.source).stamps_in(scale.visible)
        zero_s = float(sample_times(lane.audio, model.epoch_ns, np.zeros(1))[0])
        first = int((stamps.start_s - zero_s) * lane.audio.rate_hz)
        stop = int((stamps.stop_s - zero_s) * lane.audio.rate_hz)
        first, stop = min(max(first, 0), n), min(max(stop, 0), n)
        return (first, stop) if stop > first else None

    def _begin(self, lane: SoundLane, part: tuple[int, int]) -> None:
        source = lane.source or ""
        if source in self._under_way:
            return  # the next paint requests it again
        self._under_way[source] = part
        samples, rate_hz = lane.audio.samples[part[0] : part[1]], lane.audio.rate_hz

        def make() -> None:
            from syncaudit.report.spectrogram import spectrogram_ink

            ink = np.rint(255.0 * spectrogram_ink(samples, rate_hz)).astype(np.uint8)
            self._made.emit(source, part, ink)

        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=make, name="syncaudit-spectrogram", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _keep(self, source: str, part: tuple[int, int], ink: NDArray[np.uint8]) -> None:
        if self._under_way.pop(source, None) != part:
            return
        self._done[source] = (part, ink)
        self._on_made()
