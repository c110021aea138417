"""The window in use: keys, clicks, and frame numbers read from its pixels."""

from __future__ import annotations

import json

import numpy as np
import pytest
from pyqtgraph.Qt import QtCore, QtGui, QtTest
from syncaudit_gui.viewmodel.judgement import Judgement, SourceEstimate
from syncaudit_gui.widgets.filmstrip import CAPTION_PX, Arrangement
from syncaudit_gui.widgets.lane_axis import AXIS_PX

from syncaudit.model import PairMeasurement, Verdict
from testkit.barcode_clips import APART_S, N_FRAMES, RATE_HZ
from testkit.barcodes import read_barcode
from testkit.viewer_keys import WAIT_MS, key

# Times are rounded to nanoseconds and pixels.
NEAR_S = 1e-6


def grey_of(widget) -> np.ndarray:
    """Return the painted widget as grey levels."""
    image = widget.grab().toImage().convertToFormat(QtGui.QImage.Format.Format_Grayscale8)
    bits = image.constBits()
    bits.setsize(image.sizeInBytes())
    rows = np.frombuffer(bits, np.uint8).reshape(image.height(), image.bytesPerLine())
    return rows[:, : image.width()].copy()


def number_in(pane) -> int:
    """Return the frame number shown by a pane, read from its pixels."""
    grey = grey_of(pane)[1:-CAPTION_PX, 1:-1].astype(int)
    picture = pane.frame
    height, width, _ = picture.pixels.shape
    top, left = (grey.shape[0] - height) // 2, (grey.shape[1] - width) // 2
    return read_barcode(grey[top : top + height, left : left + width])


def settle(qtbot, window) -> None:
    qtbot.waitUntil(lambda: window.panels.films.is_settled, timeout=WAIT_MS)


def judged(**offsets_s: float) -> Judgement:
    """Return a judgement with these offsets; those above 10 ms are rejected."""
    return Judgement(
        verdict=Verdict.REJECT,
        reference="imu",
        at_ns=1_767_225_601_500_000_000,
        sources={
            name: SourceEstimate(
                clock=name,
                verdict=Verdict.REJECT if abs(offset_s) > 0.01 else Verdict.PASS,
                is_observable=True,
                offset_s=offset_s,
                offset_std_s=0.0004,
            )
            for name, offset_s in offsets_s.items()
        },
        pairs=(
            PairMeasurement(
                source="cam2",
                target="imu",
                method="rotation",
                at_ns=0,
                offset_s=0.035,
                offset_std_s=0.0004,
                accepted=True,
            ),
        ),
    )


def judge(window, **offsets_s: float) -> None:
    window.session.model.judgement = judged(**offsets_s)
    window.session.model.clocks_changed()
    window.display.show_clocks()


def test_every_pane_shows_the_last_frame_not_after_the_cursor(qtbot, window):
    for time_s in (0.1, 1.0, 0.5301, 2.031, 2.9, 0.26):
        window.display.jump_to(time_s)
        settle(qtbot, window)
        expected = [int(np.floor((time_s - k * APART_S) * RATE_HZ + 1e-9)) for k in range(6)]
        assert [number_in(pane) for pane in window.panels.films.panes.values()] == expected


def test_no_frame_is_shown_before_the_first_and_after_the_last(qtbot, window):
    window.display.jump_to(0.5 * APART_S)
    settle(qtbot, window)
    panes = window.panels.films.panes
    assert number_in(panes["cam0"]) == 0
    assert panes["cam1"].words == "no footage"
    window.display.jump_to(N_FRAMES / RATE_HZ + 0.5 * APART_S)
    assert panes["cam0"].words == "no footage"


def test_arrows_step_by_frames_of_the_selected_camera(qtbot, window):
    window.display.jump_to(1.0)
    window.display.select("cam2")
    key(window, "Right")
    settle(qtbot, window)
    assert number_in(window.panels.films.panes["cam2"]) == 20
    assert window.session.timeline.cursor_s == pytest.approx(1.0 + 2 * APART_S, abs=NEAR_S)
    key(window, "Shift+Right")
    key(window, "Left")
    settle(qtbot, window)
    assert number_in(window.panels.films.panes["cam2"]) == 29


