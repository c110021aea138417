"""What the window remembers: its size, the splitters, speed, theme and arrangement."""

from __future__ import annotations

from pyqtgraph.Qt import QtCore

from syncaudit_gui.viewmodel.playback import SPEEDS
from syncaudit_gui.widgets.filmstrip import Arrangement
from syncaudit_gui.widgets.theme import DARK, LIGHT
from syncaudit_gui.window.window import ViewerWindow

__all__ = ["restore_layout", "save_layout"]


def save_layout(window: ViewerWindow, settings: QtCore.QSettings) -> None:
    """Write what is remembered."""
    settings.setValue("geometry", window.saveGeometry())
    settings.setValue("across", window.panels.across.saveState())
    settings.setValue("speed", window.player.clock.speed)
    settings.setValue("theme", window.theme.name)
    settings.setValue("arrangement", str(window.panels.films.arrangement))
    settings.sync()


def restore_layout(
    window: ViewerWindow, settings: QtCore.QSettings, *, keeps_theme: bool = False
) -> None:
    """Bring a window to what is remembered; nonsense is passed over.

    Parameters
    ----------
    window : ViewerWindow
        Not shown yet.
    settings : QSettings
        Where it is kept.
    keeps_theme : bool
        Whether the window's own theme stays.
    """
    geometry = settings.value("geometry")
    if not isinstance(geometry, QtCore.QByteArray) or not window.restoreGeometry(geometry):
        window.resize(1440, 900)
    screen = window.screen()
    if screen is not None:  # perhaps a smaller one than last time
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
