"""Find the recordings of a data set by the contents of their folders."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from posixpath import join

from syncaudit.datasets.source import Source

MOST = 100
"""Limit of folders that a probe visits: other formats may have any number."""
_PROBED = 5


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


class NestedFormat:
    """Base of formats whose recordings are folders, recognised by their contents."""

    takes_rules = False
    _depth: int  # levels below the data set at which recordings may lie
    _expected: str  # contents of a recording's folder
    _marks: tuple[str, ...] = ()  # files or folders of which any marks a recording's folder

    def probe(self, source: Source) -> str | None:
        """Accept a folder with a recording in it, at most `_depth` levels down."""
        if next(self._folders(source, most=MOST), None) is not None:
            return None
        return f"no folder with {self._expected}, up to {self._depth} levels down"

    def _is_one(self, source: Source, folder: str) -> bool:
        """Return whether a folder holds a recording."""
        return any(source.has(join(folder, name)) for name in self._marks)

    def _folders(self, source: Source, *, most: int = sys.maxsize) -> Iterator[str]:
        """Yield the folders that hold a recording, in the order of their names."""
        found = walk(source, partial(self._is_one, source), depth=self._depth, most=most)
        return (folder for folder, is_one in found if is_one)


def files_below(
    source: Source, suffixes: tuple[str, ...], *, depth: int, most: int = sys.maxsize
) -> Iterator[str]:
    """Yield the files with one of the suffixes, in either case, in all folders."""
    for folder, _ in walk(source, lambda _: False, depth=depth, most=most):
        for name in source.files(folder=folder):
            if name.lower().endswith(suffixes):
                yield name


def first_below(source: Source, suffixes: tuple[str, ...], *, depth: int) -> list[str]:
    """Return the first files with one of the suffixes, for a probe to look into."""
    return list(islice(files_below(source, suffixes, depth=depth, most=MOST), _PROBED))


def name_of(source: Source, folder: str) -> str:
    """Return the name of a recording: its folder, or that of the source."""
    return folder or source.base_uri.split("::")[0].rstrip("/").rpartition("/")[2]
