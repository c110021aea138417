"""Viewer windows without a screen, and checks for what remains after closing them."""

import os
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

WAIT_MS = 30_000

try:
    from PyQt6 import QtWidgets  # noqa: F401
except ImportError:  # see test_qt.py
    collect_ignore = [
        path.name
        for path in Path(__file__).parent.glob("test_*.py")
        if path.name != "test_qt.py" and re.search("pyqtgraph|PyQt6|widgets", path.read_text())
    ]


@pytest.fixture(scope="session")
def barcode_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with one clip of six cameras, IMU, sound and words, and its manifest."""
    from testkit.barcode_clips import write_clip, write_manifest

    folder = tmp_path_factory.mktemp("clips")
    clips = [write_clip(folder / "all", clip_id=name) for name in ("first", "second", "third")]
    write_manifest(folder / "manifest.jsonl", *clips)
    return folder


@pytest.fixture(scope="session")
def application(qapp) -> None:
    """Style the application, once: Qt goes through all that was ever shown."""
    from syncaudit_gui.window.application import make_application

    make_application()


@pytest.fixture
def open_window(application, qtbot, tmp_path) -> Iterator[Callable[..., object]]:
    """Return a function that opens a manifest in a window and waits for its clip.

    After the test, no thread and no running timer of the window may be left.
    """
    from pyqtgraph.Qt import QtCore
    from syncaudit_gui.window.window import ViewerWindow

    before = set(threading.enumerate())
    windows = []

    def make(source: str | Path | None = None, *, is_auditing: bool = False, **options: object):
        window = ViewerWindow(is_auditing=is_auditing)
        windows.append(window)
        window.resize(1200, 800)
        window.setAttribute(QtCore.Qt.WidgetAttribute.WA_DontShowOnScreen)
        window.show()
        if source is not None:
            labels = tmp_path / "labels.jsonl"
            with qtbot.waitSignal(window.opening.clip_shown, timeout=WAIT_MS):
                window.opening.open_source(str(source), labels=labels, **options)
            qtbot.waitUntil(lambda: window.panels.films.is_settled, timeout=WAIT_MS)
        return window

    yield make
    for window in windows:
        window.close()
        timers = [t for t in window.findChildren(QtCore.QTimer) if t.isActive()]
        window.deleteLater()
        assert not [t for t in timers if not t.isSingleShot()]
        assert not window.player.is_playing
    left = [t.name for t in set(threading.enumerate()) - before if t.name.startswith("syncaudit")]
    assert not left


@pytest.fixture
def window(open_window, barcode_folder):
    """Return a window on the three clips, showing the first."""
    return open_window(barcode_folder / "manifest.jsonl")
