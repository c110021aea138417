"""What can be read off the lanes: values, events, and the visible part of the clip."""

from __future__ import annotations

import numpy as np
import pytest
from pyqtgraph.Qt import QtCore
from pytestqt.qtbot import QtBot
from syncaudit_gui.viewmodel.bindings import Action
from syncaudit_gui.viewmodel.lanes import CurveLane, EventsLane, SoundLane
from syncaudit_gui.viewmodel.pyramid import MinMaxPyramid, seen_ends
from syncaudit_gui.viewmodel.timeline import DrawnClock, TimeRange
from syncaudit_gui.viewmodel.wording import word_value
from syncaudit_gui.widgets.lane_axis import AXIS_PX
from syncaudit_gui.widgets.lane_overlay import tip_at

from syncaudit.model import ClockMap

TOLERANCE_S = 1e-6


def lane_of(window, title: str):
    return next(x for x in window.panels.lanes.plots.lanes if x.title == title)


def room_of(window, title: str) -> QtCore.QRectF:
    return next(r for x, r in window.panels.lanes.plots.rects() if x.title == title)


def test_values_at_the_cursor_are_those_of_the_samples(window):
    lane = lane_of(window, "gyro")
    assert isinstance(lane, CurveLane)
    at_s = 0.5
    expected = lane.pyramid.value_at(at_s)
    found = window.panels.lanes.plots.values_at(lane, at_s)
    names = [f"{name} {word_value(float(x))}" for name, x in zip("xyz", expected, strict=True)]
    assert [words for _, words in found] == names
    assert len({color for color, _ in found}) == 3


def test_no_value_is_said_where_there_are_no_samples(window):
    lane = lane_of(window, "gyro")
    assert window.panels.lanes.plots.values_at(lane, -1.0) == []
    assert window.panels.lanes.plots.values_at(lane, 99.0) == []


def test_values_are_written_beside_the_cursor(window):
    window.display.move_to(1.0)
    overlay, room = window.panels.lanes.overlay, room_of(window, "gyro")
    overlay.repaint()
    x = round(window.panels.lanes.scale().x_of(1.0))
    image = overlay.grab().toImage()
    top = round(room.top()) + 15
    seen = [image.pixelColor(a, b) for a in range(x + 4, x + 44) for b in range(top, top + 12)]
    assert any(c.red() > 120 and c.blue() < 0.5 * c.red() for c in seen)  # orange, like the x axis


@pytest.mark.parametrize("drift_ppm", [0.0, 2000.0])
def test_stamps_of_reference_times_are_found(drift_ppm):
    correction = ClockMap(offset_s=0.035, drift_ppm=drift_ppm, at_ns=10_000_000_000)
    clock = DrawnClock(clock=correction, nudge_s=0.001)
    assert clock.at(clock.stamp_at(17.0)) == pytest.approx(17.0, abs=TOLERANCE_S)


def test_single_outliers_leave_an_axis_to_the_rest():
    wave = np.sin(np.linspace(0.0, 60.0, 1000)).astype(np.float32)
    assert seen_ends(wave) == (wave.min(), wave.max())
    low, high = seen_ends(np.append(wave, np.float32(900.0)))
    assert low == wave.min()
    assert high < 4.0
    assert seen_ends(np.full(4, np.nan, dtype=np.float32)) is None


def test_axes_follow_what_is_seen(window):
    plots = window.panels.lanes.plots
    row = next(row for row in plots._rows if row.lane.title == "gyro")
    whole = row.reach
    window.display.show_range(TimeRange(start_s=0.05, stop_s=0.15))
    assert row.reach[1] - row.reach[0] < 0.6 * (whole[1] - whole[0])
    window.display.show_range(window.session.timeline.limits)
    assert row.reach == pytest.approx(whole)


def test_events_say_what_they_are_on_hovering(window):
    model, scale = window.session.model, window.panels.lanes.scale()
    lane = next(x for x in window.panels.lanes.plots.lanes if isinstance(x, EventsLane))
    room = room_of(window, "events")
    at_s, event = next(iter(model.events))
    place = QtCore.QPointF(scale.x_of(at_s), room.center().y())
    assert f"{event.kind}" in tip_at(lane, room, place, model, scale)
    legend = tip_at(lane, room, QtCore.QPointF(AXIS_PX - 20.0, 5.0), model, scale)
    assert "●  flash" in legend
    assert "⇥  step" in legend


def test_events_are_listed_and_jumped_to(window):
    panel = window.panels.events
    assert panel.isHidden()
    window.verbs.do(Action.EVENTS)
    model = window.session.model
    assert panel.table.rowCount() == len(model.events) > 0
    assert panel.counts.text()
    panel.view.clicked.emit(panel.table.index(1, 0))
    assert window.session.timeline.cursor_s == pytest.approx(float(model.events.times_s[1]))
    window.verbs.do(Action.EVENTS)
    assert panel.isHidden()


def test_the_bar_under_the_times_moves_what_is_seen(qtbot: QtBot, window):
    timeline, ruler = window.session.timeline, window.panels.ruler
    window.display.show_range(TimeRange(start_s=0.5, stop_s=1.0))
    whole = ruler._whole()
    held, dropped = (QtCore.QPoint(round(whole.x_of(t)), ruler.height() - 5) for t in (0.75, 1.75))
    left = QtCore.Qt.MouseButton.LeftButton
    qtbot.mousePress(ruler, left, pos=held)
    assert timeline.visible.start_s == pytest.approx(0.5, abs=0.01)
    qtbot.mouseMove(ruler, dropped)
    qtbot.mouseRelease(ruler, left, pos=dropped)
    assert timeline.visible.start_s == pytest.approx(1.5, abs=0.01)
    assert timeline.visible.span_s == pytest.approx(0.5)


def test_speech_is_shown_with_its_spectrogram_and_words(window):
    """The clip has words: the waveform stays above everything below it."""
    assert window.panels.lanes.spectrograms.is_wanted
    row = next(r for r in window.panels.lanes.plots._rows if isinstance(r.lane, SoundLane))
    low, high = row.reach
    assert -low > 3.0 * high
    window.panels.lanes.toggle_spectrograms()
    row = next(r for r in window.panels.lanes.plots._rows if isinstance(r.lane, SoundLane))
    assert row.reach[0] == pytest.approx(-row.reach[1])


def test_values_have_three_digits():
    assert [word_value(x) for x in (0.0, -12.345, 0.5, float("nan"), 1234.5)] == [
        "0",
        "−12.3",
        "0.5",
        "–",
        "1234",
    ]


def test_a_value_between_samples_is_that_of_the_last_one():
    pyramid = MinMaxPyramid(np.arange(3.0), np.array([[1.0], [2.0], [3.0]]))
    assert pyramid.value_at(1.5)[0] == 2.0
    assert pyramid.value_at(2.1) is None
