"""Everything in lanes except their curves: events, frames, words, legends, missing sources."""

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
from syncaudit_gui.widgets.frames_paint import FramesPainter
from syncaudit_gui.widgets.theme import ALIGN_CENTER, ALIGN_LEFT, Theme, sized

LEGEND_PX, DASH_PX, GAP_PX = 13, 10, 10
TIER_ROW_PX = 20
# Narrower intervals of a tier are not drawn separately.
LEAST_PX = 2.0
# Longer words are cut to the room available; nothing is written if it is below this.
LEAST_WORDS_PX = 16.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LanePainter(FramesPainter):
    """Paints lanes into a snapshot."""

    def paint(self, lane: Lane, room: QtCore.QRectF) -> None:
        """Paint a lane, unless it has curves."""
        self.painter.save()
        self.painter.setClipRect(room)
        if isinstance(lane, EventsLane):
            self._events(room)
            if not len(self.model.events):
                # Next to the time above the cursor at the beginning.
                self._words("nothing to jump to", room.adjusted(90, 0, 0, 0), "dim")
        elif isinstance(lane, FramesLane):
            self.frames(lane, room)
        elif isinstance(lane, TierLane):
            self._tier(lane, room)
            self._words(self._where_it_is(lane), room, "unverified")
        elif isinstance(lane, MissingLane):
            if lane.is_fault:
                self._words(f"✕ {lane.why}", room, "rejected")
            else:
                self._words(lane.why, room, "dim")
        elif isinstance(lane, TurningLane):
            self._words(_why_no_turning(self.model), room, "dim")
        elif isinstance(lane, CurveLane | SoundLane):
            if isinstance(lane, CurveLane) and has_legend(lane):
                self._legend(lane, room)
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

    def _legend(self, lane: CurveLane, room: QtCore.QRectF) -> None:
        """Paint the legend at the top of a lane; names that do not fit are counted."""
        painter, theme = self.painter, self.theme
        painter.setFont(sized(painter.font(), 10))
        metrics, left = painter.fontMetrics(), room.left() + 6.0
        middle = room.top() + 2 + 0.5 * LEGEND_PX
        for k, (name, color) in enumerate(zip(lane.names, curve_colors(lane, theme), strict=False)):
            rest = f"+{len(lane.names) - k}"
            is_last = k + 1 == len(lane.names)
            own_px = DASH_PX + 4 + metrics.horizontalAdvance(name)
            rest_px = 0 if is_last else GAP_PX + metrics.horizontalAdvance(rest)
            box = QtCore.QRectF(left, room.top() + 2, room.right() - left, LEGEND_PX)
            if left + own_px + rest_px > room.right():
                painter.setPen(theme.color("dim"))
                painter.drawText(box, ALIGN_LEFT, rest)
                return
            painter.setPen(QtGui.QPen(theme.color(color), 2))
            painter.drawLine(QtCore.QLineF(left, middle, left + DASH_PX, middle))
            painter.setPen(theme.color("dim"))
            painter.drawText(box.adjusted(DASH_PX + 4, 0, 0, 0), ALIGN_LEFT, name)
            left += own_px + GAP_PX

    def _tier(self, lane: TierLane, room: QtCore.QRectF) -> None:
        """Paint words in their intervals, overlapping ones in rows."""
        clock, theme, visible = self.model.map_of(lane.source), self.theme, self.scale.visible
        start_s, stop_s = clock.apply(lane.start_s), clock.apply(lane.stop_s)
        shown = np.flatnonzero((stop_s >= visible.start_s) & (start_s <= visible.stop_s))
        height = (room.height() - 6.0) / lane.n_rows
        is_instants = bool(np.all(lane.start_s == lane.stop_s))
        border = theme.color(theme.axes[0]) if is_instants else theme.color("dim", 150)
        last = np.full(lane.n_rows, -np.inf)
        for k in shown:
            left, right = (self.scale.x_of(float(ends_s[k])) for ends_s in (start_s, stop_s))
            row = int(lane.rows[k])
            if left - last[row] < LEAST_PX and right - left < LEAST_PX:
                continue
            last[row] = left
            top = room.top() + 3.0 + row * height
            box = QtCore.QRectF(left, top, right - left, height - (1.0 if lane.n_rows > 1 else 0.0))
            words = lane.labels[k].strip()
            if words and not is_instants:
                self.painter.fillRect(box.adjusted(1, 0, 0, 0), theme.color("raised"))
            self.painter.setPen(QtGui.QPen(border, 1))
            for x in {round(left), round(left if is_instants else right)}:
                line = QtCore.QLineF(x + 0.5, box.top() + 1, x + 0.5, box.bottom() - 1)
                self.painter.drawLine(line)
            if words:
                self._label(words, box.intersected(room))

    def _label(self, words: str, box: QtCore.QRectF) -> None:
        """Write words in the visible part of their interval, cut if they are too long."""
        metrics = self.painter.fontMetrics()
        room_px = box.width() - 4.0
        if metrics.horizontalAdvance(words) > room_px:
            if room_px < LEAST_WORDS_PX:
                return
            # Qt also cuts the end of right-to-left text, which is then at the left.
            words = metrics.elidedText(words, QtCore.Qt.TextElideMode.ElideRight, int(room_px))
            if words == "…":
                return
        self.painter.setPen(self.theme.color("text"))
        self.painter.drawText(box, ALIGN_CENTER, words)

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
        clock, limits = self.model.map_of(lane.source), self.model.timeline.limits
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


def curve_colors(lane: CurveLane, theme: Theme) -> tuple[str, ...]:
    """Return the colour of every curve of a lane."""
    n = lane.pyramid.n_channels
    if n == 1:
        return (theme.axes[1],)
    palette = (*theme.axes, theme.text)
    return tuple(palette[k % len(palette)] for k in range(n))


def has_legend(lane: object) -> bool:
    """Return whether a lane has curves that need names."""
    return isinstance(lane, CurveLane) and len(lane.names) > 1
