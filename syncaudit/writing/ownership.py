"""Distinguish files that syncaudit wrote from others, and refuse to overwrite the latter.

Some files carry a mark inside (`Signature`). For those that cannot (manifests, tables), a hidden
file beside them keeps the SHA-256 of what was written: a file edited since is the user's.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import Enum
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from syncaudit.errors import UsageError
from syncaudit.writing.drafts import append_line, replacing

# Marks are at the front, but in films they follow the tables of all frames.
HEAD_BYTES = 1 << 20
_NOTES = ".syncaudit-files"
_FORCE = "Name another, or allow it with --force."


def _holds(*marks: bytes) -> Callable[[bytes], bool]:
    return lambda head: any(mark in head for mark in marks)


def _object_with(*keys: str) -> Callable[[bytes], bool]:
    """Return a test for the beginning of a JSON object, which must contain these keys."""
    names = [re.compile(rb'"%s"\s*:' % key.encode()) for key in keys]
    return lambda head: head.lstrip()[:1] == b"{" and all(name.search(head) for name in names)


def _rows_with(*keys: str) -> Callable[[bytes], bool]:
    """Return a test for files whose first JSON line is an object with these keys."""

    def has(head: bytes) -> bool:
        line, newline, _ = head.partition(b"\n")
        row = _parsed(line)
        if row is None and not newline:  # cut off by a full disk, or longer than the part read
            return _object_with(*keys)(line)
        return isinstance(row, dict) and all(key in row for key in keys)

    return has


def _any_of(*kinds: Callable[[bytes], bool]) -> Callable[[bytes], bool]:
    return lambda head: any(kind(head) for kind in kinds)


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


class Signature(Enum):
    """Kinds of files that carry a mark of syncaudit."""

    REPORT = (_holds(b'name="generator" content="syncaudit', b"<title>syncaudit"),)
    JUNIT = (_holds(b'<testsuites name="syncaudit"'),)
    MARKDOWN = (lambda head: head.startswith(b"<!-- syncaudit -->"),)
    SARIF = (_holds(b'"name": "syncaudit"', b'"name":"syncaudit"'),)
    SUMMARY = (_object_with("version", "complete", "clips"),)
    KEEP = (_any_of(_object_with("dataset", "keep"), _object_with("datasets")),)
    CLIPS = (_rows_with("clip_id"),)
    VERDICTS = (_rows_with("clip_id", "verdict"),)
    POOLED = (_rows_with("digest", "row"),)
    LOG = (_holds(b", syncaudit "),)
    EMPTY = (lambda head: not head,)
    MANIFEST = (_rows_with("clip_id", "sources"),)
    RECORDINGS = (_rows_with("recording_id", "clocks"),)
    CHANGES = (_rows_with("clip_id", "before", "after"),)
    CALIBRATION = (_object_with("version", "reference", "sources"),)
    BASELINE = (_holds(b"by 'syncaudit baseline'"),)
    TUNED = (_holds(b"by 'syncaudit tune'"),)
    LEAKS = (_holds(b"# by 'syncaudit check-split'"),)
    TRAIN = (lambda head: head.startswith(b"start_s,width_s\n"),)
    PLAN = (_holds(b"syncaudit flash-plan"),)
    PLOT = (_holds(b"Software\0syncaudit"),)
    MCAP = (lambda head: head[:5] == b"\x89MCAP" and b"syncaudit" in head[:64],)
    RERUN = (lambda head: head[:3] == b"RRF" and b"syncaudit" in head[:256],)
    PARQUET = (lambda head: head[:4] == b"PAR1",)

    def fits(self, head: bytes) -> bool:
        """Return whether the first bytes of a file match this kind."""
        return bool(self.value[0](head))


def is_ours(path: Path, signature: Signature | None = None) -> bool:
    """Return whether syncaudit wrote a regular file; an empty file counts as ours.

    It must carry the signature; if none is given or it is missing, the noted digest of the file
    decides. Links are not followed.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return False
        if status.st_size == 0:
            return True
        if signature is not None and signature.fits(file.read(HEAD_BYTES)):
            return True
        noted = _noted(path)
        if noted is None:
            return False
        file.seek(0)
        return noted == hashlib.file_digest(file, "sha256").hexdigest()


