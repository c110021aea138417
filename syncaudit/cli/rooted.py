"""Restrict files named by a manifest to the folders that the user trusts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from syncaudit.formatting import word_count
from syncaudit.model import Clip
from syncaudit.readers.access import Roots, is_url
from syncaudit.readers.uris import files_named, parent_of, resolve

_MOST_NAMED = 3


def roots_of(manifest: str, stated: Sequence[str] | None, *, trusted: Iterable[str] = ()) -> Roots:
    """Return the roots of a run over a file or folder given by the user.

    With `stated` (``--root``) nothing else is opened; otherwise files elsewhere are opened, but not
    quoted. Folders in `trusted`, e.g. a data set that the user named, are always trusted.
    """
    place = resolve(manifest)
    own = place if not is_url(place) and Path(place).is_dir() else parent_of(place)
    if stated:
        return Roots(places=tuple(_absolute(each) for each in stated), is_strict=True)
    return Roots(places=(own, *(_absolute(each) for each in trusted)))


def _absolute(place: str) -> str:
    found = resolve(place)
    if is_url(found):
        return found
    path = Path(found).absolute()
    return str(path if path.is_dir() else path.parent)


def tell_outside(clips: Iterable[Clip], roots: Roots) -> str | None:
    """Return the message about files outside the roots, None if there are none.

    Links of files are not followed here, only those of their folders: a lookup costs 2 us.
    """

    @cache
    def is_inside(folder: str) -> bool:
        return roots.hold(folder)

    n_files, n_clips, named = 0, 0, dict[str, None]()
    for clip in clips:
        files = (files_named(spec, clip.base_uri) for spec in clip.sources.values())
        places = dict.fromkeys(place for located in files for place in located.values())
        # Archives and URLs are checked themselves, files by their folders.
        folders = {p: p if "://" in p else p.rpartition("/")[0] or "/" for p in places}
        outside = [p for p in places if not is_inside(folders[p])]
        n_files, n_clips = n_files + len(outside), n_clips + bool(outside)
        named |= dict.fromkeys(outside[:_MOST_NAMED]) if len(named) < _MOST_NAMED else {}
    if not n_files:
        return None
    listed = ", ".join(list(named)[:_MOST_NAMED])
    what = (
        "They are not opened."
        if roots.is_strict
        else "Nothing of their content is quoted. If you trust the manifest, name their folder "
        "with --root; name its own folder to leave them unopened."
    )
    return (
        f"{word_count(n_files, 'file')} of {word_count(n_clips, 'clip')} outside "
        f"{', '.join(roots.places)}: {listed}{', ...' if n_files > _MOST_NAMED else ''}. {what}"
    )
