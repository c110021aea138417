"""Find the recordings of a data set by the contents of their folders."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from syncaudit.datasets.source import Source

__all__ = ["MOST", "files_below", "inside", "name_of", "recordings", "walk"]

MOST = 100
"""Limit of folders that a probe visits: other formats may have any number."""


def walk(
    source: Source, is_leaf: Callable[[str], bool], *, depth: int, most: int = sys.maxsize
) -> Iterator[tuple[str, bool]]:
    """Yield the folders of a source and whether each is a leaf, which is not searched further.

    "" is the source itself. Visits at most `depth` levels and at most `most` folders.
    """
    waiting = [("", depth)]
    while waiting and most > 0:
        folder, left = waiting.pop()
        most -= 1
        is_one = is_leaf(folder)
        yield folder, is_one
        if not is_one and left > 0:
            waiting += [(child, left - 1) for child in reversed(source.folders(folder))]


def recordings(
    source: Source, is_one: Callable[[str], bool], *, depth: int, most: int = sys.maxsize
) -> Iterator[str]:
    """Yield the folders that are a recording."""
    return (folder for folder, found in walk(source, is_one, depth=depth, most=most) if found)


def files_below(
    source: Source, suffixes: tuple[str, ...], *, depth: int, most: int = sys.maxsize
) -> Iterator[str]:
    """Yield the files with one of the suffixes, in either case, in all folders."""
    for folder, _ in walk(source, lambda _: False, depth=depth, most=most):
        for name in source.files(folder=folder):
            if name.lower().endswith(suffixes):
                yield name


def inside(folder: str, name: str) -> str:
    """Return the name of a file in a folder of a source."""
    return f"{folder}/{name}" if folder else name


def name_of(source: Source, folder: str) -> str:
    """Return the name of a recording: its folder, or that of the source."""
    return folder or source.base_uri.split("::")[0].rstrip("/").rpartition("/")[2]
