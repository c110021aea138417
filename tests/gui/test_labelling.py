"""Looking through many clips and labelling them: lists, notes, selection, where labels go."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from barcode_clips import write_clip, write_manifest
from pyqtgraph.Qt import QtCore, QtGui, QtTest, QtWidgets
from syncaudit_gui.audits import AuditResult
from syncaudit_gui.viewmodel import collection as collections
from syncaudit_gui.viewmodel.batch import BatchList, Show, SortBy
from syncaudit_gui.viewmodel.bindings import BINDINGS
from syncaudit_gui.viewmodel.collection import open_collection
from syncaudit_gui.viewmodel.judgement import Judgement, SourceEstimate
from syncaudit_gui.viewmodel.labels import Label, Labels
from syncaudit_gui.viewmodel.verdict_rows import ClipRow, read_verdict_rows
from syncaudit_gui.viewmodel.wording import short_names
from syncaudit_gui.widgets import clips_panel
from syncaudit_gui.widgets.covers import _columns
from syncaudit_gui.widgets.tables import tip_of
from syncaudit_gui.window.loader import MOST_THREADS, Loader

from syncaudit.model import Finding, ReasonCode, Verdict

WAIT_MS = 30_000
LONG = "roof_rig_{}_wide_angle_global_shutter_serial_0042"


@pytest.fixture
def window(open_window, barcode_folder):
    return open_window(barcode_folder / "manifest.jsonl")


def key(window, name: str) -> None:
    sequence = QtGui.QKeySequence(name)[0]
    QtTest.QTest.keyClick(window, sequence.key(), sequence.keyboardModifiers())


def type_note(qtbot, window, words: str) -> None:
    key(window, "I")
    qtbot.waitUntil(lambda: window.focusWidget() is window.panels.labels.note, timeout=WAIT_MS)
    QtTest.QTest.keyClicks(window.panels.labels.note, words)


def saved_notes(path: Path) -> list[tuple[str, str]]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [(row["clip_id"], row["note"]) for row in map(json.loads, lines)]


def audited(window) -> AuditResult:
    """Return an audit of the open clip that rejects cam2 and, of graver reason, cam4."""
    sources = {
        name: SourceEstimate(
            verdict=Verdict.REJECT if name in ("cam2", "cam4") else Verdict.PASS,
            is_observable=True,
            offset_s=0.0,
            offset_std_s=0.001,
        )
        for name in window.session.model.selectable
    }
    reason = Finding(code=ReasonCode.OFFSET, message="cam4 is late", source="cam4")
    judgement = Judgement(
        verdict=Verdict.REJECT, reference="imu", at_ns=0, sources=sources, reasons=(reason,)
    )
    row = {"clip_id": window.session.clip_id, "verdict": "reject", "reasons": []}
    return AuditResult(judgement=judgement, row=row, events=(), rotations={}, aligned={})


def test_source_of_the_first_reason_is_selected_when_an_audit_ends(window):
    assert window.session.selected == "cam0"
    window.audits.take(audited(window))
    assert window.session.selected == "cam4"
    assert window.panels.films._selected == "cam4"


def test_audit_leaves_what_a_person_selected(window):
    key(window, "Down")
    window.audits.take(audited(window))
    assert window.session.selected == "cam1"


def test_blind_audit_gives_nothing_away_by_its_selection(window):
    key(window, "B")
    window.audits.take(audited(window))
    assert window.session.selected == "cam0"
    assert "reject" not in window.panels.clips.why.text()
    assert window.panels.clips.why.text() == "first"


def test_window_opened_blind_is_blind_before_the_first_clip_is_shown(
    barcode_folder, open_window, tmp_path
):
    row = {"clip_id": "first", "verdict": "reject", "sources": {}, "reasons": [{"message": "late"}]}
    (tmp_path / "verdicts.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    manifest = barcode_folder / "manifest.jsonl"
    window = open_window(manifest, verdicts=tmp_path, is_blind=True)
    assert window.panels.labels.blind.isChecked()
    assert "late" not in window.panels.clips.why.text()
    window.decisions.give_label(Label.ACCEPT)
    (label,) = map(json.loads, (tmp_path / "labels.jsonl").read_text().splitlines())
    assert (label["blind"], label["verdict_shown"]) == (True, None)
    assert "late" in window.panels.clips.why.text()


def test_click_elsewhere_ends_typing(qtbot, window, tmp_path):
    type_note(qtbot, window, "late ")
    left = QtCore.Qt.MouseButton.LeftButton
    QtTest.QTest.mouseClick(window.panels.lanes._overlay, left, pos=QtCore.QPoint(400, 60))
    assert not isinstance(window.focusWidget(), QtWidgets.QLineEdit)
    assert saved_notes(tmp_path / "labels.jsonl") == [("first", "late ")]
    key(window, "Space")
    assert window.player.is_playing
    key(window, "Space")
    assert window.panels.labels.note.text() == "late "


def test_typed_note_survives_an_audit_and_a_selection(qtbot, window):
    type_note(qtbot, window, "half a sen")
    window.audits.take(audited(window))
    window.display.select("imu")
    assert window.panels.labels.note.text() == "half a sen"
    QtTest.QTest.keyClicks(window.panels.labels.note, "tence")
    key(window, "Return")
    assert window.session.labels.note_of("first") == "half a sentence"


@pytest.mark.parametrize("leave", ["open_clip", "close"])
def test_typed_note_is_saved_for_its_clip_on_leaving(qtbot, window, tmp_path, leave):
    type_note(qtbot, window, "cut off")
    if leave == "close":
        window.close()
    else:
        with qtbot.waitSignal(window.opening.clip_shown, timeout=WAIT_MS):
            window.opening.open_clip("second")
        assert window.panels.labels.note.text() == ""
    assert saved_notes(tmp_path / "labels.jsonl") == [("first", "cut off")]


def test_page_keys_pressed_quickly_go_on_from_the_clip_being_read(qtbot, window):
    with qtbot.waitSignal(window.opening.clip_shown, timeout=WAIT_MS):
        key(window, "PgDown")
        key(window, "PgDown")
    assert window.session.clip_id == "third"
    key(window, "PgDown")
    assert window.session.clip_id == "third"
    assert window.panels.transport.message.text() == "this is the last clip listed"


def test_nothing_listed_is_said(window):
    window.panels.clips.filter.setText("no such clip")
    assert window.panels.clips.empty.isVisible()
    assert window.panels.clips.count.text() == "0 of 3"
    key(window, "PgDown")
    assert window.panels.transport.message.text() == "no clip is listed"
    window.panels.clips.filter.clear()
    assert window.panels.clips.view.isVisible()


def test_order_stands_in_the_head_of_the_list(window):
    horizontal = QtCore.Qt.Orientation.Horizontal

    def title() -> object:
        return window.panels.clips.table.headerData(
            1, horizontal, QtCore.Qt.ItemDataRole.DisplayRole
        )

    seen = [title()]
    for _ in range(3):
        window.panels.clips._sort(1)
        seen.append(title())
    assert seen == ["clip", "clip ▴", "clip ▾", "clip"]


def test_dragged_nudge_says_what_moves_with_it(window, monkeypatch):
    monkeypatch.setattr(window.session, "clock_mates", lambda _: ("cam1", "cam2"))
    window.decisions.drag_nudge("cam1", 0.004, False)
    words = "cam1 nudged by +4.0 ms, and cam2 of the same clock"
    assert window.panels.transport.message.text() == words
    window.decisions.drag_nudge("cam1", 0.005, True)
    assert window.panels.transport.message.text() == words.replace("4", "5")


def test_click_with_alt_is_no_nudge(window):
    window.decisions.drag_nudge("cam1", 0.0, True)
    assert window.session.undo.undo() is None


def test_pane_that_waits_for_its_picture_does_not_say_no_footage(window):
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


@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_key_sheet_holds_every_key_once(n_columns):
    columns = _columns(n_columns)
    listed = [b.keys + b.text for column in columns for _, rows in column for b in rows]
    assert sorted(listed) == sorted(b.keys + b.text for b in BINDINGS)


def rows(n: int) -> list[ClipRow]:
    verdicts = ("pass", "reject", "unverified")
    return [
        ClipRow(clip_id=f"c{k * 7919 % n:06d}", verdict=verdicts[k % 3], headline=f"why{k}")
        for k in range(n)
    ]


def test_long_list_is_arranged_in_slices_and_the_old_one_stays_meanwhile():
    batch = BatchList(rows(100_000), lambda _: None)
    batch.sort_by, batch.text = SortBy.CLIP, "why9"
    steps = batch.arranging()
    n_slices = 0
    while True:
        try:
            next(steps)
        except StopIteration as found:
            batch.list(found.value)
            break
        n_slices += 1
        assert len(batch) == 100_000
    assert n_slices > 30
    listed = [batch[k].clip_id for k in range(len(batch))]
    assert listed == sorted(r.clip_id for r in rows(100_000) if "why9" in r.headline)


def test_window_takes_keys_between_slices(qtbot, window, monkeypatch):
    monkeypatch.setattr(clips_panel, "SLICE_S", 0.0)
    window.panels.clips.set_batch(BatchList(rows(40_000), lambda _: None), None)
    window.panels.clips.filter.setText("c0000")
    assert window.panels.clips.is_arranging
    assert window.panels.clips.count.text() == "…"
    window.panels.clips.filter.setText("c00001")  # the newest counts
    qtbot.waitUntil(lambda: not window.panels.clips.is_arranging, timeout=WAIT_MS)
    assert window.panels.clips.count.text() == "10 of 40000"


def test_blind_list_gives_nothing_away():
    assert [(r.clip_id, r.verdict) for r in rows(6)][1] == ("c000005", "reject")
    labels = {"c000005": "accept"}
    batch = BatchList(rows(6), labels.get)
    batch.is_blind, batch.show = True, Show.REJECT
    batch.arrange()
    assert [batch[k].clip_id for k in range(len(batch))] == ["c000005"]
    batch.show, batch.text = Show.ALL, "why"
    batch.arrange()
    assert len(batch) == 1
    batch.text, batch.sort_by = "", SortBy.VERDICT
    batch.arrange()
    assert [batch[k].clip_id for k in range(6)][1:] == [
        r.clip_id for r in rows(6) if r.clip_id != "c000005"
    ]
    labels["c000000"] = "unsure"
    batch.relabel("c000000")
    batch.show, batch.sort_by = Show.UNLABELLED, SortBy.FILE
    batch.arrange()
    assert len(batch) == 4


def test_loader_runs_the_newest_and_few_at_once(qtbot):
    loader, gate, ran = Loader(), threading.Event(), []

    def make(number: int):
        def run(_tell) -> int:
            ran.append(number)
            gate.wait(30.0)
            return number

        return run

    try:
        with qtbot.waitSignal(loader.loaded, timeout=WAIT_MS) as loaded:
            for number in range(10):
                loader.load(make(number))
            assert len([t for t in loader._threads if t.is_alive()]) == MOST_THREADS
            gate.set()
        assert loaded.args == [9]
        assert ran == [0, 1, 9]
    finally:
        gate.set()
        loader.close()


def test_loader_ends_what_is_no_longer_wanted(qtbot):
    loader, n_told = Loader(), []

    def run(tell) -> None:
        while True:
            tell("still reading")
            n_told.append(1)
            threading.Event().wait(0.001)

    with qtbot.waitSignal(loader.progressed, timeout=WAIT_MS) as told:
        loader.load(run)
    assert told.args == ["still reading"]
    loader.close()  # would wait for ever
    assert n_told


def test_opening_tells_how_far_it_is(tmp_path):
    lines = [
        json.dumps({"clip_id": f"c{k}", "verdict": "pass", "sources": {}}) for k in range(1001)
    ]
    (tmp_path / "verdicts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    told: list[str] = []
    assert len(read_verdict_rows(tmp_path / "verdicts.jsonl", told.append)) == 1001
    assert told == ["500 verdicts", "1 000 verdicts"]


def test_endless_nesting_is_no_verdict(tmp_path):
    good = json.dumps({"clip_id": "a", "verdict": "pass", "sources": {}})
    (tmp_path / "verdicts.jsonl").write_text(f"{'[' * 200_000}\n{good}\n", encoding="utf-8")
    assert [row.clip_id for row in read_verdict_rows(tmp_path / "verdicts.jsonl")] == ["a"]


def write_run(folder: Path, clip: dict) -> Path:
    folder.mkdir()
    row = {"clip_id": clip["clip_id"], "verdict": "pass", "sources": {}}
    (folder / "verdicts.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    (folder / "passed.jsonl").write_text(json.dumps(clip) + "\n", encoding="utf-8")
    return folder


def test_labels_of_a_folder_that_cannot_be_written_go_to_ones_own(
    qtbot, open_window, tmp_path, monkeypatch
):
    run = write_run(tmp_path / "out", write_clip(tmp_path / "all", n_cameras=1, clip_id="a"))
    Labels(run / "labels.jsonl").give("of another", Label.REJECT)  # before it was closed
    older = (run / "labels.jsonl").read_bytes()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "mine"))
    can_write = os.access
    monkeypatch.setattr(
        collections.os,
        "access",
        lambda path, mode: Path(path) != run and can_write(path, mode),
    )
    window = open_window()
    with qtbot.waitSignal(window.opening.clip_shown, timeout=WAIT_MS):
        window.opening.open_source(str(run))
    home = tmp_path / "mine" / "syncaudit" / "viewer"
    assert str(home) in window.panels.transport.message.text()
    key(window, "A")
    assert (run / "labels.jsonl").read_bytes() == older
    assert window.session.labels.of("of another").label is Label.REJECT
    again = open_collection(str(run))
    assert again.is_apart
    assert again.labels_path.parent == home
    assert Labels(again.labels_path).of("a") is not None
    assert open_collection(str(run), labels=tmp_path / "l.jsonl").is_apart is False


def test_label_survives_a_kill(tmp_path):
    code = (
        "import os, signal; from pathlib import Path\n"
        "from syncaudit_gui.viewmodel.labels import Label, Labels\n"
        f"Labels(Path({str(tmp_path / 'l.jsonl')!r})).give('a', Label.REJECT, note='kept')\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    run = subprocess.run([sys.executable, "-c", code], check=False)  # noqa: S603
    assert run.returncode == -signal.SIGKILL
    assert Labels(tmp_path / "l.jsonl").note_of("a") == "kept"


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


def test_label_taken_back_hides_corrections_again(window):
    window.audits.take(audited(window))
    key(window, "B")
    key(window, "A")
    key(window, "C")
    assert window.session.model.is_corrected
    key(window, "A")
    assert not window.session.model.is_corrected
    assert window.panels.sources.corrected.text() == "raw"


def test_blind_nudge_says_when_it_can_be_seen(window):
    key(window, "B")
    key(window, ".")
    assert "once you have labelled" in window.panels.transport.message.text()
    assert not window.session.model.is_corrected


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