def test_corrected_frames_change_and_come_back(qtbot, window):
    judge(window, cam0=0.0, cam2=0.06)
    window.display.jump_to(1.03)
    settle(qtbot, window)
    before = number_in(window.panels.films.panes["cam2"])
    key(window, "C")
    settle(qtbot, window)
    assert number_in(window.panels.films.panes["cam2"]) == before - 1
    assert window.panels.sources.corrected.isChecked()
    key(window, "C")
    settle(qtbot, window)
    assert number_in(window.panels.films.panes["cam2"]) == before


def test_holding_c_is_only_a_glance(qtbot, window):
    judge(window, cam2=0.06)
    QtTest.QTest.keyPress(window, QtCore.Qt.Key.Key_C)
    assert window.session.model.is_corrected
    qtbot.wait(450)
    QtTest.QTest.keyRelease(window, QtCore.Qt.Key.Key_C)
    assert not window.session.model.is_corrected


def test_correction_leaves_a_ghost(window):
    judge(window, imu=0.05)
    window.display.select("imu")
    plain = [len(row.curves) for row in window.panels.lanes.plots._rows]
    key(window, "C")
    ghosted = [len(row.curves) for row in window.panels.lanes.plots._rows]
    assert sum(ghosted) > sum(plain)
    gyro = next(row for row in window.panels.lanes.plots._rows if row.lane.title == "gyro")
    xs = [curve.getData()[0] for curve in gyro.curves]
    assert float(xs[-1][0] - xs[0][0]) == pytest.approx(0.05, abs=NEAR_S)


