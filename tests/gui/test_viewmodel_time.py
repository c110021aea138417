"""Ranges, cursors, clock maps, frames and playback: time without a window."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syncaudit_gui.viewmodel.frames import FrameTable
from syncaudit_gui.viewmodel.timeline import DrawnClock, PlayClock, Timeline, TimeRange

from syncaudit.model import ClockMap

# Positions are sums of floats around 100 s.
EXACT_S = 1e-9


def whole(stop_s: float = 100.0) -> Timeline:
    return Timeline(limits=TimeRange(start_s=0.0, stop_s=stop_s))


def test_zoom_keeps_the_place_under_the_mouse():
    timeline = whole()
    timeline.show(timeline.visible.zoomed(0.1, 40.0))
    share = (40.0 - timeline.visible.start_s) / timeline.visible.span_s
    assert share == pytest.approx(0.4, abs=EXACT_S)
    assert timeline.visible.span_s == pytest.approx(10.0, abs=EXACT_S)


@given(st.floats(-500, 500), st.floats(1e-6, 1e6), st.floats(-1e6, 1e6))
def test_view_never_leaves_the_clip(at_s, factor, by_s):
    timeline = whole()
    timeline.show(timeline.visible.zoomed(factor, at_s))
    timeline.show(timeline.visible.moved(by_s))
    assert timeline.visible.start_s >= -1e-6
    assert timeline.visible.stop_s <= 100.0 + 1e-6
    assert timeline.visible.span_s > 0.0


def test_view_follows_a_cursor_that_leaves_it():
    timeline = whole()
    timeline.show(TimeRange(start_s=10.0, stop_s=20.0))
    timeline.move_to(20.5)
    assert timeline.visible.start_s == pytest.approx(19.5, abs=EXACT_S)
    timeline.move_to(5.0, follow=False)
    assert timeline.visible.start_s == pytest.approx(19.5, abs=EXACT_S)


def test_marks_measure_from_first_to_second_then_go():
    timeline = whole()
    assert timeline.measured_s is None
    timeline.move_to(10.0)
    timeline.mark()
    timeline.move_to(10.035)
    assert timeline.measured_s == pytest.approx(0.035, abs=EXACT_S)
    timeline.mark()
    timeline.move_to(50.0)
    assert timeline.measured_s == pytest.approx(0.035, abs=EXACT_S)
    timeline.mark()
    assert timeline.measured_s is None


def drawn(*, at_s, step_at_s=None, **figures):
    """Return a clock whose anchors are given in seconds since the epoch."""
    step_at_ns = None if step_at_s is None else round(1e9 * step_at_s)
    return DrawnClock(clock=ClockMap(at_ns=round(1e9 * at_s), step_at_ns=step_at_ns, **figures))


def test_positive_offset_moves_stamps_later():
    clock = DrawnClock(clock=ClockMap(offset_s=0.035), nudge_s=0.001)
    assert clock.at(10.0) == pytest.approx(10.036, abs=EXACT_S)


def test_drift_counts_from_the_anchor():
    clock = drawn(offset_s=0.01, drift_ppm=2000.0, at_s=10.0)
    assert clock.at(10.0) == pytest.approx(10.01, abs=EXACT_S)
    assert clock.at(20.0) == pytest.approx(20.03, abs=EXACT_S)


@pytest.mark.parametrize(("step_at_s", "expected"), [(15.0, (0.0, 0.06)), (5.0, (-0.06, 0.0))])
def test_offset_holds_on_the_anchors_side_of_a_step(step_at_s, expected):
    clock = drawn(at_s=10.0, step_s=0.06, step_at_s=step_at_s, is_step_past=step_at_s < 10.0)
    changes = clock.change_s(np.array([0.0, 20.0]))
    np.testing.assert_allclose(changes, expected, atol=EXACT_S)


def test_clock_of_another_epoch_is_corrected_to_the_letter_of_the_contract():
    # The figures of shared/realdata/two_imus: 48 s of the offset are drift over eleven days.
    clock = drawn(offset_s=-947896.8, drift_ppm=50.8, at_s=5.0)
    stamp_s = 947853.6
    expected_s = stamp_s - 947896.8 + 50.8e-6 * (stamp_s - 5.0)
    assert clock.at(stamp_s) == pytest.approx(expected_s, abs=1e-6)
    part = clock.stamps_in(TimeRange(start_s=expected_s - 1.0, stop_s=expected_s + 1.0))
    assert part.start_s == pytest.approx(stamp_s - 1.0, abs=1e-3)
    assert part.stop_s == pytest.approx(stamp_s + 1.0, abs=1e-3)


@given(
    st.floats(-5, 5),
    st.floats(-3000, 3000),
    st.floats(0, 100),
    st.floats(-0.5, 0.5),
    st.floats(0, 100),
    st.booleans(),
)
def test_stamps_in_view_are_all_found(offset_s, drift_ppm, at_s, step_s, step_at_s, is_step_past):
    clock = drawn(
        offset_s=offset_s,
        drift_ppm=drift_ppm,
        at_s=at_s,
        step_s=step_s,
        step_at_s=step_at_s,
        is_step_past=is_step_past,
    )
    stamps_s = np.linspace(-20.0, 120.0, 2801)
    visible = TimeRange(start_s=40.0, stop_s=45.0)
    placed = clock.apply(stamps_s)
    is_shown = (placed >= visible.start_s) & (placed < visible.stop_s)
    part = clock.stamps_in(visible)
    assert np.all((stamps_s[is_shown] >= part.start_s) & (stamps_s[is_shown] <= part.stop_s))


def test_frame_shown_is_the_last_not_after_the_cursor():
    table = FrameTable(np.array([0.0, 0.1, 0.2, 0.3]))
    shown = table.at(0.1999)
    assert shown is not None
    assert (shown.index, round(shown.age_s, 4), shown.is_stale) == (1, 0.0999, False)
    assert table.at(-1e-8) is None
    assert table.at(0.3999) is not None
    assert table.at(0.41) is None


def test_frame_after_lost_ones_is_called_stale():
    table = FrameTable(np.array([0.0, 0.1, 0.2, 0.9, 1.0, 1.1]))
    shown = table.at(0.6)
    assert shown is not None
    assert (shown.index, shown.is_stale) == (2, True)


def test_disordered_stamps_keep_their_rows():
    table = FrameTable(np.array([0.0, 0.2, 0.1, 0.3]))
    shown = table.at(0.15)
    assert shown is not None
    assert shown.index == 2


def test_steps_go_from_stamp_to_stamp():
    table = FrameTable(np.array([0.0, 0.1, 0.2, 0.3]))
    assert table.stepped(0.15, 1) == 0.2
    assert table.stepped(0.15, -1) == 0.1
    assert table.stepped(0.1, -1) == 0.0
    assert table.stepped(0.1, 10) == 0.3
    assert FrameTable(np.empty(0)).stepped(0.0, 1) is None


def test_play_clock_runs_at_its_speed_and_stops_at_the_end():
    limits = TimeRange(start_s=0.0, stop_s=10.0)
    clock = PlayClock(0.5)
    clock.play(100.0, 4.0)
    assert clock.position(102.0, limits) == pytest.approx(5.0, abs=EXACT_S)
    clock.change_speed(1, 102.0)
    assert clock.position(103.0, limits) == pytest.approx(6.0, abs=EXACT_S)
    assert clock.position(110.0, limits) == 10.0
    assert not clock.is_playing


def test_play_clock_starts_over_at_the_end_of_a_loop():
    clock = PlayClock()
    clock.play(0.0, 1.0)
    loop = TimeRange(start_s=1.0, stop_s=2.0)
    position_s = clock.position(1.25, TimeRange(start_s=0.0, stop_s=10.0), loop)
    assert position_s == pytest.approx(1.25, abs=EXACT_S)
    assert clock.is_playing
