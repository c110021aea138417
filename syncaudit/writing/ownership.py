"""Tell what syncaudit wrote from what others did, and refuse to write over the latter.

Some files carry a mark inside (`Signature`). Of those that cannot (manifests, tables), a hidden
file beside them keeps the SHA-256 of what was written: one that was edited since is the user's.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from syncaudit.errors import UsageError
from syncaudit.writing.drafts import replacing
from syncaudit.writing.signatures import HEAD_BYTES, Signature

__all__ = [
    "check_target",
    "claim_folder",
    "is_ours",
    "make_parent",
    "note_written",
    "refuse_foreign",
    "remove_ours",
]

_NOTES = ".syncaudit-files.json"
_CHUNK = 1 << 20
_FORCE = "Name another, or allow it with --force."


def is_ours(path: Path, signature: Signature | None = None) -> bool:
    """Return whether a regular file is one that syncaudit wrote; an empty one holds nothing.

    Parameters
    ----------
    path : Path
        An existing file; links are not followed.
    signature : Signature, optional
        The mark that it must carry; None, or one that is missing: what was noted of it counts.
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
        noted = _notes(path.parent).get(path.name)
        if noted is None:
            return False
        file.seek(0)
        digest = hashlib.sha256()
        while data := file.read(_CHUNK):
            digest.update(data)
    return noted == digest.hexdigest()


def refuse_foreign(
    path: Path, signature: Signature | None = None, *, is_forced: bool = False
) -> None:
    """Refuse to write a file whose place holds what syncaudit did not write.

    Parameters
    ----------
    path : Path
        File to write.
    signature : Signature, optional
        As for `is_ours`.
    is_forced : bool
        The user allows it (``--force``): links are replaced then, not followed.

    Raises
    ------
    UsageError
        Naming the file; of folders, pipes and devices in any case.
    """
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise UsageError(
            f"cannot be looked at: {error.strerror}", path=str(path), hint="Name another file."
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
        what = "a folder" if stat.S_ISDIR(mode) else "no regular file"
        raise UsageError(
            f"cannot be written: it is {what}", path=str(path), hint="Name another file."
        )
    if not is_forced and not is_ours(path, signature):
        raise UsageError(
            "exists, and syncaudit did not write it as it is", path=str(path), hint=_FORCE
        )


def check_target(
    path: Path, signature: Signature | None = None, *, is_forced: bool = False
) -> None:
    """Make the folder of an output and refuse to write over what others wrote.

    Commands call it before they work, so that nothing is computed in vain.

    Raises
    ------
    UsageError
        As `make_parent` and `refuse_foreign`, or if the folder cannot be written to.
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
    """Remove a file if syncaudit wrote it; what others wrote stays."""
    if path.is_file() and not path.is_symlink() and is_ours(path, signature):
        path.unlink(missing_ok=True)


def note_written(path: Path) -> None:
    """Keep the SHA-256 of a file just written, so that it may be written anew."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            digest.update(data)
    kept = {name: value for name, value in _notes(path.parent).items() if _exists(path, name)}
    kept[path.name] = digest.hexdigest()
    text = json.dumps({"written by syncaudit (SHA-256)": kept}, indent=1, sort_keys=True)
    with suppress(OSError), replacing(path.parent / _NOTES) as file:
        file.write(f"{text}\n".encode("utf-8", "backslashreplace"))


def claim_folder(folder: Path, marker: str, *, is_forced: bool = False) -> None:
    """Make a folder that a command fills alone, or refuse one that holds what others wrote.

    Parameters
    ----------
    folder : Path
        New, empty, or of an earlier run of the same command.
    marker : str
        Hidden file by which it shows that.
    is_forced : bool
        The user allows to write into any folder.

    Raises
    ------
    UsageError
        If it holds anything else, is a file, or cannot be made.
    """
    make_parent(folder / marker)
    with suppress(FileNotFoundError):
        if is_forced:
            (folder / marker).unlink()
    names = {path.name for path in folder.iterdir()}
    if names and marker not in names and not is_forced:
        raise UsageError(
            f"the folder holds what this command did not write ('{min(names)}')",
            path=str(folder),
            hint=_FORCE,
        )
    refuse_foreign(folder / marker, is_forced=is_forced or is_ours(folder / marker))
    with replacing(folder / marker) as file:
        file.write(b"")


def make_parent(path: Path) -> None:
    """Make the folder that a file goes into.

    Raises
    ------
    UsageError
        If it cannot be made, or the path is empty.
    """
    if not path.name:
        raise UsageError("the name of the output is empty", hint="Name a file or folder.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"the folder cannot be made: {error.strerror}",
            path=str(path.parent),
            hint="Choose another place with --out.",
        ) from error


def _exists(path: Path, name: str) -> bool:
    return os.path.lexists(path.parent / name)


def _notes(folder: Path) -> Mapping[str, str]:
    try:
        handle = os.open(folder / _NOTES, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            content = json.loads(file.read(_CHUNK * 64))
        (kept,) = content.values()
        return {str(name): str(value) for name, value in kept.items()}
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        return {}