def refuse_foreign(
    path: Path, signature: Signature | None = None, *, is_forced: bool = False
) -> None:
    """Refuse to overwrite a file that syncaudit did not write (`is_ours`).

    With `is_forced` the user allows it (``--force``): links are replaced then, not followed.
    Folders, pipes and devices are refused in any case.
    """
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise UsageError(
            f"cannot be inspected: {error.strerror}", path=str(path), hint="Name another file."
        ) from error
    if stat.S_ISLNK(mode):
        if not is_forced:
            raise UsageError(
                "is a symbolic link, which is not followed",
                path=str(path),
                hint="Remove it, or replace the link itself with --force.",
            )
        return
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        raise UsageError(
            f"cannot be written: it is {what}", path=str(path), hint="Name another file."
        )
    if not is_forced and not is_ours(path, signature):
        raise UsageError(
            "exists, and syncaudit did not write it (or it was edited)",
            path=str(path),
            hint=_cure(path),
        )


def _cure(path: Path) -> str:
    """Return what to do about a file that is not recognised as ours."""
    if _noted(path) is not None:
        return f"It was changed since: save your changes elsewhere. {_FORCE}"
    with suppress(OSError), path.open("rb") as file:
        if Signature.MANIFEST.fits(file.read(HEAD_BYTES)):
            return (
                f"It is a manifest without a record of its origin in '{_NOTES}': yours, or one "
                "that an older version of syncaudit imported. If so, overwrite it with --force; "
                "from then on its origin is known. Otherwise name another file."
            )
    return _FORCE


def check_target(
    path: Path, signature: Signature | None = None, *, is_forced: bool = False
) -> None:
    """Create the folder of an output and refuse to overwrite files that others wrote.

    Commands call it before they start, so that no work is wasted.
    """
    make_parent(path)
    refuse_foreign(path, signature, is_forced=is_forced)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise UsageError(
            "cannot be written: no permission in its folder",
            path=str(path),
            hint="Name another file.",
        )


def remove_ours(path: Path, signature: Signature | None = None) -> None:
    """Remove a file if syncaudit wrote it; keep it otherwise."""
    if path.is_file() and not path.is_symlink() and is_ours(path, signature):
        path.unlink(missing_ok=True)


def note_written(path: Path) -> None:
    """Record the SHA-256 of a file just written, so that it may be overwritten later.

    The notes are lines in ``sha256sum`` format; the last one for a name counts.
    """
    with path.open("rb") as file:
        line = f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.name}\n"
    with suppress(OSError):  # without a note the file counts as foreign, so it is not lost
        append_line(path.parent / _NOTES, line)


def claim_folder(folder: Path, marker: str, *, is_forced: bool = False) -> None:
    """Create a folder that only one command fills, or refuse one with files that others wrote.

    It is new, empty, or from an earlier run of the same command, as shown by the hidden file
    `marker`. With `is_forced` the user allows writing into any folder.
    """
    make_parent(folder / marker)
    refuse_strange_folder(folder, marker, is_forced=is_forced)
    with replacing(folder / marker) as file:
        file.write(b"")


def refuse_strange_folder(folder: Path, marker: str, *, is_forced: bool = False) -> None:
    """Refuse a folder that is not empty and lacks the marker of folders that syncaudit fills.

    A link or a file in its place is also refused.
    """
    if not os.path.lexists(folder) or is_forced:
        return
    if not folder.is_dir():
        raise UsageError("is not a folder", path=str(folder), hint=_FORCE)
    names = {path.name for path in folder.iterdir()}
    if names and marker not in names:
        raise UsageError(
            f"the folder holds files that this command did not write ('{min(names)}')",
            path=str(folder),
            hint=_FORCE,
        )


def make_parent(path: Path) -> None:
    """Create the folder of a file; refuse an empty file name."""
    if not path.name:
        raise UsageError("the name of the output is empty", hint="Name a file or folder.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot be written: its folder cannot be created ({error.strerror})",
            path=str(path),
            hint="Choose another path with --out.",
        ) from error


def _noted(path: Path) -> str | None:
    place = path.parent / _NOTES
    try:
        status = place.lstat()
        notes = _notes(place, status.st_mtime_ns, status.st_size)
    except OSError:
        return None
    return notes.get(path.name)


@lru_cache(maxsize=4)
def _notes(place: Path, _mtime_ns: int, _size: int) -> Mapping[str, str]:
    """Return digests by name; read again when the file has changed."""
    handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, encoding="utf-8", errors="replace") as file:
        parts = (line.rstrip("\n").partition("  ") for line in file)
        return MappingProxyType({name: digest for digest, _, name in parts})