def test_nudges_move_are_saved_and_undone(window, tmp_path):
    window.display.select("cam2")
    for name in (".", ".", "Shift+,"):
        key(window, name)
    assert window.session.model.nudges_s["cam2"] == pytest.approx(-0.008, abs=NEAR_S)
    assert window.session.model.is_corrected
    lines = (tmp_path / "labels.nudges.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["nudge_s"] for line in lines] == [0.001, 0.002, -0.008]
    key(window, "Ctrl+Z")
    assert window.session.model.nudges_s["cam2"] == pytest.approx(0.002, abs=NEAR_S)
    key(window, "Ctrl+Shift+Z")
    assert window.session.model.nudges_s["cam2"] == pytest.approx(-0.008, abs=NEAR_S)
    key(window, "Ctrl+.")
    assert window.session.model.nudges_s["cam2"] == pytest.approx(0.042, abs=NEAR_S)


def drag(
    window, start: QtCore.QPoint, end: QtCore.QPoint, keys=QtCore.Qt.KeyboardModifier.NoModifier
):
    overlay = window.panels.lanes.overlay
    button = QtCore.Qt.MouseButton.LeftButton
    QtTest.QTest.mousePress(overlay, button, keys, start)
    kind = QtCore.QEvent.Type.MouseMove
    move = QtGui.QMouseEvent(
        kind, end.toPointF(), overlay.mapToGlobal(end).toPointF(), button, button, keys
    )
    window.panels.lanes.overlay.mouseMoveEvent(move)
    QtTest.QTest.mouseRelease(overlay, button, keys, end)


def test_dragging_scrubs_and_alt_dragging_nudges(qtbot, window):
    scale = window.panels.lanes.scale()
    x0, x1 = (round(scale.x_of(t)) for t in (1.0, 2.0))
    drag(window, QtCore.QPoint(x0, 5), QtCore.QPoint(x1, 5))
    assert window.session.timeline.cursor_s == pytest.approx(2.0, abs=1.0 / scale.px_per_s)
    settle(qtbot, window)
    assert not any(p.frame.is_coarse for p in window.panels.films.panes.values() if p.frame)
    room = next(r for lane, r in window.panels.lanes.plots.rects() if lane.title == "gyro")
    y = round(room.center().y())
    alt = QtCore.Qt.KeyboardModifier.AltModifier
    drag(window, QtCore.QPoint(x0, y), QtCore.QPoint(x0 + 10, y), alt)
    nudge_s = window.session.nudges.of("first", "imu")
    assert nudge_s == pytest.approx(10.0 / scale.px_per_s, abs=NEAR_S)
    assert window.session.selected == "imu"


def test_wheel_zooms_around_the_mouse(window):
    scale = window.panels.lanes.scale()
    at = QtCore.QPointF(scale.x_of(1.5), 100)
    none = QtCore.Qt.KeyboardModifier.NoModifier
    event = QtGui.QWheelEvent(
        at, at, QtCore.QPoint(), QtCore.QPoint(0, 120), QtCore.Qt.MouseButton.NoButton, none,
        QtCore.Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    window.panels.lanes.overlay.wheelEvent(event)
    assert window.panels.lanes.scale().x_of(1.5) == pytest.approx(at.x(), abs=0.1)
    assert window.session.timeline.visible.span_s < 3.0
    key(window, "0")
    assert window.session.timeline.visible == window.session.timeline.limits


def test_clicking_a_title_selects_its_source(window):
    room = next(r for lane, r in window.panels.lanes.plots.rects() if lane.title == "accel")
    place = QtCore.QPoint(AXIS_PX // 3, round(room.center().y()))
    QtTest.QTest.mouseClick(
        window.panels.lanes.overlay, QtCore.Qt.MouseButton.LeftButton, pos=place
    )
    assert window.session.selected == "imu"
    key(window, "Up")
    assert window.session.selected == "cam5"


def test_moving_the_cursor_redraws_no_curve(qtbot, window):
    window.panels.lanes.overlay.repaint()
    refreshes, snapshots = (
        window.panels.lanes.plots.n_refreshes,
        window.panels.lanes.overlay.n_snapshots,
    )
    for k in range(20):
        window.display.move_to(1.0 + 0.01 * k)
        window.panels.lanes.overlay.repaint()
    assert window.panels.lanes.plots.n_refreshes == refreshes
    assert window.panels.lanes.overlay.n_snapshots == snapshots


def test_cursor_is_drawn_where_the_time_is(window):
    for time_s in (0.7, 2.2):
        window.display.move_to(time_s)
        grey = grey_of(window.panels.lanes.overlay)
        x = round(window.panels.lanes.scale().x_of(time_s))
        brightest = int(np.argmax(grey[30:].mean(axis=0)[AXIS_PX:])) + AXIS_PX
        assert abs(brightest - x) <= 1


@pytest.mark.parametrize("time_s", [0.0, 1.5, 3.05])
def test_moving_cursor_wipes_its_old_place(window, monkeypatch, time_s):
    window.display.move_to(time_s)
    overlay = window.panels.lanes.overlay
    before, wiped = grey_of(overlay), np.zeros((overlay.height(), overlay.width()), dtype=bool)

    def collect(*place) -> None:
        rect = place[0] if len(place) == 1 else QtCore.QRect(*place)
        wiped[max(0, rect.top()) : rect.bottom() + 1, max(0, rect.left()) : rect.right() + 1] = True

    monkeypatch.setattr(overlay, "update", collect)
    window.display.move_to(2.0)
    monkeypatch.undo()
    has_changed = grey_of(overlay) != before
    assert has_changed.any()
    assert not (has_changed & ~wiped).any()


def test_all_lanes_share_their_left_edge(window):
    rooms = [room for _, room in window.panels.lanes.plots.rects()]
    assert {round(room.left(), 3) for room in rooms} == {float(AXIS_PX)}
    assert len({round(room.right(), 3) for room in rooms}) == 1
    # Only curves take their room.
    assert sum(room.height() for room in rooms) > 0.95 * window.panels.lanes.height()


def test_playing_moves_the_cursor_and_pauses_at_the_end(qtbot, window):
    window.display.jump_to(2.0)
    key(window, "Space")
    assert window.player.is_playing
    qtbot.waitUntil(lambda: window.session.timeline.cursor_s > 2.1, timeout=WAIT_MS)
    window.display.move_to(2.99)
    window.player.jumped()
    qtbot.waitUntil(lambda: not window.player.is_playing, timeout=WAIT_MS)
    assert window.panels.transport.play.text() == "▶"


def test_loop_keeps_the_cursor_inside(qtbot, window):
    window.display.jump_to(1.0)
    key(window, "M")
    window.display.jump_to(1.1)
    key(window, "M")
    key(window, "E")
    assert window.panels.transport.measured.text() == "Δ +100.00 ms"
    key(window, "Space")
    seen = []
    window.player.moved.connect(seen.append)
    qtbot.waitUntil(lambda: len(seen) > 12 and min(np.diff(seen)) < 0, timeout=WAIT_MS)
    assert min(seen) >= 1.0
    assert max(seen) < 1.1
    key(window, "Space")


def test_events_are_jumped_to(window):
    window.display.move_to(0.0)
    key(window, "3")
    assert window.session.timeline.cursor_s == pytest.approx(1.0, abs=0.05)
    key(window, "3")
    assert window.session.timeline.cursor_s == pytest.approx(2.2, abs=0.05)
    key(window, "1")
    assert "no flash after" in window.panels.transport.message.text()
    key(window, "P")
    assert window.session.timeline.cursor_s < 2.1


def test_cameras_enlarge_and_lie_in_a_grid(window):
    window.display.select("cam3")
    key(window, "Return")
    assert window.panels.films.arrangement is Arrangement.ONE
    visible = [name for name, pane in window.panels.films.panes.items() if pane.isVisible()]
    assert visible == ["cam3"]
    key(window, "G")
    tops = {pane.y() for pane in window.panels.films.panes.values()}
    assert len(tops) == 2
    key(window, "Escape")
    assert window.panels.films.arrangement is Arrangement.STRIP


def test_labels_are_given_taken_back_and_noted(window, tmp_path):
    key(window, "I")
    window.panels.labels.note.setText("clear case")
    key(window, "Return")
    key(window, "R")
    assert window.panels.labels.buttons["reject"].isChecked()
    lines = (tmp_path / "labels.jsonl").read_text(encoding="utf-8").splitlines()
    last = json.loads(lines[-1])
    assert (last["label"], last["note"], last["blind"]) == ("reject", "clear case", False)
    key(window, "R")
    assert window.session.labels.of("first") is None


def test_keys_are_text_while_text_is_typed(qtbot, window):
    window.panels.clips.filter.setFocus()
    qtbot.waitUntil(lambda: window.focusWidget() is window.panels.clips.filter, timeout=WAIT_MS)
    for letter in ("s", "e", "c"):
        QtTest.QTest.keyClicks(window.panels.clips.filter, letter)
    assert window.panels.clips.filter.text() == "sec"
    assert len(window.session.batch) == 1
    assert not window.session.model.is_corrected


def test_blind_mode_hides_everything_until_labelled(window):
    judge(window, cam2=0.035)
    window.display.select("cam2")
    key(window, "C")
    key(window, "B")
    texts = [cell.text for row in window.panels.sources.table._rows for cell in row]
    assert not any("35" in text for text in texts)
    assert not window.session.model.is_corrected
    key(window, "C")
    assert not window.session.model.is_corrected
    assert window.panels.evidence.words.text() == "hidden until you have labelled the clip"
    key(window, "A")
    assert window.session.labels.of("first").is_blind
    texts = [cell.text for row in window.panels.sources.table._rows for cell in row]
    assert any("+35.0 ± 0.4" in text for text in texts)


def test_page_keys_go_through_the_clips(qtbot, window):
    with qtbot.waitSignal(window.opening.clip_shown, timeout=WAIT_MS):
        key(window, "PgDown")
    assert window.session.clip_id == "second"
    with qtbot.waitSignal(window.opening.clip_shown, timeout=WAIT_MS):
        key(window, "PgUp")
    assert window.session.clip_id == "first"


def test_tables_tell_what_plots_show(window):
    judge(window, cam2=0.035)
    window.display.select("cam2")
    row = window.panels.sources.table._rows[2]
    assert [cell.text for cell in row[:2]] == ["✕ cam2", "+35.0 ± 0.4"]
    assert "cam2 timestamps 35.0 ± 0.4 ms early" in row[1].tip
    assert window.panels.evidence.table._rows[0][2].text == "+35.0 ± 0.4"
    assert window.panels.films.panes["cam0"].accessibleDescription().startswith("#")


def test_theme_and_key_sheet(window):
    key(window, "T")
    light = grey_of(window).mean()
    key(window, "T")
    assert light > grey_of(window).mean() + 60
    key(window, "?")
    assert window.panels.sheet.isVisible()
    key(window, "Escape")
    assert not window.panels.sheet.isVisible()


def test_spectrogram_replaces_the_waveform(qtbot, window):
    room = next(r for lane, r in window.panels.lanes.plots.rects() if lane.title == "mic").toRect()
    before = grey_of(window.panels.lanes.overlay)
    key(window, "S")
    window.panels.lanes.overlay.repaint()
    qtbot.waitUntil(lambda: bool(window.panels.lanes.spectrograms._done), timeout=WAIT_MS)
    after = grey_of(window.panels.lanes.overlay)
    part = np.s_[room.top() + 2 : room.bottom() - 2, room.center().x() : room.right()]
    assert (np.abs(after[part].astype(int) - before[part]) > 20).mean() > 0.05
