"""However the viewer ends, nothing remains: no process, no thread, no crash."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyqtgraph.Qt import QtCore
from syncaudit_gui.audits import AuditProcess, AuditProgress
from syncaudit_gui.viewmodel.clip_model import build_clip
from syncaudit_gui.widgets.side_panels import AuditPanel

from syncaudit.datasets import load_manifest
from syncaudit.pipeline import read_clip
from testkit.barcode_clips import write_clip, write_manifest

GONE_S = 20.0
# Opens a clip, has it audited and leaves the window as it is.
SCRIPT = """
import atexit, sys, threading, time
from pathlib import Path

def left():
    import gc
    from PyQt6 import QtCore, QtWidgets, sip
    gc.unfreeze()
    objects = [x for x in gc.get_objects() if isinstance(x, QtCore.QObject)]
    names = [
        type(x).__name__
        for x in objects
        if not sip.isdeleted(x) and sip.ispyowned(x)
        and not isinstance(x, QtWidgets.QApplication)
    ]
    print("left", sorted(names + [t.name for t in threading.enumerate()]), flush=True)

if __name__ == "__main__":
    atexit.register(left)  # after the viewer's own end
    from syncaudit_gui.window.application import make_application
    from syncaudit_gui.window.window import ViewerWindow
    application = make_application()
    window = ViewerWindow()
    window.show()
    window.opening.open_source(sys.argv[1], labels=Path(sys.argv[1]).parent / "labels.jsonl")
    while not window.auditor.is_running:
        application.processEvents()
        time.sleep(0.001)
    window.panels.lanes.rebuild()
    window.player.toggle()
    for _ in range(20):
        application.processEvents()
    print(window.auditor._process._process.pid, flush=True)
    if sys.argv[2] == "stay":
        time.sleep(600)
"""


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    clip = write_clip(tmp_path / "clip", n_cameras=2, clip_id="clip")
    return Path(write_manifest(tmp_path / "m.jsonl", clip))


def left_by_itself(manifest: Path, how: str) -> subprocess.Popen[str]:
    script = manifest.parent / "leave.py"
    script.write_text(SCRIPT, encoding="utf-8")
    return subprocess.Popen(  # noqa: S603  # a script of ours
        [sys.executable, str(script), str(manifest), how],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
    )


def is_gone(pid: int) -> bool:
    end_s = time.monotonic() + GONE_S
    while time.monotonic() < end_s:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        state = Path(f"/proc/{pid}/stat")
        if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
            return True  # in some containers no process reaps the children of a killed process
        time.sleep(0.05)
    return False


def test_python_ends_windows_that_are_left_open(manifest):
    process = left_by_itself(manifest, "leave")
    words, _ = process.communicate(timeout=120)
    audit_pid, left = words.splitlines()
    assert process.returncode == 0
    assert left == "left ['MainThread']"
    assert is_gone(int(audit_pid))


def test_audit_ends_with_a_window_that_is_killed(manifest):
    process = left_by_itself(manifest, "stay")
    assert process.stdout is not None
    audit_pid = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert is_gone(audit_pid)


def test_audit_that_has_ended_can_be_cancelled(manifest):
    (clip,) = load_manifest(str(manifest))
    epoch_ns = build_clip(clip, read_clip(clip)).epoch_ns
    process = AuditProcess(clip, None, epoch_ns=epoch_ns, n_frames=60, on_message=lambda _: None)
    process._process.kill()
    process._thread.join()
    process.cancel()  # as the window does with every answer


def test_ctrl_q_quits_and_saves_a_note(qtbot, open_window, barcode_folder, tmp_path):
    window = open_window(barcode_folder / "manifest.jsonl", is_auditing=True)
    window.player.toggle()
    window.panels.labels.note.setFocus()
    qtbot.keyClicks(window.panels.labels.note, "late")
    qtbot.keyClick(
        window.panels.labels.note, QtCore.Qt.Key.Key_Q, QtCore.Qt.KeyboardModifier.ControlModifier
    )
    assert not window.isVisible()
    assert not window.player.is_playing
    assert not window.auditor.is_running
    assert json.loads((tmp_path / "labels.jsonl").read_text())["note"] == "late"


@pytest.mark.parametrize(
    ("n_all", "words"), [(0, "examining the signals"), (9, "decoding frames  3 of 9")]
)
def test_audit_of_no_frames_decodes_none(qtbot, n_all, words):
    panel = AuditPanel()
    qtbot.addWidget(panel)
    panel.show_progress(AuditProgress(stage="detect", n_frames=3, n_all=n_all))
    assert panel.words.text() == words
