"""Find the recordings of a data set by what lies in their folders."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from syncaudit.datasets.source import Source

__all__ = ["files_below", "inside", "name_of", "recordings"]


def recordings(
    source: Source, is_one: Callable[[str], bool], *, depth: int, folder: str = ""
) -> Iterator[str]:
    """Yield the folders that are a recording, "" for that of the source, at most `depth` below."""
    if source.file is not None:
        return
    if is_one(folder):
        yield folder
    elif depth > 0:
        for child in source.folders(folder):
            yield from recordings(source, is_one, depth=depth - 1, folder=child)


def inside(folder: str, name: str) -> str:
    """Return the name of a file in a folder of a source."""
    return f"{folder}/{name}" if folder else name


def name_of(source: Source, folder: str) -> str:
    """Return what a recording is called: its folder, or that of the source."""
    return folder or source.base_uri.split("::")[0].rstrip("/").rpartition("/")[2]


def files_below(
    source: Source, suffixes: tuple[str, ...], *, depth: int, folder: str = ""
) -> Iterator[str]:
    """Yield the files with one of some suffixes, of either case, in folders and those below."""
    for name in source.files(folder=folder):
        if name.lower().endswith(suffixes):
            yield name
    if depth > 0:
        for child in source.folders(folder):
            yield from files_below(source, suffixes, depth=depth - 1, folder=child)
