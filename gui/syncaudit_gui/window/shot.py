"""Images of the window without a screen: for reports, documents and tests."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pyqtgraph.Qt import QtCore

from syncaudit.errors import UsageError, nearest_name
from syncaudit_gui.window.application import (
    Start,
    make_application,
    make_window,
    open_start,
    show_start,
)
from syncaudit_gui.window.window import ViewerWindow

LIMIT_S = 600.0
SETTLE_S = 30.0


def parse_size(text: str) -> tuple[int, int, float]:
    """Parse width, height and pixels per point from ``1440x900@2``.

    UsageError if it is not a size.
    """
    try:
        size, _, ratio = text.partition("@")
        width, height = (int(part) for part in size.lower().split("x"))
        scale = float(ratio or 1.0)
    except ValueError:
        width = height = 0
        scale = 0.0
    if not (200 <= width <= 8000 and 200 <= height <= 8000 and 0.5 <= scale <= 4.0):
        raise UsageError(
            f"--size is '{text}', expected WIDTHxHEIGHT or WIDTHxHEIGHT@SCALE",
            hint="For example 1440x900 or 1440x900@2.",
        )
    return width, height, scale


def take_shot(start: Start, path: Path, width: int, height: int, scale: float = 1.0) -> None:
    """Open a clip, wait for its audit and its frames, and write the window as PNG.

    The size of the window is in points; `scale` is in pixels per point. UsageError if the clip
    cannot be opened, or the image cannot be written.
    """
    # Qt reads these once, when the application is created.
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    os.environ["QT_SCALE_FACTOR"] = f"{scale:g}"
    before = QtCore.qInstallMessageHandler(_pass_on)
    application = make_application()
    window = make_window(start)
    window.resize(width, height)
    window.setAttribute(QtCore.Qt.WidgetAttribute.WA_DontShowOnScreen)
    window.show()
    try:
        if start.source is not None:
            _open(window, start, application.processEvents)
        if not window.grab().save(str(path), "PNG"):
            raise UsageError("the image cannot be written", path=str(path))
    finally:
        window.close()
        QtCore.qInstallMessageHandler(before)


def _pass_on(_kind: QtCore.QtMsgType, _context: object, message: str | None) -> None:
    """Write Qt's messages, except that a platform without windows has no size hints."""
    if message and "propagateSizeHints" not in message:
        sys.stderr.write(f"{message}\n")


def _open(window: ViewerWindow, start: Start, process: Callable[[], None]) -> None:
    failures: list[str] = []
    window.opening.refused.connect(failures.append)
    open_start(window, start)

    wait_until(process, lambda: bool(failures) or window.session.model is not None, LIMIT_S)
    if failures:
        raise UsageError(failures[0])
    wait_until(process, lambda: not window.auditor.is_running, LIMIT_S)
    model = window.session.model
    if start.selected is not None and model is not None and start.selected not in model.selectable:
        raise UsageError(
            f"no source '{start.selected}' in this clip",
            hint=nearest_name(start.selected, model.selectable),
        )
    show_start(window, start)
    window.panels.fit_films()
    settled_s = time.monotonic() + 0.3  # the layout, and a spectrogram if there is one
    films = window.panels.films
    window.panels.comparison.end_slide()
    wait_until(process, lambda: time.monotonic() > settled_s and films.is_settled, SETTLE_S)


def wait_until(process: Callable[[], None], is_done: Callable[[], bool], limit_s: float) -> None:
    """Handle events until something is done, or for a limited time."""
    end_s = time.monotonic() + limit_s
    while not is_done() and time.monotonic() < end_s:
        process()
        time.sleep(0.005)
