"""Names, messages, panes and lanes fit the window, whatever was open before."""

from __future__ import annotations

import pytest
from pyqtgraph.Qt import QtCore, QtGui, QtWidgets
from syncaudit_gui.viewmodel.bindings import BINDINGS
from syncaudit_gui.viewmodel.wording import short_names
from syncaudit_gui.widgets.covers import _columns
from syncaudit_gui.widgets.filmstrip import CameraPane
from syncaudit_gui.widgets.tables import PAD_PX, ROW_PX, Cell, CellTable, plain_table, tip_of

from testkit.barcode_clips import write_clip, write_manifest
from testkit.viewer_keys import WAIT_MS, key

LONG = "roof_rig_{}_wide_angle_global_shutter_serial_0042"


def test_pane_that_waits_for_its_image_does_not_say_no_footage(window):
    window.panels.films.set_model(window.session.model)
    window.panels.films.show_time(1.0)
    assert {pane.words for pane in window.panels.films.panes.values()} == {"…"}


def test_long_names_leave_everything_in_the_window(qtbot, open_window, tmp_path):
    clip = write_clip(tmp_path / "all", n_cameras=2, clip_id="drive_" + 12 * "0123456789_")
    clip["sources"] = {LONG.format(name): spec for name, spec in clip["sources"].items()}
    for spec in clip["sources"].values():
        if "audio" in spec:
            spec["audio"] = LONG.format(spec["audio"])
    window = open_window(write_manifest(tmp_path / "m.jsonl", clip))
    window.resize(1000, 640)
    QtWidgets.QApplication.processEvents()
    for part in (
        window.panels.sources.corrected,
        window.panels.labels.note,
        window.panels.labels.blind,
    ):
        place = part.mapTo(window, QtCore.QPoint(part.width(), part.height()))
        assert place.x() <= window.width()
        assert place.y() <= window.height()
    title = window.panels.evidence.title
    assert title.shown_text != title.text()
    assert "…" in title.shown_text
    index = window.panels.sources.table.index(0, 0)
    assert LONG.format("cam0") in tip_of(window.panels.sources.view, index)
    assert [pane._short_name for pane in window.panels.films.panes.values()] == ["cam0", "cam1"]


def test_long_message_is_cut_in_the_window_and_told_on_hovering(window):
    words = "saved /a/very/long/path" + 60 * "/folder"
    window.panels.transport.announce(words)
    message = window.panels.transport.message
    assert message.shown_text != words
    help_event = QtGui.QHelpEvent(
        QtCore.QEvent.Type.ToolTip, QtCore.QPoint(1, 1), message.mapToGlobal(QtCore.QPoint(1, 1))
    )
    QtWidgets.QApplication.sendEvent(message, help_event)
    assert message.toolTip().replace("\u200b", "") == f"<qt>{words}</qt>"


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["cam_front", "cam_front_left"], ["front", "front_left"]),
        (["a_left_rgb", "a_right_rgb"], ["left", "right"]),
        (["cam_a", "cam_a_b"], ["a", "a_b"]),
        (["left", "right"], ["left", "right"]),
        (["cam_front"], ["cam_front"]),
        ([], []),
    ],
)
def test_short_names_tell_apart(names, short):
    assert short_names(names) == short


def test_narrow_pane_puts_the_short_name_over_the_frame_number(qtbot):
    pane = CameraPane("cam_front_right", short_name="front_right")
    qtbot.addWidget(pane)
    assert not pane.needs_two_lines(300)
    assert pane.needs_two_lines(60)
    wide_px = pane.box_px()[1]
    pane.has_two_lines = True
    assert pane.box_px()[1] < wide_px
    narrow = pane.fontMetrics().horizontalAdvance("front_right")
    assert [pane._fitting(px)[1] for px in (3 * narrow, narrow)] == [pane.camera, "front_right"]
    assert "…" in pane._fitting(narrow // 2)[1]


def test_cells_as_wide_as_they_ask_to_be_are_not_cut(qtbot):
    table = CellTable(("at",))
    view = plain_table(table, "events", lambda _: None)
    qtbot.addWidget(view)
    option = QtWidgets.QStyleOptionViewItem()
    font = QtGui.QFont(option.font)
    font.setHintingPreference(QtGui.QFont.HintingPreference.PreferNoHinting)
    for size in (11, 13):  # glyphs are a fraction of a pixel wide
        font.setPixelSize(size)
        option.fontMetrics = QtGui.QFontMetrics(font)
        for text in (f"{number / 100:.2f} s" for number in range(1, 3000, 37)):
            table.set_rows([(Cell(text),)])
            hint = view.itemDelegate().sizeHint(option, table.index(0, 0))
            room_px = hint.width() - 2 * PAD_PX
            right = QtCore.Qt.TextElideMode.ElideRight
            assert option.fontMetrics.elidedText(text, right, room_px) == text


def test_narrow_table_leaves_out_what_all_names_begin_with(qtbot):
    table = CellTable(("source",))
    view = plain_table(table, "sources", lambda _: None)
    qtbot.addWidget(view)
    option = QtWidgets.QStyleOptionViewItem()

    def drawn(text: str, width: int) -> QtGui.QImage:
        table.set_rows([(Cell(text, short="front_right"),)])
        image = QtGui.QImage(width, ROW_PX, QtGui.QImage.Format.Format_RGB32)
        image.fill(QtCore.Qt.GlobalColor.white)
        option.rect = image.rect()
        painter = QtGui.QPainter(image)
        view.itemDelegate().paint(painter, option, table.index(0, 0))
        painter.end()
        return image

    wide, narrow = (
        option.fontMetrics.horizontalAdvance(text) + 2 * PAD_PX
        for text in ("cam_front_right", "front_right")
    )
    assert drawn("cam_front_right", wide) != drawn("front_right", wide)
    assert drawn("cam_front_right", narrow) == drawn("front_right", narrow)


@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_key_sheet_holds_every_key_once(n_columns):
    columns = _columns(n_columns)
    listed = [b.keys + b.text for column in columns for _, rows in column for b in rows]
    assert sorted(listed) == sorted(b.keys + b.text for b in BINDINGS)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("m.jsonl", b"", "holds no clips"),
        ("m.jsonl", b'{"clip_id": "caf\xe9"}\n', "is not UTF-8 text"),
        ("m.jsonl", b"[" * 100_000, "m.jsonl"),
        ("verdicts.jsonl", b"", "holds no verdicts"),
        ("verdicts.jsonl", b"\x80\x81\n{}\n", "holds no verdicts"),
        ("gone.jsonl", None, "not found"),
    ],
)
def test_what_cannot_be_opened_says_so_in_the_window(
    qtbot, open_window, tmp_path, name, content, words
):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    window = open_window()
    with qtbot.waitSignal(window.opening.refused, timeout=WAIT_MS):
        window.opening.open_source(str(tmp_path / name))
    assert window.panels.welcome.title == "This cannot be opened"
    assert words in window.panels.welcome.text
    assert "defect" not in window.panels.welcome.text
    window.grab()


