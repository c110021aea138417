"""Whatever a clip lacks, it opens and reports so; audits run alongside and can be stopped."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest
from pyqtgraph.Qt import QtCore, QtGui, QtWidgets
from syncaudit_gui.audits import AuditProcess, AuditProgress, AuditResult
from syncaudit_gui.viewmodel.clip_model import build_clip
from syncaudit_gui.viewmodel.lanes import CurveLane, MissingLane, SoundLane
from syncaudit_gui.widgets.filmstrip import Arrangement, CameraPane
from syncaudit_gui.widgets.lane_paint import LanePainter
from syncaudit_gui.window.application import (
    recent_sources,
    remember_source,
    restore_layout,
    save_layout,
)
from syncaudit_gui.window.player import bytes_from

from syncaudit.datasets import load_manifest
from syncaudit.model import CameraStream, Channel, Clip, ImuSpec, SignalStream, SourceKind
from syncaudit.pipeline import ReadClip, read_clip
from testkit.barcode_clips import START_NS, write_clip, write_manifest

WAIT_MS = 60_000
WAIT_S = 60.0


def lanes_of(window) -> list[str]:
    return [lane.title for lane in window.panels.lanes.plots.lanes]


def test_window_without_anything_says_how_to_begin(open_window):
    window = open_window()
    assert window.panels.pages.currentIndex() == 0
    assert "Drop a manifest" in window.panels.welcome.title
    window.grab()


def test_what_cannot_be_opened_says_why(qtbot, open_window, tmp_path):
    window = open_window()
    window.opening.open_source(str(tmp_path))
    qtbot.waitUntil(lambda: window.panels.welcome.title == "This cannot be opened", timeout=WAIT_MS)
    assert "folder without a manifest" in window.panels.welcome.text


def test_missing_and_broken_sources_say_so_in_their_places(open_window, tmp_path):
    changes = {
        "cam1": {"kind": "camera", "uri": "gone.mp4", "timestamps": "all/cam1.csv"},
        "can": {"kind": "can", "uri": "gone.csv", "signals": {"speed": "v"}},
        "mic": {"kind": "audio", "uri": "gone.wav"},
    }
    clip = write_clip(tmp_path / "all", n_cameras=2, changes=changes)
    window = open_window(write_manifest(tmp_path / "m.jsonl", clip))
    assert "file not found" in window.panels.films.panes["cam1"].words
    missing = [x for x in window.panels.lanes.plots.lanes if isinstance(x, MissingLane)]
    assert {lane.title for lane in missing} >= {"can", "mic"}
    assert all("not found" in lane.why for lane in missing if lane.title != "words")
    figures = {row[0].text: row[1].text for row in window.panels.sources.table._rows}
    assert figures["✕ can"] == "not read"
    window.display.select("can")
    assert "not found" in window.panels.evidence.words.text()


@pytest.mark.parametrize("n_cameras", [0, 1, 12])
def test_any_number_of_cameras_fits(open_window, tmp_path, n_cameras):
    clip = write_clip(tmp_path / "all", n_cameras=n_cameras, has_sound=False)
    window = open_window(write_manifest(tmp_path / "m.jsonl", clip))
    panes = window.panels.films.panes.values()
    assert len(panes) == n_cameras
    inside = window.panels.films.rect()
    assert all(inside.contains(pane.geometry()) for pane in panes)
    assert all(pane.frame is not None for pane in panes)
    assert window.panels.films._words.text() == ("" if n_cameras else "no cameras in this clip")
    assert "gyro" in lanes_of(window)
    assert "mic" not in lanes_of(window)


def test_clip_of_nothing_readable_opens(open_window, tmp_path):
    sources = {"imu": {"kind": "imu", "uri": "gone.csv"}}
    window = open_window(write_manifest(tmp_path / "m.jsonl", {"clip_id": "x", "sources": sources}))
    assert "imu" in lanes_of(window)
    window.grab()


def test_broken_verdict_rows_are_no_obstacle(open_window, tmp_path):
    clip = write_clip(tmp_path / "all", n_cameras=1, has_sound=False, clip_id="a")
    run = tmp_path / "out"
    run.mkdir()
    row = {"clip_id": "a", "verdict": "reject", "sources": {"imu": 3}, "pairs": [{"no": 1}]}
    (run / "verdicts.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    manifest = write_manifest(tmp_path / "m.jsonl", clip)
    window = open_window(manifest, verdicts=run)
    assert window.session.model.judgement is None
    assert window.session.batch[0].verdict == "reject"


def test_dropped_manifest_opens(qtbot, open_window, barcode_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    window = open_window()
    data = QtCore.QMimeData()
    data.setUrls([QtCore.QUrl.fromLocalFile(str(barcode_folder / "manifest.jsonl"))])
    copy, left = QtCore.Qt.DropAction.CopyAction, QtCore.Qt.MouseButton.LeftButton
    none = QtCore.Qt.KeyboardModifier.NoModifier
    event = QtGui.QDropEvent(QtCore.QPointF(9, 9), copy, data, left, none)
    with qtbot.waitSignal(window.opening.clip_shown, timeout=WAIT_MS):
        window.dropEvent(event)
    assert window.session.batch.n_all == 3


def test_an_hour_at_1_khz_draws_few_points():
    n = 3_600_000
    stamps = START_NS + np.arange(n, dtype=np.int64) * 1_000_000
    values = np.sin(np.arange(n) * 1e-4)[:, None]
    stream = SignalStream(
        name="imu",
        clock="imu",
        kind=SourceKind.IMU,
        time_ns=stamps,
        channels=(Channel(name="temperature", time_ns=stamps, values=values),),
    )
    spec = ImuSpec(uri="imu.parquet")
    clip = Clip(clip_id="hour", recording_id="hour", sources={"imu": spec})
    model = build_clip(clip, ReadClip(streams={"imu": stream}))
    lane = next(lane for lane in model.lanes if isinstance(lane, CurveLane))
    assert lane.pyramid.n_samples == n
    assert lane.pyramid.trace(0.0, 3600.0, 2000).times_s.size <= 2200
    assert model.timeline.limits.span_s == pytest.approx(3600.0, abs=200.0)


def audited(folder: Path):
    manifest = write_manifest(folder / "m.jsonl", write_clip(folder / "all", n_cameras=1))
    clip = load_manifest(manifest)[0]
    return clip, build_clip(clip, read_clip(clip))


def test_audit_process_tells_progress_and_answers(tmp_path):
    clip, model = audited(tmp_path)
    assert isinstance(model.streams["cam0"], CameraStream)
    messages: list[object] = []
    is_over = threading.Event()

    def take(message: object) -> None:
        messages.append(message)
        if not isinstance(message, AuditProgress):
            is_over.set()

    process = AuditProcess(clip, None, epoch_ns=model.epoch_ns, n_frames=60, on_message=take)
    assert is_over.wait(WAIT_S)
    process.cancel()
    result = messages[-1]
    assert isinstance(result, AuditResult), result
    assert result.row["clip_id"] == "clip"
    assert set(result.judgement.sources) == set(clip.sources)
    assert any(isinstance(message, AuditProgress) for message in messages)


def test_cancelled_audit_is_gone_and_silent(tmp_path):
    clip, model = audited(tmp_path)
    messages: list[object] = []
    process = AuditProcess(
        clip, None, epoch_ns=model.epoch_ns, n_frames=60, on_message=messages.append
    )
    process.cancel()
    assert not [m for m in messages if not isinstance(m, AuditProgress)]
    assert not [t for t in threading.enumerate() if t.name == "syncaudit-audit"]


def test_crashed_audit_says_so(tmp_path):
    clip, model = audited(tmp_path)
    messages: list[object] = []
    is_over = threading.Event()
    process = AuditProcess(
        clip,
        None,
        epoch_ns=model.epoch_ns,
        n_frames=60,
        on_message=lambda m: (messages.append(m), is_over.set()),
    )
    process._process.kill()
    assert is_over.wait(WAIT_S)
    process._thread.join()
    assert isinstance(messages[-1], str)
    assert "without an answer" in messages[-1]


def test_window_audits_a_clip_and_can_be_closed_meanwhile(qtbot, open_window, barcode_folder):
    window = open_window(barcode_folder / "manifest.jsonl", is_auditing=True)
    assert window.panels.progress.isVisible()
    assert window.auditor.is_running
    window.audits.cancel()
    assert not window.panels.progress.isVisible()
    assert not window.auditor.is_running
    window.audits.begin()
    assert window.auditor.is_running


def test_sound_begins_at_the_cursor_by_the_clock_that_is_drawn(open_window, barcode_folder):
    window = open_window(barcode_folder / "manifest.jsonl")
    model = window.session.model
    lane = next(lane for lane in model.lanes if isinstance(lane, SoundLane))

    def heard_from(time_s: float) -> np.ndarray:
        return np.frombuffer(bytes_from(lane, model, time_s), "<i2")

    assert not np.any(heard_from(0.0)[:8000])  # silent for its first second
    assert np.any(heard_from(1.0)[:100])
    assert heard_from(-0.5).size == heard_from(0.0).size + 4000
    model.nudges_s["mic"], model.is_corrected = 0.25, True
    assert not np.any(heard_from(1.0)[:2000])
    assert np.any(heard_from(1.0)[2000:2100])


def test_playing_says_where_there_is_nothing_to_hear_with(qtbot, open_window, barcode_folder):
    window = open_window(barcode_folder / "manifest.jsonl")
    window.sound._why_silent = "silent: no sound device"
    window.player.toggle()
    assert window.panels.transport.message.text() == "silent: no sound device"
    window.player.toggle()


def test_unknown_clip_is_refused_with_the_nearest_name(qtbot, open_window, barcode_folder):
    window = open_window()
    with qtbot.waitSignal(window.opening.refused, timeout=WAIT_MS) as refused:
        window.opening.open_source(str(barcode_folder / "manifest.jsonl"), clip_id="frist")
    assert "no clip 'frist'" in refused.args[0]
    assert "'first'" in refused.args[0]


def test_stamps_of_another_epoch_are_said_to_be_far_away(open_window, tmp_path):
    clip = write_clip(tmp_path / "all", n_cameras=1, has_sound=False)
    lines = (tmp_path / "all" / "imu.csv").read_text(encoding="utf-8").splitlines()
    moved = [
        f"{int(line.split(',', 1)[0]) - START_NS},{line.split(',', 1)[1]}" for line in lines[1:]
    ]
    (tmp_path / "all" / "imu.csv").write_text("\n".join([lines[0], *moved]), encoding="utf-8")
    window = open_window(write_manifest(tmp_path / "m.jsonl", clip))
    lane = next(x for x in window.panels.lanes.plots.lanes if isinstance(x, CurveLane))
    painter = LanePainter(
        painter=QtGui.QPainter(),
        theme=window.theme,
        model=window.session.model,
        scale=window.panels.lanes.scale(),
    )
    assert "earlier; corrected clocks (C)" in painter._where_it_is(lane)
    window.session.model.nudges_s["imu"] = START_NS * 1e-9
    window.session.model.is_corrected = True
    assert painter._where_it_is(lane) == ""


def test_going_through_clips_leaves_no_thread_and_no_pane_behind(
    qtbot, open_window, barcode_folder
):
    window = open_window(barcode_folder / "manifest.jsonl")
    for name in ("second", "third", "first", "second"):
        with qtbot.waitSignal(window.opening.clip_shown, timeout=WAIT_MS):
            window.opening.open_clip(name)
    cameras = [t for t in threading.enumerate() if t.name == "syncaudit-camera"]
    assert len(cameras) == 6
    QtCore.QCoreApplication.sendPostedEvents(None, QtCore.QEvent.Type.DeferredDelete)
    assert len(window.findChildren(CameraPane)) == 6
    assert len([t for t in window.findChildren(QtCore.QTimer) if t.isActive()]) <= 1
    window.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("syncaudit")]


def test_layout_is_remembered(open_window, tmp_path):
    settings = QtCore.QSettings(str(tmp_path / "v.ini"), QtCore.QSettings.Format.IniFormat)
    window = open_window()
    window.toggle_theme()
    window.player.change_speed(-2)
    window.panels.films.set_arrangement(Arrangement.GRID)
    save_layout(window, settings)
    again = open_window()
    restore_layout(again, settings)
    assert (again.theme.name, again.player.clock.speed) == ("light", 0.25)
    assert again.panels.films.arrangement is Arrangement.GRID
    settings.setValue("speed", "fast")
    settings.setValue("geometry", "nonsense")
    restore_layout(open_window(), settings)


def test_small_screens_and_many_sources_fit(open_window, tmp_path):
    clip = write_clip(tmp_path / "all", n_cameras=12)
    window = open_window(write_manifest(tmp_path / "m.jsonl", clip))
    window.resize(900, 560)
    assert (window.width(), window.height()) == (900, 560)
    assert window.panels.labels.isVisible()


def test_start_page_opens_recent_files(qtbot, open_window, barcode_folder, tmp_path):
    window = open_window()
    settings = QtCore.QSettings(str(tmp_path / "viewer.ini"), QtCore.QSettings.Format.IniFormat)
    manifest = str(barcode_folder / "manifest.jsonl")
    remember_source(settings, str(tmp_path / "gone"))
    remember_source(settings, str(tmp_path))
    remember_source(settings, manifest)
    assert recent_sources(settings) == [str(Path(manifest).resolve()), str(tmp_path)]
    window.panels.start.show_recent(recent_sources(settings))
    lines = window.panels.start.findChildren(QtWidgets.QPushButton)
    line = next(x for x in lines if x.toolTip() == str(Path(manifest).resolve()))
    with qtbot.waitSignal(window.opening.clip_shown, timeout=WAIT_MS):
        line.click()


def test_long_messages_break_between_words(open_window):
    message = open_window().panels.welcome
    message.resize(500, 300)
    message.show_words("✕", "This cannot be opened", " ".join(["resynchronisation"] * 24))
    image = message.grab().toImage()
    metrics = message.fontMetrics()
    # As many whole words as fit, centred: the area beside them is background.
    n_words = (460 - 48) // metrics.horizontalAdvance("resynchronisation ")
    beside_px = (
        460 - 48 - metrics.horizontalAdvance(" ".join(["resynchronisation"] * n_words))
    ) // 2
    assert beside_px > 12
    surface = image.pixelColor(2, 2)
    left = 20 + 24
    rows = range(120, 250)
    assert all(image.pixelColor(left + beside_px // 2, y) == surface for y in rows)
