"""Check versions of dependencies, and give the pip command for every incomplete extra."""

from __future__ import annotations

import platform
import re
from importlib import metadata

from syncaudit import __version__
from syncaudit.doctor.symptom import Status, Symptom

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