def test_plots_are_kept_from_clip_to_clip(qtbot, window):
    before = {id(row.plot) for row in window.panels.lanes.plots._rows}
    with qtbot.waitSignal(window.opening.clip_shown, timeout=WAIT_MS):
        window.opening.open_clip("second")
    assert {id(row.plot) for row in window.panels.lanes.plots._rows} == before


def test_lanes_fill_their_room_whatever_was_open_before(qtbot, open_window, tmp_path):
    few = write_clip(tmp_path / "few", n_cameras=1, clip_id="few", has_sound=False)
    many = write_clip(tmp_path / "many", n_cameras=2, clip_id="many")
    window = open_window(write_manifest(tmp_path / "m.jsonl", many, few))
    for name in ("few", "many", "few"):
        with qtbot.waitSignal(window.opening.clip_shown, timeout=WAIT_MS):
            window.opening.open_clip(name)
        with qtbot.waitSignal(window.opening.clip_shown, timeout=WAIT_MS):
            window.opening.open_source(str(tmp_path / "m.jsonl"), clip_id=name)
        QtWidgets.QApplication.processEvents()
        rooms = [room for _, room in window.panels.lanes.plots.rects()]
        assert sum(room.height() for room in rooms) > 0.95 * window.panels.lanes.height()


def test_pane_without_room_says_what_is_wrong_rather_than_with_which_file(open_window, tmp_path):
    changes = {"cam0": {"kind": "camera", "uri": "a_folder/" * 12 + "gone.mp4"}}
    clip = write_clip(tmp_path / "all", n_cameras=1, changes=changes)
    window = open_window(write_manifest(tmp_path / "m.jsonl", clip))
    pane = window.panels.films.panes["cam0"]
    assert "a_folder" in pane.words
    pane.resize(130, 90)
    drawn: list[str] = []

    class Painter(QtGui.QPainter):
        def drawText(self, *arguments) -> None:  # noqa: N802  # the name that Qt calls
            drawn.append(arguments[2])

    image = QtGui.QImage(130, 90, QtGui.QImage.Format.Format_RGB32)
    painter = Painter(image)
    pane._paint_words(painter, QtCore.QRect(8, 4, 114, 60))
    painter.end()
    assert drawn[0].startswith("file not found")


def test_marks_at_one_place_loop_around_the_cursor(window):
    window.display.jump_to(1.5)
    for name in ("M", "M", "E"):
        key(window, name)
    loop = window.session.timeline.loop
    assert (loop.start_s, loop.stop_s) == (1.0, 2.0)
    assert window.panels.transport.loop.text() == "loop 1.000 s"


def test_panels_are_not_emptied_between_two_clips(qtbot, window, monkeypatch):
    shown = []
    show = window.panels.sources.show_model
    monkeypatch.setattr(
        window.panels.sources,
        "show_model",
        lambda model, *args, **more: (shown.append(model), show(model, *args, **more)),
    )
    monkeypatch.setattr(
        window.opening._emptying, "start", lambda: None
    )  # the clip is there in time
    with qtbot.waitSignal(window.opening.clip_shown, timeout=WAIT_MS):
        window.opening.open_clip("second")
    assert shown
    assert None not in shown
    monkeypatch.undo()
    window.opening.close_clip()
    qtbot.waitUntil(lambda: window.panels.sources.table.rowCount() == 0, timeout=WAIT_MS)


def test_keys_change_speed_and_zoom_and_save_a_snapshot(window, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = window.panels.transport.message
    key(window, "L")
    assert words.text() == "speed 2×"
    key(window, "J")
    assert words.text() == "speed 1×"
    span_s = window.session.timeline.visible.span_s
    key(window, "+")
    assert window.session.timeline.visible.span_s < span_s
    key(window, "-")
    assert window.session.timeline.visible.span_s == pytest.approx(span_s)
    key(window, "Ctrl+E")
    (picture,) = tmp_path.glob("first-*.png")
    assert words.text() == f"saved {picture}"


def test_escape_removes_marks(window):
    key(window, "M")
    assert window.session.timeline.marks_s
    key(window, "Escape")
    assert not window.session.timeline.marks_s
