"""Lanes without curves: events, frames, words, missing sources."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pyqtgraph.Qt import QtCore, QtGui

from syncaudit.formatting import word_duration
from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.events import EVENT_GLYPHS
from syncaudit_gui.viewmodel.lanes import (
    CurveLane,
    EventsLane,
    FramesLane,
    Lane,
    MissingLane,
    SoundLane,
    TierLane,
    TurningLane,
)
from syncaudit_gui.widgets.frames_paint import paint_frames
from syncaudit_gui.widgets.legend import has_legend, paint_legend
from syncaudit_gui.widgets.theme import ALIGN_CENTER, ALIGN_LEFT, Theme, sized
from syncaudit_gui.widgets.tier_paint import paint_tier
from syncaudit_gui.widgets.time_scale import TimeScale

__all__ = ["LanePainter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LanePainter:
    """Paints lanes into a snapshot."""

    painter: QtGui.QPainter
    theme: Theme
    model: ClipModel
    scale: TimeScale

    def paint(self, lane: Lane, room: QtCore.QRectF) -> None:
        """Paint a lane, unless it has curves."""
        self.painter.save()
        self.painter.setClipRect(room)
        if isinstance(lane, EventsLane):
            self._events(room)
            if not len(self.model.events):
                # Next to the time above the cursor at the beginning.
                self._words("nothing to jump to yet", room.adjusted(90, 0, 0, 0), "dim")
        elif isinstance(lane, FramesLane):
            paint_frames(self.painter, lane, room, self.model, self.scale, self.theme)
        elif isinstance(lane, TierLane):
            paint_tier(self.painter, lane, room, self.model, self.scale, self.theme)
            self._words(self._where_it_is(lane), room, "unverified")
        elif isinstance(lane, MissingLane):
            self._words(f"✕ {lane.why}", room, "rejected")
        elif isinstance(lane, TurningLane):
            self._words(_why_no_turning(self.model), room, "dim")
        elif isinstance(lane, CurveLane | SoundLane):
            if isinstance(lane, CurveLane) and has_legend(lane):
                paint_legend(self.painter, lane, room, self.theme)
            self._words(self._where_it_is(lane), room, "unverified")
        self.painter.restore()

    def grid(self, room: QtCore.QRectF) -> None:
        """Paint a faint line at every round time."""
        # Opaque, beneath the curves: translucent lines over them take as long as the curves.
        color = self.theme.color("raised")
        top, height = round(room.top()), round(room.height())
        for time_s in self.scale.ticks()[0]:
            self.painter.fillRect(round(self.scale.x_of(time_s)), top, 1, height, color)

    def _events(self, room: QtCore.QRectF) -> None:
        self.painter.setFont(sized(self.painter.font(), 12))
        for kind, (glyph, color) in EVENT_GLYPHS.items():
            self.painter.setPen(self.theme.color(self.theme.axes[color]))
            last = -np.inf
            for time_s in self.model.events.of(kind):
                x = self.scale.x_of(float(time_s))
                if not room.left() - 8 <= x <= room.right() + 8 or x - last < 3.0:
                    continue
                last = x
                box = QtCore.QRectF(x - 10, room.top(), 20, room.height())
                self.painter.drawText(box, ALIGN_CENTER, glyph)

    def _where_it_is(self, lane: CurveLane | SoundLane | TierLane) -> str:
        """Describe how far a lane lies from the clip; empty if part of it is inside."""
        if isinstance(lane, TierLane):
            ends_s: tuple[float, float] | None = (lane.start_s[0], np.max(lane.stop_s))
        else:
            ends_s = lane.pyramid.ends_s
        if ends_s is None:
            return ""
        if not isinstance(lane, TierLane) and lane.pyramid.extremes() is None:
            return "? none of its samples is finite"
        clock, limits = self.model.map_of(lane.source), self.model.limits
        first_s, last_s = (clock.at(time_s) for time_s in ends_s)
        if first_s < limits.stop_s and last_s >= limits.start_s:
            return ""
        is_late = first_s >= limits.stop_s
        away_s = first_s - limits.stop_s if is_late else limits.start_s - last_s
        words = f"? its timestamps are {word_duration(away_s)} {'later' if is_late else 'earlier'}"
        return words if self.model.is_corrected else f"{words}; corrected clocks (C) may show them"

    def _words(self, words: str, room: QtCore.QRectF, color: str) -> None:
        if not words:
            return
        self.painter.setPen(self.theme.color(color))
        right = QtCore.Qt.TextElideMode.ElideRight
        shown = self.painter.fontMetrics().elidedText(words, right, int(room.width()) - 12)
        self.painter.drawText(room.adjusted(6, 0, -6, 0), ALIGN_LEFT, shown)


def _why_no_turning(model: ClipModel) -> str:
    """Explain why no turn rate is drawn; empty if there is one."""
    if model.turning:
        return ""
    if model.judgement is None:
        return "no gyroscope; the turn rates of cameras are known after an audit"
    return "no source measures the turn rate"
