"""Frame faults: shown on the lanes, over the images, in a table, and as jump targets."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from pyqtgraph.Qt import QtCore, QtGui, QtTest
from syncaudit_gui.viewmodel.events import EventKind
from syncaudit_gui.viewmodel.frames import FAULT_SIGNS
from syncaudit_gui.viewmodel.judgement import Judgement
from syncaudit_gui.viewmodel.lanes import FramesLane
from syncaudit_gui.widgets.frames_paint import frame_rows
from syncaudit_gui.widgets.lane_overlay import tip_at
from syncaudit_gui.widgets.theme import LIGHT

from syncaudit.datasets import load_manifest
from syncaudit.model import ImageAudit, ImageFault, ImageFaultRun, Verdict
from syncaudit.pipeline import audit
from testkit.barcode_clips import N_FRAMES, RATE_HZ, START_NS, write_clip, write_manifest

NEAR_S = 1e-6


def spell(fault: ImageFault, first: int, last: int) -> ImageFaultRun:
    return ImageFaultRun(
        fault=fault,
        first=first,
        last=last,
        frames=last - first + 1,
        start_s=first / RATE_HZ,
        stop_s=last / RATE_HZ,
        duration_s=(last - first + 1) / RATE_HZ,
    )


SPELLS = (spell(ImageFault.FROZEN, 20, 39), spell(ImageFault.DAMAGED, 50, 50))


def verdict_row(clip_id: str, *, offset_s: float = 0.0) -> dict[str, object]:
    """Return a verdict row as written by a run, with faults of one camera."""
    pictures = ImageAudit(frames=N_FRAMES, counts={"frozen": 20}, spells=SPELLS)
    return {
        "clip_id": clip_id,
        "recording_id": clip_id,
        "verdict": "reject",
        "reasons": [],
        "reference": "imu",
        "at_ns": START_NS + 15 * 10**8,
        "sources": {
            "cam1": {
                "verdict": "reject",
                "clock": "cam1",
                "kind": "camera",
                "offset_s": offset_s,
                "offset_std_s": 1e-3,
                "drift_ppm": None,
                "drift_std_ppm": None,
                "observable": True,
                "timing": None,
            }
        },
        "pairs": [],
        "warnings": [],
        "stages": {},
        "record": {
            "at_ns": START_NS,
            "span_s": 3.0,
            "max_offset_s": 2.0,
            "baseline_pairs": [],
            "pictures": {"cam1": pictures.to_json()},
            "findings": [],
            "remarks": {},
        },
    }


@pytest.fixture
def window(open_window, tmp_path):
    clip = write_clip(tmp_path / "all", n_cameras=3, has_sound=False, clip_id="a")
    run = tmp_path / "out"
    run.mkdir()
    row = verdict_row("a", offset_s=0.5)
    (run / "verdicts.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    return open_window(write_manifest(tmp_path / "m.jsonl", clip), verdicts=run)


def pixels(window, room: QtCore.QRectF) -> np.ndarray:
    """Return the painted lanes within the rectangle `room`, shape (rows, columns, 3)."""
    image = window.panels.lanes.grab().toImage().convertToFormat(QtGui.QImage.Format.Format_RGB888)
    bits = image.constBits()
    bits.setsize(image.sizeInBytes())
    rows = np.frombuffer(bits, np.uint8).reshape(image.height(), image.bytesPerLine())
    whole = rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3)
    return whole[
        round(room.top()) : round(room.bottom()), round(room.left()) : round(room.right())
    ].astype(int)


def row_of(window, camera: str) -> QtCore.QRectF:
    lane, room = next(x for x in window.panels.lanes.plots.rects() if isinstance(x[0], FramesLane))
    return dict(frame_rows(lane, room))[camera]


def has_color(window, camera: str, start_s: float, stop_s: float) -> bool:
    """Return whether the fault colour is painted in a camera's row between two instants."""
    scale, row = window.panels.lanes.scale(), row_of(window, camera)
    left, right = scale.x_of(start_s), scale.x_of(stop_s)
    part = pixels(window, QtCore.QRectF(left, row.top(), right - left, row.height()))
    color = window.theme.color("rejected")
    wanted = np.array([color.red(), color.green(), color.blue()])
    return bool(np.any(np.abs(part - wanted).max(axis=2) < 12))


@pytest.mark.parametrize("is_light", [False, True])
def test_spells_of_a_verdict_folder_are_marked_on_the_row_of_their_camera(window, is_light):
    if is_light:
        window.set_theme(LIGHT)
    lag_s = 0.007  # by the timestamps of cam1
    assert has_color(window, "cam1", 1.05 + lag_s, 1.95)
    assert has_color(window, "cam1", 2.49 + lag_s, 2.56 + lag_s)
    assert not has_color(window, "cam1", 0.1, 0.95)
    assert not has_color(window, "cam0", 0.0, 3.0)
    # Labels need room: only the row of that camera is higher.
    heights = {name: row_of(window, name).height() for name in ("cam0", "cam1", "cam2")}
    assert heights["cam1"] > heights["cam0"] == heights["cam2"]


