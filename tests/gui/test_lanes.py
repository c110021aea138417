"""Contents and texts of lanes: robots in few of them, words in any language, missing data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pyqtgraph.Qt import QtCore, QtGui
from syncaudit_gui.viewmodel.lanes import (
    NO_AUDIO,
    CurveLane,
    FramesLane,
    TierLane,
    TurningLane,
)
from syncaudit_gui.viewmodel.pyramid import MinMaxPyramid
from syncaudit_gui.viewmodel.state_groups import MAX_CURVES, group_channels
from syncaudit_gui.widgets.frames_paint import frame_rows
from syncaudit_gui.widgets.lane_axis import LaneAxis
from syncaudit_gui.widgets.lane_overlay import lane_words, tip_at
from syncaudit_gui.widgets.lane_paint import curve_colors

from syncaudit.model import (
    Channel,
    SignalStream,
    SourceKind,
)
from testkit.barcode_clips import START_NS, write_clip, write_manifest, write_stamps
from testkit.barcodes import write_barcodes

JOINTS = ("waist", "shoulder", "elbow", "forearm_roll", "wrist_angle", "wrist_rotate", "gripper")
N = 90
STAMPS = START_NS + np.arange(N, dtype=np.int64) * 33_000_000


def state(*channels: tuple[str, np.ndarray]) -> SignalStream:
    made = tuple(
        Channel(name=name, time_ns=STAMPS, values=values.reshape(N, -1))
        for name, values in channels
    )
    return SignalStream(
        name="state", clock="state", kind=SourceKind.STATE, time_ns=STAMPS, channels=made
    )


def wave(size: float = 1.0, phase: float = 0.0) -> np.ndarray:
    return size * np.sin(np.arange(N) / 9.0 + phase)


def write_state(path: Path, *, n_arms: int = 2) -> None:
    names = [f"{side}_{x}.pos" for side in ("left", "right")[:n_arms] for x in JOINTS]
    rows = [
        [f"{wave(90.0 if 'grip' in name else 1.5, k)[row]:.5f}" for k, name in enumerate(names)]
        for row in range(N)
    ]
    lines = [",".join(("timestamp_ns", *names))]
    lines += [",".join((str(t), *row)) for t, row in zip(STAMPS.tolist(), rows, strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def shown(window, kind: type) -> list:
    return [lane for lane in window.panels.lanes.plots.lanes if isinstance(lane, kind)]


def colors_in(window, room: QtCore.QRectF) -> set[str]:
    """Return every colour painted on the lanes within the rectangle `room`."""
    image = window.panels.lanes.grab().toImage()
    part = image.copy(room.toRect())
    return {part.pixelColor(x, y).name() for y in range(part.height()) for x in range(part.width())}


def test_joints_of_two_arms_are_two_lanes_and_grippers_have_their_own_axes():
    channels = [(f"{s}_{x}.pos", wave()) for s in ("left", "right") for x in JOINTS]
    groups = group_channels(state(*channels))
    assert [group.title for group in groups] == [
        "left",
        "left_gripper.pos",
        "right",
        "right_gripper.pos",
    ]
    assert groups[0].names == JOINTS[:-1]
    assert groups[0].values.shape == (N, 6)


def test_no_column_is_lost_and_no_lane_holds_more_curves_than_colours():
    values = np.column_stack([wave(phase=k) for k in range(16)])
    groups = group_channels(state(("observation.state", values)))
    assert [group.title for group in groups] == [
        "observation.state 1–5",
        "observation.state 6–11",
        "observation.state 12–16",
    ]
    np.testing.assert_array_equal(np.hstack([group.values for group in groups]), values)
    assert max(group.values.shape[1] for group in groups) <= MAX_CURVES


def test_large_channels_do_not_flatten_small_ones():
    groups = group_channels(
        state(("j1", wave(1.2)), ("j2", wave(100.0)), ("j3", wave(1.5)), ("still", wave(0.0)))
    )
    sizes = [np.abs(group.values).max(axis=0) for group in groups]
    assert [len(size) for size in sizes] == [3, 1]
    assert sizes[1] == pytest.approx([100.0], rel=0.01)


def test_channels_that_are_no_numbers_are_shown_as_such(open_window, tmp_path):
    stream = state(("j1", np.full(N, np.nan)), ("j2", wave()))
    assert sum(group.values.shape[1] for group in group_channels(stream)) == 2


def test_a_robot_of_fourteen_joints_fits_the_window_with_a_legend(open_window, tmp_path):
    clip = write_clip(tmp_path / "all", n_cameras=2, has_imu=False, has_sound=False)
    for name in ("state", "action"):
        write_state(tmp_path / "all" / f"{name}.csv")
        clip["sources"][name] = {"kind": "state", "uri": f"all/{name}.csv"}
    window = open_window(write_manifest(tmp_path / "m.jsonl", clip))
    lanes = shown(window, CurveLane)
    assert len(lanes) == 8
    # 800 px high: no scrolling is needed.
    assert window.panels.lanes.height() <= window.panels.scroller.viewport().height()
    lane, room = next(x for x in window.panels.lanes.plots.rects() if isinstance(x[0], CurveLane))
    legend = QtCore.QRectF(room.left(), room.top() + 1, room.width(), 13)
    for color in curve_colors(lane, window.theme):
        assert color in colors_in(window, legend)
    # Beneath the legend, not behind it.
    visible = window.panels.lanes.plots._rows[
        window.panels.lanes.plots.lanes.index(lane)
    ].plot.viewRange()[1]
    top = lane.pyramid.extremes()[1]
    assert (visible[1] - top) / (visible[1] - visible[0]) * room.height() >= 13


def drawn_words(lane, height: float, qtbot) -> list[str]:
    """Return the labels on an axis of a lane, as elided."""
    from syncaudit_gui.widgets.theme import DARK

    axis = LaneAxis(lane, DARK)
    image = QtGui.QImage(200, 100, QtGui.QImage.Format.Format_RGB32)
    said: list[str] = []

    class Listening(QtGui.QPainter):
        def drawText(self, *arguments: object) -> None:  # noqa: N802  # the name that Qt calls
            said.append(str(arguments[-1]))

    painter = Listening(image)
    try:
        axis.boundingRect = lambda: QtCore.QRectF(0, 0, 132, height)
        nothing = (painter.pen(), QtCore.QPointF(), QtCore.QPointF())
        axis.drawPicture(painter, nothing, [], [])
    finally:
        painter.end()
    return [words for words in said if words]


def tier(title: str, source: str, unit: str = "") -> TierLane:
    ends_s = np.array([0.0])
    return TierLane(
        source=source,
        title=title,
        unit=unit,
        start_s=ends_s,
        stop_s=ends_s + 1.0,
        labels=("a",),
        rows=np.zeros(1, dtype=np.intp),
    )


def test_low_lanes_say_source_and_unit_both(qtbot):
    assert drawn_words(tier("words", "mic2", "s"), 26, qtbot) == ["words", "mic2 · s"]
    assert drawn_words(tier("words", "words"), 26, qtbot) == ["words"]
    assert drawn_words(tier("words", "mic2", "s"), 60, qtbot) == ["words", "mic2 · s"]


def test_what_has_no_room_is_cut_and_said_in_full_on_hovering(qtbot, open_window, barcode_folder):
    lane = tier("words of the second speaker", "microphone_at_the_left")
    title, source = drawn_words(lane, 26, qtbot)
    assert title.endswith("…")
    assert title.startswith("words")
    assert source.endswith("…")
    assert source.startswith("micr")
    assert lane_words(lane) == "words of the second speaker · microphone_at_the_left"
    window = open_window(barcode_folder / "manifest.jsonl")
    model, scale = window.session.model, window.panels.lanes.scale()
    room = QtCore.QRectF(132, 0, 500, 26)
    at_axis = QtCore.QPointF(5, 5)
    assert tip_at(lane, room, at_axis, model, scale) == lane_words(lane)
    at_word = QtCore.QPointF(scale.x_of(0.5), 5)
    assert tip_at(lane, room, at_word, model, scale) == "a  0.000 s – 1.000 s"


def grid(path: Path, *tiers: tuple[str, list[tuple[float, float, str]]]) -> None:
    lines = ['File type = "ooTextFile"', 'Object class = "TextGrid"', "", "0", "3", "<exists>"]
    lines.append(str(len(tiers)))
    for name, intervals in tiers:
        lines += ['"IntervalTier"', f'"{name}"', "0", "3", str(len(intervals))]
        for start_s, stop_s, label in intervals:
            lines += [str(start_s), str(stop_s), f'"{label}"']
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_tiers_of_many_languages_are_a_lane_each(open_window, tmp_path):
    clip = write_clip(tmp_path / "all", n_cameras=0, has_imu=False)
    grid(
        tmp_path / "all" / "many.TextGrid",
        ("words", [(0.0, 0.5, ""), (0.5, 1.5, "turn"), (1.5, 3.0, "left")]),
        ("מילים", [(0.0, 1.0, "פנה שמאלה"), (1.0, 3.0, "")]),
        ("中文", [(0.0, 3.0, "向左转")]),
        ("silent", [(0.0, 3.0, "")]),
    )
    uri = "all/many.TextGrid"
    clip["sources"]["many"] = {"kind": "transcript", "uri": uri, "audio": "mic"}
    window = open_window(write_manifest(tmp_path / "m.jsonl", clip))
    by_title = {lane.title: lane for lane in shown(window, TierLane) if lane.source == "many"}
    assert list(by_title) == ["words", "מילים", "中文", "silent"]
    assert by_title["מילים"].labels == ("פנה שמאלה", "")
    rooms = {lane.title: room for lane, room in window.panels.lanes.plots.rects()}
    scale = window.panels.lanes.scale()

    def inside(title: str, start_s: float, stop_s: float) -> set[str]:
        room = rooms[title]
        left, right = scale.x_of(start_s) + 3, scale.x_of(stop_s) - 3
        return colors_in(window, QtCore.QRectF(left, room.top() + 6, right - left, 14))

    def is_written(title: str, start_s: float, stop_s: float) -> bool:
        return max(QtGui.QColor(x).lightness() for x in inside(title, start_s, stop_s)) > 120

    for title, start_s, stop_s in (("words", 0.5, 1.5), ("מילים", 0.0, 1.0), ("中文", 0.0, 3.0)):
        assert window.theme.raised in inside(title, start_s, stop_s)
        assert is_written(title, start_s, stop_s)
    # Empty intervals are not drawn as boxes.
    assert not is_written("silent", 0.05, 2.95)
    assert not is_written("מילים", 1.1, 2.9)


def test_overlapping_words_lie_in_rows_of_their_own(open_window, tmp_path):
    clip = write_clip(tmp_path / "all", n_cameras=0, has_imu=False)
    intervals = [(0.1, 1.5, "first"), (0.8, 2.0, "second"), (1.0, 1.3, "third"), (2.1, 2.9, "last")]
    text = "".join(f"{a},{b},{label}\n" for a, b, label in intervals)
    path = tmp_path / "all" / "over.csv"
    path.write_text(f"start_s,stop_s,label\n{text}", encoding="utf-8")
    clip["sources"]["over"] = {"kind": "transcript", "uri": "all/over.csv", "audio": "mic"}
    window = open_window(write_manifest(tmp_path / "m.jsonl", clip))
    lane = next(lane for lane in shown(window, TierLane) if lane.source == "over")
    assert lane.rows.tolist() == [0, 1, 2, 0]
    assert lane.title == "over"
    room = next(r for x, r in window.panels.lanes.plots.rects() if x.title == "over")
    words = next(r for x, r in window.panels.lanes.plots.rects() if x.title == "words")
    assert room.height() > 2 * words.height()


@pytest.mark.parametrize("start_s", [None, 0.5])
def test_words_without_their_audio_are_shown_and_say_so(open_window, tmp_path, start_s):
    gone: dict[str, object] = {"kind": "audio", "uri": "gone.wav"}
    if start_s is not None:
        gone["start_ns"] = START_NS + round(start_s * 1e9)
    clip = write_clip(tmp_path / "all", n_cameras=1, has_imu=False, changes={"mic": gone})
    window = open_window(write_manifest(tmp_path / "m.jsonl", clip))
    (lane,) = shown(window, TierLane)
    assert lane.unit == NO_AUDIO
    zero_s = start_s or 0.0
    np.testing.assert_allclose(lane.start_s, np.array([0.0, 1.0, 1.5]) + zero_s, atol=1e-9)
    tip = tip_at(
        lane,
        QtCore.QRectF(132, 0, 500, 26),
        QtCore.QPointF(5, 5),
        window.session.model,
        window.panels.lanes.scale(),
    )
    assert "audio could not be read" in tip


def test_clips_of_nothing_but_words_and_sound_open(open_window, tmp_path):
    clip = write_clip(tmp_path / "all", n_cameras=0, has_imu=False)
    window = open_window(write_manifest(tmp_path / "m.jsonl", clip))
    assert not shown(window, TurningLane)
    assert [lane.title for lane in shown(window, TierLane)] == ["words"]
    window.grab()


def test_lane_without_a_turn_rate_is_low_and_says_why(open_window, tmp_path):
    clip = write_clip(tmp_path / "all", n_cameras=1, has_imu=False, has_sound=False)
    window = open_window(write_manifest(tmp_path / "m.jsonl", clip))
    room = next(r for x, r in window.panels.lanes.plots.rects() if isinstance(x, TurningLane))
    assert room.height() <= 30
    words = QtCore.QRectF(room.left(), room.top(), 300, room.height())
    assert window.theme.dim in colors_in(window, words)


def test_uneven_lost_and_doubled_frames_are_drawn_where_they_are(open_window, tmp_path):
    clip = write_clip(tmp_path / "all", n_cameras=1, has_imu=False, has_sound=False)
    steps_s = np.random.default_rng(3).choice([0.02, 0.05, 0.11], 40)
    write_barcodes(
        tmp_path / "all" / "uneven.mp4", 40, pts=np.rint(np.cumsum(steps_s) * 1e3).astype(int)
    )
    stamps = START_NS + np.rint(np.arange(60) * 5e7).astype(np.int64)
    stamps[20] = stamps[19] + 1000
    stamps[30:] += 250_000_000
    write_stamps(tmp_path / "all" / "cam0.csv", stamps)
    clip["sources"]["uneven"] = {"kind": "camera", "uri": "all/uneven.mp4", "start_ns": START_NS}
    window = open_window(write_manifest(tmp_path / "m.jsonl", clip))
    lane, room = next(x for x in window.panels.lanes.plots.rects() if isinstance(x[0], FramesLane))
    row = dict(frame_rows(lane, room))["cam0"]
    scale = window.panels.lanes.scale()

    def between(start_s: float, stop_s: float) -> set[str]:
        left, right = scale.x_of(start_s), scale.x_of(stop_s)
        return colors_in(window, QtCore.QRectF(left, row.top(), right - left, row.height() - 1))

    assert window.theme.rejected in between(0.94, 0.97)
    assert window.theme.rejected not in between(1.02, 1.7)
    empty = {window.theme.panel, window.theme.raised, window.theme.line}
    assert between(1.47, 1.73) <= empty  # 250 ms without a frame
    assert not between(1.2, 1.4) <= empty
    assert all(pane.frame is not None for pane in window.panels.films.panes.values())


def test_lanes_made_anew_span_the_whole_width(qtbot, open_window, barcode_folder):
    window = open_window(barcode_folder / "manifest.jsonl", clip_id="first")
    lanes = window.panels.lanes
    before = [(r.left(), r.right()) for _, r in lanes.plots.rects()]
    lanes.rebuild()  # as at the end of an audit
    assert [(r.left(), r.right()) for _, r in lanes.plots.rects()] == before
    with qtbot.waitSignal(window.opening.clip_shown, timeout=30_000):
        window.opening.open_clip("second")
    rooms = [(r.left(), r.right()) for _, r in lanes.plots.rects()]
    assert rooms == before
    assert min(right - left for left, right in rooms) > 0.7 * lanes.width()


def test_curves_are_a_point_wide_on_fine_screens(open_window, barcode_folder, monkeypatch):
    window = open_window(barcode_folder / "manifest.jsonl")
    window.session.nudge("imu", 0.1)
    monkeypatch.setattr(window.panels.lanes.plots, "devicePixelRatioF", lambda: 2.0)
    window.display.show_clocks()
    row = next(row for row in window.panels.lanes.plots._rows if row.lane.source == "imu")
    pens = [curve.opts["pen"] for curve in row.curves]
    assert {(pen.width(), pen.style().name) for pen in pens} == {
        (2, "SolidLine"),
        (1, "CustomDashLine"),
    }


def test_few_lanes_fill_the_window(qtbot, open_window, tmp_path):
    clip = write_clip(tmp_path / "few", n_cameras=0, clip_id="few", has_sound=False)
    window = open_window(write_manifest(tmp_path / "m.jsonl", clip))
    window.resize(1200, 1600)
    qtbot.waitUntil(lambda: window.panels.lanes.height() > 1400, timeout=30_000)


def test_scales_have_the_minus_sign_of_the_tables(open_window, barcode_folder):
    window = open_window(barcode_folder / "manifest.jsonl")
    assert window.panels.lanes.plots._rows[0].axis.tickStrings([-10.0, 0.0], 1.0, 10.0) == [
        "−10",
        "0",
    ]


def test_turn_rate_is_as_high_as_what_is_shown_of_it(window):
    model, plots = window.session.model, window.panels.lanes.plots
    times_s = np.arange(0.0, 2.0, 0.01)
    model.turning["cam1"] = MinMaxPyramid(times_s, np.full((times_s.size, 1), 900.0))
    row = next(row for row in plots._rows if isinstance(row.lane, TurningLane))
    window.display.select("cam1")
    assert row.plot.vb.viewRange()[1][1] > 900.0
    window.display.select("imu")
    assert row.plot.vb.viewRange()[1][1] < 600.0
