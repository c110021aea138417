"""Start the viewer on a screen, with the layout of the last time."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyqtgraph as pg
from pyqtgraph.Qt import QtCore, QtWidgets

from syncaudit.errors import UsageError
from syncaudit.policy import Policy
from syncaudit_gui.viewmodel.timeline import SPEEDS, TimeRange
from syncaudit_gui.widgets.filmstrip import Arrangement
from syncaudit_gui.widgets.theme import DARK, LIGHT, ui_font
from syncaudit_gui.window.window import ViewerWindow

SWITCH_S = 1e-3
MOST_RECENT = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Initial state of the window."""

    source: str | None = None  # manifest or output folder
    rules: Mapping[str, Any] = field(default_factory=dict)  # rules of the data set that `source` is
    clip_id: str | None = None  # clip; by default the first
    verdicts: Path | None = None  # as for `open_collection`
    labels: Path | None = None
    at_s: float | None = None  # cursor and length of the view
    span_s: float | None = None
    selected: str | None = None
    is_corrected: bool = False  # whether clocks are drawn corrected
    is_blind: bool = False  # whether verdicts are hidden until their clips are labelled
    is_auditing: bool = True  # whether clips without a verdict are audited
    policy: Policy | None = None  # policy of audits; default is the profile ``driving``
    theme: str | None = None  # ``dark`` or ``light``; by default as last time


def make_application() -> QtWidgets.QApplication:
    """Return the application, creating it if need be."""
    # Longest wait of the window's thread for one that reads; Python's own is 5 ms.
    sys.setswitchinterval(SWITCH_S)
    application = pg.mkQApp("syncaudit")
    application.setFont(ui_font())
    application.setStyle("Fusion")
    atexit.unregister(_end_windows)
    atexit.register(_end_windows)  # handlers run in reverse order, so before PyQt's own
    return application


def _end_windows() -> None:
    """Close remaining windows, with their threads and processes, while that is safe.

    When Python exits, PyQt walks over the objects that it wraps and deletes those without a parent.
    The children of a window vanish during the walk, which occasionally crashes.
    """
    for widget in QtWidgets.QApplication.topLevelWidgets():
        if isinstance(widget, ViewerWindow):
            widget.close()
            widget.deleteLater()
    QtCore.QCoreApplication.sendPostedEvents(None, QtCore.QEvent.Type.DeferredDelete.value)


def run_viewer(start: Start) -> int:
    """Show the window until it is closed, and return the exit code.

    UsageError if there is no screen, or the source cannot be opened.
    """
    _check_screen()
    application = make_application()
    window = make_window(start)
    refusals: list[str] = []

    def refuse(why: str) -> None:
        """Exit with the reason if nothing could be opened."""
        if window.is_empty:
            refusals.append(why)
            window.close()
            application.quit()

    settings = QtCore.QSettings("syncaudit", "viewer")
    restore_layout(window, settings, keeps_theme=start.theme is not None)
    window.panels.start.show_recent(recent_sources(settings))
    window.opening.clip_shown.connect(lambda: remember_source(settings, window.opening.source))
    if start.source is not None:
        window.opening.clip_shown.connect(
            lambda: show_start(window, start), QtCore.Qt.ConnectionType.SingleShotConnection
        )
        window.opening.refused.connect(refuse)
        open_start(window, start)
    window.show()
    # Python only handles Ctrl-C in the terminal while it runs: a timer makes it run.
    signal.signal(signal.SIGINT, lambda *_: window.close())
    ticks = QtCore.QTimer()
    ticks.timeout.connect(lambda: None)
    ticks.start(200)
    try:
        code: int = application.exec()
    finally:
        save_layout(window, settings)
        window.shut_down()
    if refusals:
        raise UsageError(refusals[0])
    return code


def make_window(start: Start) -> ViewerWindow:
    """Return the window, with nothing opened and not shown yet."""
    return ViewerWindow(
        theme=LIGHT if start.theme == "light" else DARK,
        is_auditing=start.is_auditing,
        policy=start.policy,
    )


def open_start(window: ViewerWindow, start: Start) -> None:
    """Open the requested source."""
    window.opening.open_source(
        start.source or "",
        rules=start.rules,
        verdicts=start.verdicts,
        labels=start.labels,
        clip_id=start.clip_id,
        is_blind=start.is_blind,
    )


def show_start(window: ViewerWindow, start: Start) -> None:
    """Apply the requested initial state to an open clip."""
    model = window.session.model
    if model is None:
        return
    if start.selected is not None:
        if start.selected in model.selectable:
            window.display.select(start.selected)
        else:
            window.panels.transport.announce(f"no source '{start.selected}' in this clip")
    if start.at_s is not None:
        window.display.move_to(start.at_s)
    if start.span_s is not None:
        half_s = 0.5 * start.span_s
        at_s = model.timeline.cursor_s
        window.display.show_range(TimeRange(start_s=at_s - half_s, stop_s=at_s + half_s))
    if start.is_corrected and not model.is_corrected:
        window.display.toggle_corrected()


def save_layout(window: ViewerWindow, settings: QtCore.QSettings) -> None:
    """Save size, splitters, speed, theme and arrangement."""
    settings.setValue("geometry", window.saveGeometry())
    settings.setValue("across", window.panels.across.saveState())
    settings.setValue("speed", window.player.clock.speed)
    settings.setValue("theme", window.theme.name)
    settings.setValue("arrangement", str(window.panels.films.arrangement))
    settings.sync()


def recent_sources(settings: QtCore.QSettings) -> list[str]:
    """Return recently opened sources that still exist, the latest first."""
    found = settings.value("recent") or []
    names = [found] if isinstance(found, str) else [str(name) for name in found]
    return [name for name in names if "://" in name or Path(name).exists()][:MOST_RECENT]


def remember_source(settings: QtCore.QSettings, source: str) -> None:
    """Put the open source first among the recent ones."""
    name = source if "://" in source else str(Path(source).resolve())
    others = [other for other in recent_sources(settings) if other != name]
    settings.setValue("recent", [name, *others][:MOST_RECENT])


def restore_layout(
    window: ViewerWindow, settings: QtCore.QSettings, *, keeps_theme: bool = False
) -> None:
    """Restore the saved layout of a window; invalid settings are ignored."""
    geometry = settings.value("geometry")
    if not isinstance(geometry, QtCore.QByteArray) or not window.restoreGeometry(geometry):
        window.resize(1440, 900)
    screen = window.screen()
    if screen is not None:  # possibly smaller than last time
        window.resize(window.size().boundedTo(screen.availableSize()))
    across = settings.value("across")
    if isinstance(across, QtCore.QByteArray):
        window.panels.across.restoreState(across)
    try:
        speed = float(settings.value("speed", 1.0))
    except (TypeError, ValueError):
        speed = 1.0
    window.player.clock.speed = speed if speed in SPEEDS else 1.0
    if not keeps_theme:
        window.set_theme(LIGHT if settings.value("theme") == "light" else DARK)
    if settings.value("arrangement") == Arrangement.GRID:
        window.panels.films.set_arrangement(Arrangement.GRID)
    window.display.show_state()


def _check_screen() -> None:
    is_linux = sys.platform.startswith("linux")
    has_screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if is_linux and not has_screen and not os.environ.get("QT_QPA_PLATFORM"):
        raise UsageError(
            "no screen (neither DISPLAY nor WAYLAND_DISPLAY is set)",
            hint="Log in with 'ssh -X', or write an image with --shot window.png.",
        )
