"""Check whether the viewer can open a window here."""

from __future__ import annotations

import os

from syncaudit.doctor.isolated import ask_python
from syncaudit.doctor.symptom import Status, Symptom

_OPEN = """
from PyQt6.QtCore import PYQT_VERSION_STR
from PyQt6.QtWidgets import QApplication, QLabel
app = QApplication(["doctor"])
label = QLabel("x")
label.winId()
print(PYQT_VERSION_STR, app.platformName(), sep="\\t")
"""
_LIBRARIES = "Install Qt's system libraries (libegl1, libgl1, libxkbcommon0, libdbus-1-3)."


def probe_viewer() -> list[Symptom]:
    """Return whether Qt works, and whether it finds a display."""
    offscreen = ask_python(_OPEN, environment={**os.environ, "QT_QPA_PLATFORM": "offscreen"})
    if not offscreen.is_ok:
        is_absent = "No module named" in offscreen.said
        return [
            Symptom(
                "Qt",
                Status.ABSENT if is_absent else Status.FAULTY,
                offscreen.said,
                cure="pip install 'syncaudit[gui]'" if is_absent else _LIBRARIES,
            )
        ]
    qt = Symptom("Qt", Status.OK, f"PyQt {offscreen.said.partition(chr(9))[0]}")
    if not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")):
        return [qt, _without_display("neither DISPLAY nor WAYLAND_DISPLAY is set")]
    window = ask_python(_OPEN)
    if not window.is_ok:
        return [qt, _without_display(window.said)]
    platform = window.said.partition("\t")[2]
    return [qt, Symptom("display", Status.OK, f"windows open on {platform}")]


def _without_display(why: str) -> Symptom:
    return Symptom(
        "display",
        Status.ABSENT,
        f"no window can be opened: {why}",
        cure="Run the viewer at a desktop or over 'ssh -X'; images and reports need no display.",
    )
