"""Versions of what syncaudit is made of."""

from __future__ import annotations

import platform
from importlib import metadata

from syncaudit import __version__
from syncaudit.doctor.symptom import Status, Symptom

__all__ = ["probe_versions"]

# Packages without which nothing works; OpenCV comes under one of several names.
_NEEDED = ("numpy", "scipy", "av", "pyarrow", "fsspec", "pydantic")
_OPENCV = (
    "opencv-python-headless",
    "opencv-python",
    "opencv-contrib-python-headless",
    "opencv-contrib-python",
)


def probe_versions() -> list[Symptom]:
    """Return the versions of Python, syncaudit and what it needs."""
    return [
        Symptom(name="syncaudit", status=Status.OK, detail=__version__),
        Symptom(
            name="Python",
            status=Status.OK,
            detail=f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        ),
        *(_package(name, (name,)) for name in _NEEDED),
        _package("opencv", _OPENCV),
    ]


def _package(name: str, packages: tuple[str, ...]) -> Symptom:
    for package in packages:
        try:
            version = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
        detail = version if package == name else f"{version} ({package})"
        return Symptom(name=name, status=Status.OK, detail=detail)
    return Symptom(
        name=name,
        status=Status.FAULTY,
        detail="not installed",
        cure=f"pip install {packages[0]}",
    )
