"""Manual labelling: input is kept, and blind labels stay blind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyqtgraph.Qt import QtCore, QtTest, QtWidgets
from syncaudit_gui.audits import AuditResult
from syncaudit_gui.viewmodel import collection as collections
from syncaudit_gui.viewmodel.collection import open_collection
from syncaudit_gui.viewmodel.judgement import Judgement, SourceEstimate
from syncaudit_gui.viewmodel.labels import Label, Labels

from syncaudit.model import Finding, ReasonCode, Verdict
from testkit.barcode_clips import write_clip
from testkit.viewer_keys import WAIT_MS, key


def type_note(qtbot, window, words: str) -> None:
    key(window, "I")
    qtbot.waitUntil(lambda: window.focusWidget() is window.panels.labels.note, timeout=WAIT_MS)
    QtTest.QTest.keyClicks(window.panels.labels.note, words)


def saved_notes(path: Path) -> list[tuple[str, str]]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [(row["clip_id"], row["note"]) for row in map(json.loads, lines)]


def audited(window) -> AuditResult:
    """Return an audit of the open clip that rejects cam2 and, for a graver reason, cam4."""
    sources = {
        name: SourceEstimate(
            clock=name,
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
    assert "reject" not in window.panels.headline.text()
    assert window.panels.headline.text() == "first"


def test_window_opened_blind_is_blind_before_the_first_clip_is_shown(
    barcode_folder, open_window, tmp_path
):
    row = {"clip_id": "first", "verdict": "reject", "sources": {}, "reasons": [{"message": "late"}]}
    (tmp_path / "verdicts.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    manifest = barcode_folder / "manifest.jsonl"
    window = open_window(manifest, verdicts=tmp_path, is_blind=True)
    assert window.panels.labels.blind.isChecked()
    assert "late" not in window.panels.headline.text()
    window.decisions.give_label(Label.ACCEPT)
    (label,) = map(json.loads, (tmp_path / "labels.jsonl").read_text().splitlines())
    assert (label["blind"], label["verdict_shown"]) == (True, None)
    assert "late" in window.panels.headline.text()


def test_click_elsewhere_ends_typing(qtbot, window, tmp_path):
    type_note(qtbot, window, "late ")
    left = QtCore.Qt.MouseButton.LeftButton
    QtTest.QTest.mouseClick(window.panels.lanes.overlay, left, pos=QtCore.QPoint(400, 60))
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


def test_dragged_nudge_says_what_moves_with_it(window, monkeypatch):
    monkeypatch.setattr(window.session, "clock_mates", lambda _: ("cam1", "cam2"))
    window.decisions.drag_nudge("cam1", 0.004, False)
    words = "cam1 nudged by +4.0 ms, and cam2 on the same clock"
    assert window.panels.transport.message.text() == words
    window.decisions.drag_nudge("cam1", 0.005, True)
    assert window.panels.transport.message.text() == words.replace("4", "5")


def test_click_with_alt_is_no_nudge(window):
    window.decisions.drag_nudge("cam1", 0.0, True)
    assert window.session.undo.undo() is None


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


def test_label_taken_back_hides_corrections_again(window):
    window.audits.take(audited(window))
    key(window, "B")
    key(window, "A")
    key(window, "C")
    assert window.session.model.is_corrected
    key(window, "A")
    assert not window.session.model.is_corrected
    assert not window.panels.sources.corrected.isChecked()


def test_blind_nudge_says_when_it_can_be_seen(window):
    key(window, "B")
    key(window, ".")
    assert "once you have labelled" in window.panels.transport.message.text()
    assert not window.session.model.is_corrected


def click(window, widget, at: QtCore.QPoint) -> None:
    """Click where a widget is, on whatever is on top there."""
    place = widget.mapTo(window, at)
    found = window.childAt(place)
    left = QtCore.Qt.MouseButton.LeftButton
    QtTest.QTest.mouseClick(found, left, pos=found.mapFrom(window, place))


def test_word_typed_beside_the_filter_labels_nothing(window, tmp_path):
    panel = window.panels.clips
    click(window, panel, QtCore.QPoint(4, panel.filter.y() + 8))
    for letter in ("A", "R", "U"):
        key(window, letter)
    assert window.session.labels.of("first") is None
    assert not (tmp_path / "labels.jsonl").exists()
    assert "click the clip" in window.panels.transport.message.text()
    # Anything that shows the clip can be clicked, including its line in the list.
    click(window, window.panels.films, QtCore.QPoint(40, 40))
    key(window, "R")
    assert window.session.labels.of("first").label is Label.REJECT


def test_line_of_the_list_and_an_opened_clip_have_the_focus(qtbot, window):
    panel = window.panels.clips
    click(window, panel, QtCore.QPoint(4, panel.filter.y() + 8))
    with qtbot.waitSignal(window.opening.clip_shown, timeout=WAIT_MS):
        key(window, "PgDown")
    key(window, "U")
    assert window.session.labels.of("second").label is Label.UNSURE
    click(window, panel, QtCore.QPoint(4, panel.filter.y() + 8))
    view = panel.view.viewport()
    with qtbot.waitSignal(window.opening.clip_shown, timeout=WAIT_MS):
        click(window, view, QtCore.QPoint(60, 10))
    key(window, "A")
    assert window.session.labels.of("first").label is Label.ACCEPT


def test_labels_are_announced_and_undone(window, tmp_path):
    key(window, "A")
    assert window.panels.transport.message.text() == "first labelled accept (Ctrl+Z: undo)"
    key(window, "R")
    key(window, "Ctrl+Z")
    assert window.session.labels.of("first").label is Label.ACCEPT
    assert window.panels.labels.buttons["accept"].isChecked()
    key(window, "Ctrl+Z")
    assert window.session.labels.of("first") is None
    assert window.panels.transport.message.text() == "undone: label accept of first"
    key(window, "Ctrl+Shift+Z")
    assert window.session.labels.of("first").label is Label.ACCEPT
    key(window, "A")
    assert window.panels.transport.message.text() == "label of first removed (Ctrl+Z: undo)"
    lines = (tmp_path / "labels.jsonl").read_text(encoding="utf-8").splitlines()
    saved = [json.loads(line)["label"] for line in lines]
    assert saved == ["accept", "reject", "accept", None, "accept", None]


def test_undone_label_was_given_as_blindly_as_before(window):
    key(window, "B")
    key(window, "A")
    key(window, "B")
    key(window, "R")
    assert not window.session.labels.of("first").is_blind
    key(window, "Ctrl+Z")
    label = window.session.labels.of("first")
    assert (label.label, label.is_blind) == (Label.ACCEPT, True)
