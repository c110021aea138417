"""Check dependencies, extras with their pip command, aligners, and whether the viewer can start."""

from __future__ import annotations

import os
import platform
import re
import shlex
from importlib import metadata

from syncaudit import __version__
from syncaudit.doctor.isolated import ask_python
from syncaudit.doctor.symptom import Status, Symptom
from syncaudit.errors import SyncAuditError
from syncaudit.speech.aligners.mfa import find_mfa

_PACKAGE = "syncaudit"
# For developers of syncaudit itself.
_NOT_FOR_USERS = frozenset({"dev"})
# Required packages; OpenCV may have one of several names.
_NEEDED = ("numpy", "scipy", "av", "pyarrow", "fsspec", "pydantic")
_OPENCV = (
    "opencv-python-headless",
    "opencv-python",
    "opencv-contrib-python-headless",
    "opencv-contrib-python",
)


def probe_versions() -> list[Symptom]:
    """Return the versions of Python, syncaudit and its required packages."""
    return [
        Symptom("syncaudit", Status.OK, __version__),
        Symptom(
            "Python",
            Status.OK,
            f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        ),
        *(_package(name, (name,)) for name in _NEEDED),
        _package("opencv", _OPENCV),
    ]


def _package(name: str, packages: tuple[str, ...]) -> Symptom:
    for package in packages:
        if (version := _version(package)) is not None:
            detail = version if package == name else f"{version} ({package})"
            return Symptom(name, Status.OK, detail)
    return Symptom(name, Status.FAULTY, "not installed", cure=f"pip install {packages[0]}")


def probe_extras() -> list[Symptom]:
    """Return the missing packages of every extra of the installed package."""
    try:
        stated = metadata.requires(_PACKAGE) or []
    except metadata.PackageNotFoundError:
        why = "syncaudit itself is not installed as a package: its extras are unknown"
        return [Symptom("extras", Status.UNKNOWN, why, cure="pip install .")]
    needs: dict[str, list[str]] = {}
    for requirement in stated:
        name = re.match(r"[\w.-]+", requirement)
        extra = re.search(r"extra\s*==\s*['\"]([\w.-]+)['\"]", requirement)
        if name and extra and extra[1] not in _NOT_FOR_USERS:
            needs.setdefault(extra[1], []).append(name[0])
    return [_symptom(extra, names) for extra, names in sorted(needs.items())]


def _symptom(extra: str, names: list[str]) -> Symptom:
    versions = {name: _version(name) for name in names}
    absent = [name for name, version in versions.items() if version is None]
    if absent:
        return Symptom(
            f"[{extra}]",
            Status.ABSENT,
            f"lacks {', '.join(absent)}",
            cure=f"pip install '{_PACKAGE}[{extra}]'",
        )
    detail = ", ".join(f"{name} {version}" for name, version in versions.items())
    return Symptom(f"[{extra}]", Status.OK, detail)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def probe_speech() -> list[Symptom]:
    """Return which aligners answer."""
    return [_pocketsphinx(), _mfa()]


def _pocketsphinx() -> Symptom:
    answer = ask_python(
        "import pocketsphinx; pocketsphinx.get_model_path('en-us'); print('model en-us')"
    )
    if answer.is_ok:
        return Symptom("pocketsphinx", Status.OK, answer.said)
    return Symptom(
        "pocketsphinx", Status.ABSENT, answer.said, cure="pip install 'syncaudit[speech]'"
    )


def _mfa() -> Symptom:
    found = find_mfa()
    if isinstance(found, SyncAuditError):
        return Symptom("MFA", Status.ABSENT, found.message, cure=str(found.hint or ""))
    return Symptom("MFA", Status.OK, f"{found.version} (called by: {shlex.join(found.command)})")


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
