"""Read the outputs of an earlier run: its verdicts, and the manifest rows beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from syncaudit.errors import UsageError
from syncaudit.model import Clip

if TYPE_CHECKING:
    from syncaudit.batch import VerdictFile


@contextmanager
def outputs_of(out: str, *, partial: bool = False) -> Iterator[tuple[Sequence[Clip], VerdictFile]]:
    """Yield the clips of an output folder in the order of its verdicts, and the verdicts.

    The folder is a local one or any fsspec URL, whose verdicts are copied until the context ends.
    With `partial` an unfinished run is accepted.
    """
    from syncaudit.batch import fetched_verdicts

    with fetched_verdicts(out, partial=partial) as verdicts:
        yield _clips_of(out, verdicts), verdicts


def _clips_of(out: str, verdicts: VerdictFile) -> Sequence[Clip]:
    from syncaudit.batch.outputs import SPLIT_FILES
    from syncaudit.datasets import ClipTable, iter_manifest
    from syncaudit.readers.access import is_url
    from syncaudit.readers.uris import resolve

    url = resolve(out) if is_url(resolve(out)) else None
    folder = verdicts.path.parent
    table = ClipTable(
        clip
        for name in SPLIT_FILES.values()
        if (path := _filled(folder, url, name)) is not None
        for clip in iter_manifest(path)
    )
    place = {clip.clip_id: k for k, clip in enumerate(table)}
    missing = [clip_id for clip_id in verdicts.clip_ids if clip_id not in place]
    if missing:
        raise UsageError(
            f"the manifest row of clip '{missing[0]}' is missing",
            path=str(folder),
            hint=f"{', '.join(SPLIT_FILES.values())} must lie beside the verdicts.",
        )
    return ClipTable(table[place[clip_id]] for clip_id in verdicts.clip_ids)


def _filled(folder: Path, url: str | None, name: str) -> str | None:
    """Return the path of a manifest; None if it is missing or empty."""
    if url is None:
        path = folder / name
        return str(path) if path.exists() and path.stat().st_size else None
    from syncaudit.readers.access import file_system
    from syncaudit.readers.faults import reworded

    uri = f"{url.rstrip('/')}/{name}"
    with reworded(uri):
        system, place = file_system(uri)
        return uri if system.exists(place) and system.size(place) else None