def test_frames_say_whose_they_are_and_what_is_wrong_on_hovering(window):
    lane, room = next(x for x in window.panels.lanes.plots.rects() if isinstance(x[0], FramesLane))
    scale, row = window.panels.lanes.scale(), row_of(window, "cam1")

    def tip(time_s: float) -> str:
        place = QtCore.QPointF(scale.x_of(time_s), row.center().y())
        return tip_at(lane, room, place, window.session.model, scale)

    camera, fault = tip(1.5).splitlines()
    assert camera == "cam1"
    assert fault.startswith(FAULT_SIGNS[ImageFault.FROZEN][0])
    assert "20 frames" in fault
    assert tip(0.5) == "cam1"


def test_spells_move_with_the_clock_of_their_camera(window):
    window.display.toggle_corrected()
    assert has_color(window, "cam1", 1.6, 2.4)
    assert not has_color(window, "cam1", 1.0, 1.45)
    times_s = [row[2].text for row in window.panels.evidence.faults.table._rows]
    assert times_s == ["1.51 s", "3.01 s"]


def test_image_says_what_is_wrong_with_it(window):
    for time_s, words in ((1.5, "❄ frozen"), (0.5, ""), (2.52, "↯ damaged")):
        window.display.jump_to(time_s)
        assert window.panels.films.panes["cam1"].fault == words
        assert words in window.panels.films.panes["cam1"].accessibleDescription()
    assert window.panels.films.panes["cam0"].fault == ""


def test_faults_are_listed_and_a_click_goes_there(window):
    window.display.select("cam1")
    table = window.panels.evidence.faults
    assert [tuple(cell.text for cell in row) for row in table.table._rows] == [
        ("❄ frozen", "20–39", "1.01 s", "2.01 s"),
        ("↯ damaged", "50", "2.51 s", "2.56 s"),
    ]
    place = table.view.visualRect(table.table.index(1, 0)).center()
    left = QtCore.Qt.MouseButton.LeftButton
    QtTest.QTest.mouseClick(table.view.viewport(), left, pos=place)
    assert window.session.timeline.cursor_s == pytest.approx(2.507, abs=NEAR_S)
    window.display.select("cam0")
    assert not table.isVisible()


def test_faults_are_jumped_to_by_their_key(window):
    window.display.jump_to(0.0)
    for expected_s in (1.007, 2.507):
        QtTest.QTest.keyClick(window, QtCore.Qt.Key.Key_6)
        assert window.session.timeline.cursor_s == pytest.approx(expected_s, abs=NEAR_S)
    QtTest.QTest.keyClick(window, QtCore.Qt.Key.Key_6)
    assert "no fault after the cursor" in window.panels.transport.message.text()


def test_who_labels_blindly_sees_no_faults_until_then(window):
    window.decisions.set_blind(True)
    assert not has_color(window, "cam1", 0.0, 3.0)
    window.display.jump_to(1.5)
    assert window.panels.films.panes["cam1"].fault == ""
    assert window.session.model.events.next(0.0, 1, EventKind.FAULT) is None
    assert not window.panels.evidence.faults.isVisible()
    window.decisions.set_blind(False)
    assert has_color(window, "cam1", 1.05, 1.95)


def test_every_fault_has_a_glyph_and_a_word_of_its_own():
    assert set(FAULT_SIGNS) == set(ImageFault)
    for column in zip(*FAULT_SIGNS.values(), strict=True):
        assert len(set(column)) == len(ImageFault)


def test_faults_of_an_audit_are_those_of_its_row(window, tmp_path):
    clip = load_manifest(tmp_path / "m.jsonl")[0]
    verdict = audit(clip)
    pictures = {"cam0": ImageAudit(frames=N_FRAMES, spells=SPELLS)}
    verdict = replace(verdict, record=replace(verdict.record, pictures=pictures))
    judged = Judgement.of_row(json.loads(json.dumps(verdict.to_json())), clip)
    assert judged.frame_audits == pictures
    assert judged.verdict is verdict.verdict
    window.session.take_judgement(judged, verdict.to_json())
    window.display.show_clocks()
    assert has_color(window, "cam0", 1.05, 1.95)
    assert not has_color(window, "cam1", 0.0, 3.0)


def test_spells_beyond_the_stamps_are_left_out(window):
    model = window.session.model
    spells = (spell(ImageFault.UNDECODED, 55, 70), spell(ImageFault.WHITE, 80, 90))
    model.judgement = replace(
        model.judgement,
        verdict=Verdict.REJECT,
        frame_audits={
            "cam1": ImageAudit(frames=91, spells=spells),
            "gone": ImageAudit(frames=0),
        },
    )
    window.display.show_clocks()
    (shown,) = model.spells["cam1"]
    assert (shown.fault, shown.last) == (ImageFault.UNDECODED, 70)
    assert shown.stop_s == pytest.approx(N_FRAMES / RATE_HZ + 0.007, abs=NEAR_S)
