"""Tool tips in the lanes: elided text in full, and items without text."""

from __future__ import annotations

import numpy as np
from pyqtgraph.Qt import QtCore

from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.events import EVENT_GLYPHS
from syncaudit_gui.viewmodel.lanes import (
    NO_AUDIO,
    CurveLane,
    EventsLane,
    FramesLane,
    Lane,
    MissingLane,
    TierLane,
)
from syncaudit_gui.viewmodel.wording import word_time
from syncaudit_gui.widgets.frames_paint import frame_rows
from syncaudit_gui.widgets.lane_axis import AXIS_PX
from syncaudit_gui.widgets.time_scale import TimeScale

MOST_LABELS = 4
# Items within this distance of the mouse count as hovered.
NEAR_PX = 8.0
_NO_AUDIO = (
    "Its audio could not be read: times count from its start in the manifest, or else from the "
    "start of the clip."
)


def lane_words(lane: Lane) -> str:
    """Return title, source and unit of a lane in full."""
    source = "" if lane.source in (None, lane.title) else str(lane.source)
    return " · ".join(part for part in (lane.title, source, lane.unit) if part)


def tip_at(
    lane: Lane, room: QtCore.QRectF, place: QtCore.QPointF, model: ClipModel, scale: TimeScale
) -> str:
    """Return the tip at a position; empty if there is none."""
    if place.x() < AXIS_PX and isinstance(lane, EventsLane):
        return "\n".join(f"{glyph}  {kind}" for kind, (glyph, _) in EVENT_GLYPHS.items())
    if place.x() < AXIS_PX:
        curves = ", ".join(lane.names) if isinstance(lane, CurveLane) else ""
        audio = _NO_AUDIO if lane.unit == NO_AUDIO else ""
        return "\n".join(part for part in (lane_words(lane), curves, audio) if part)
    time_s = scale.time_at(place.x())
    if isinstance(lane, EventsLane):
        return _events(model, time_s, NEAR_PX / scale.px_per_s)
    if isinstance(lane, TierLane):
        return _labels(lane, model, time_s)
    if isinstance(lane, FramesLane):
        return _frames(lane, room, place.y(), model, time_s)
    return lane.why if isinstance(lane, MissingLane) else ""


def _events(model: ClipModel, time_s: float, near_s: float) -> str:
    lines = [
        f"{EVENT_GLYPHS[event.kind][0]}  {event.kind}  {word_time(at_s)}  {event.source}"
        for at_s, event in model.events
        if abs(at_s - time_s) <= near_s
    ]
    return "\n".join(lines[:MOST_LABELS])


def _labels(lane: TierLane, model: ClipModel, time_s: float) -> str:
    clock = model.map_of(lane.source)
    start_s, stop_s = clock.apply(lane.start_s), clock.apply(lane.stop_s)
    inside = np.flatnonzero((start_s <= time_s) & (time_s < stop_s))
    lines = [
        f"{lane.labels[k].strip() or '(empty)'}  "
        f"{word_time(float(start_s[k]))} – {word_time(float(stop_s[k]))}"
        for k in inside[:MOST_LABELS]
    ]
    return "\n".join(lines)


def _frames(
    lane: FramesLane, room: QtCore.QRectF, y_px: float, model: ClipModel, time_s: float
) -> str:
    rows = frame_rows(lane, room)
    camera = next((name for name, row in rows if row.top() <= y_px < row.bottom()), None)
    if camera is None:
        return ""
    clock = model.map_of(camera)
    lines = [
        f"{spell.sign}  {word_time(clock.at(spell.start_s))} – "
        f"{word_time(clock.at(spell.stop_s))}, {spell.frames}"
        for spell in model.spells.get(camera, ())
        if clock.at(spell.start_s) <= time_s < clock.at(spell.stop_s)
    ]
    return "\n".join((camera, *lines))
