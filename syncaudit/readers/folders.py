"""List local or remote folders and globs, and identify files by name."""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path

from syncaudit.readers.file_errors import reworded
from syncaudit.readers.remote import file_system, is_url
from syncaudit.readers.roots import refuse_outside
from syncaudit.readers.uris import find_member

IMAGES = frozenset(
    {".bmp", ".jp2", ".jpe", ".jpeg", ".jpg", ".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff"}
    | {".webp"}
)
_MARKS = frozenset("*?[")


def list_folder(uri: str) -> list[str] | None:
    """Return the files of a folder or glob, unsorted; None if `uri` names one file."""
    is_glob = not _MARKS.isdisjoint(uri)
    is_local = not is_url(uri)
    is_folder = is_local and os.path.isdir(uri)  # noqa: PTH112  # for every camera of every clip
    if is_local and not is_folder and not is_glob:
        return None
    refuse_outside(uri.split("*")[0] if is_glob and is_local else uri)
    with reworded(uri):
        if is_local:
            if is_folder:
                return [str(entry) for entry in Path(uri).iterdir() if entry.is_file()]
            if Path(uri).exists():
                return None
            found = glob.glob(uri, recursive=True)  # noqa: PTH207  # Path.glob refuses absolute ones
            for name in found:
                refuse_outside(name)
            return [name for name in found if Path(name).is_file()]
        if find_member(uri) is not None:
            return None
        system, inner = file_system(uri)
        if is_glob and not system.exists(inner):
            found = system.glob(inner)
        elif system.isdir(inner):
            found = [entry["name"] for entry in system.ls(inner) if entry["type"] == "file"]
        else:
            return None
        first, *rest = uri.split("::")
        if rest:
            scheme = first.partition("://")[0]
            return ["::".join([f"{scheme}://{name}", *rest]) for name in found]
        return [str(system.unstrip_protocol(name)) for name in found]


def natural_key(name: str) -> tuple[list[tuple[int, int, str]], str]:
    """Return a sort key by which ``episode_9`` comes before ``episode_10``."""
    parts = re.split(r"([0-9]+)", name)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts], name


def is_image(path: str) -> bool:
    """Return whether a file is an image, judging by its name."""
    return suffix_of(path) in IMAGES


def suffix_of(path: str) -> str:
    """Return a file's suffix in lower case; for a member of an archive, the member's suffix."""
    name = path.split("::")[0].rstrip("/").rpartition("/")[2]
    stem, dot, ending = name.rpartition(".")
    return f"{dot}{ending.lower()}" if stem.strip(".") else ""  # of a hidden file: no suffix
