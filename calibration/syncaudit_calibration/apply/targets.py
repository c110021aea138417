"""Choose where to write corrected files: under safe names, never over the originals."""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from syncaudit.errors import UsageError
from syncaudit.model import Clip
from syncaudit.readers.access import is_url
from syncaudit.readers.uris import local_path, resolve
from syncaudit.writing import Signature, is_ours

_LONGEST = 120  # bytes; file systems take 255, and endings follow
# Names that mean a device on Windows.
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
)
MANIFEST = "manifest.jsonl"
RECORD = "corrections.jsonl"
_CURE = "Name another folder: --out DIR."


def check_target(
    out: Path,
    clips: Iterable[Clip],
    folders: set[str],
    inputs: Sequence[str],
    *,
    record: str = RECORD,
    command: str = "apply",
) -> None:
    """Refuse a folder in which files not written by an earlier run would be overwritten.

    Neither the files of `clips` nor `inputs` are changed. `folders` are the names of the folders of
    clips in `out`, `record` the file that identifies the folder of an earlier run of `command`.
    UsageError if there is a conflict; the message names it.
    """
    if is_url(str(out)) or ":/" in str(out):
        raise UsageError(
            f"--out is '{out}', expected a local folder",
            hint="Write to a local folder and copy it from there.",
        )
    if out.exists() and not out.is_dir():
        raise _taken(out, "is not a folder")
    home = os.path.realpath(out)
    written = {MANIFEST, record, *folders}
    for path in _originals(clips, inputs):
        inside = Path(os.path.relpath(path, home))
        if inside.parts[:1] and inside.parts[0] in written:
            raise _taken(out, f"{path} is an original and would be overwritten")
    for name in sorted(written):
        if (out / name).is_symlink():
            raise _taken(out, f"'{name}' is a symbolic link, which is not followed")
    if is_ours(out / record, Signature.CLIPS):
        return  # an earlier run wrote the rest
    for name in sorted(written):
        found = out / name
        if found.is_dir() and not any(found.iterdir()):
            continue
        if found.exists():
            raise _taken(
                out, f"'{name}' already exists and is not from an earlier 'syncaudit {command}'"
            )


def _taken(out: Path, what: str) -> UsageError:
    return UsageError(what, path=str(out), hint=_CURE)


def _originals(clips: Iterable[Clip], inputs: Sequence[str]) -> Iterator[str]:
    """Yield the real paths of local files (and of the folders of globs) that are read."""
    found: dict[str, None] = {}
    for uri in inputs:
        place = resolve(uri)
        is_folder = not is_url(place) and Path(place).is_dir()
        found[str(Path(place) / MANIFEST) if is_folder else place] = None
    for clip in clips:
        for spec in clip.sources.values():
            for key in ("uri", "timestamps", "dbc", "arrivals"):
                named = getattr(spec, key, None)
                if named is not None:
                    found[resolve(named.rpartition("::")[2], clip.base_uri)] = None
    folders: dict[str, str] = {}
    for place in found:
        path = local_path(place)
        if path is None:
            continue
        folder = str(path.parent)
        if folder not in folders:
            folders[folder] = os.path.realpath(folder)
        yield os.path.join(folders[folder], path.name)  # noqa: PTH118  # ".." was resolved
        if path.is_symlink():
            yield os.path.realpath(path)


def file_names(
    names: Iterable[str], *, plain: str = "._-", reserved: Iterable[str] = ()
) -> dict[str, str]:
    """Return a file name for every name.

    A name of letters and digits stays unchanged. If anything had to change, or two names differ
    only in case, a digest of the name is appended, so that a name's file does not depend on the
    other names.

    `names`: distinct names. `plain`: characters that are kept besides letters and digits.
    `reserved`: file names that are taken.
    """
    drafts = {name: _draft(name, plain) for name in names}
    counts = Counter(draft.casefold() for name, draft in drafts.items() if draft == name)
    taken = {name.casefold() for name in reserved}
    found: dict[str, str] = {}
    for name, draft in drafts.items():
        is_free = not {draft.casefold(), draft.split(".")[0].casefold()} & (taken | _DEVICES)
        if is_free and draft == name and counts[name.casefold()] == 1:
            found[name] = name
    used = taken | {name.casefold() for name in found}
    for name, draft in drafts.items():
        if name in found:
            continue
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        file = f"{draft}-{digest[:8]}"
        while file.casefold() in used:  # only if names are chosen to collide
            file += "_"
        used.add(file.casefold())
        found[name] = file
    return found


def _draft(name: str, plain: str) -> str:
    text = unicodedata.normalize("NFC", name)
    text = "".join(char if char.isalnum() or char in plain else "_" for char in text)
    text = text.encode("utf-8", "replace")[:_LONGEST].decode("utf-8", "ignore")
    return text.strip(".") or "_"
