"""Write drafts that become files atomically: new, randomly named, never through a link."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import IO

_ENDING = ".part"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DRAFT = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{16}\.part", re.DOTALL)
# A name may take 255 bytes; dots, 16 digits and the suffix are added to it.
_MOST_NAME_BYTES = 200


@contextmanager
def replacing(target: Path, *, is_durable: bool = False) -> Iterator[IO[bytes]]:
    """Open a draft that replaces `target` on success.

    The draft is a new file with a random name beside it (``O_EXCL``, ``O_NOFOLLOW``): no link can
    have been planted there. A link at `target` itself is replaced, not followed. With `is_durable`
    it also waits until file and name are on the disk.
    """
    with _placed(target, is_durable=is_durable) as (_, handle), os.fdopen(handle, "wb") as file:
        yield file
        file.flush()
        if is_durable:
            os.fsync(file.fileno())


@contextmanager
def draft_of(target: Path) -> Iterator[Path]:
    """Yield the path of an empty draft for libraries that open files by name; see `replacing`."""
    with _placed(target) as (draft, handle):
        os.close(handle)
        yield draft


@contextmanager
def replacing_text(target: Path) -> Iterator[TextIOWrapper]:
    """Open a draft as UTF-8 text with plain newlines; see `replacing`."""
    with (
        draft_of(target) as draft,
        draft.open("w", encoding="utf-8", newline="\n") as file,
    ):
        yield file


def replace_text(target: Path, text: str, *, is_durable: bool = False) -> None:
    """Replace a file by text, as UTF-8 with unchanged newlines."""
    with replacing(target, is_durable=is_durable) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def copy_file(source: Path, target: Path) -> None:
    """Replace a file by a copy of another one."""
    with source.open("rb") as file, replacing(target) as copy:
        shutil.copyfileobj(file, copy)


def write_new(target: Path, data: bytes) -> None:
    """Write a file that must not exist yet; FileExistsError also for a dangling link."""
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)


def append_line(target: Path, text: str) -> None:
    """Append text to one of our logs; a link is not followed, but raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    with os.fdopen(os.open(target, flags, 0o666), "wb") as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def sweep_drafts(folder: Path, names: Container[str] | None = None) -> None:
    """Remove drafts left by a killed run, all or those of some files.

    No other process may be writing them.
    """
    for path in folder.iterdir():
        match = _DRAFT.fullmatch(path.name)
        if match is not None and (names is None or match["name"] in names):
            with suppress(OSError):
                path.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, if the file system supports it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def create_draft(target: Path) -> tuple[Path, int]:
    """Return the path and the open handle of a new draft; the caller replaces or removes it."""
    name = os.fsdecode(os.fsencode(target.name)[:_MOST_NAME_BYTES])
    draft = target.with_name(f".{name}.{secrets.token_hex(8)}{_ENDING}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    return draft, os.open(draft, flags, 0o666)


@contextmanager
def _placed(target: Path, *, is_durable: bool = False) -> Iterator[tuple[Path, int]]:
    """Yield a new draft and its handle; it replaces `target` on success."""
    draft, handle = create_draft(target)
    try:
        with naming_full(target):
            yield draft, handle
            draft.replace(target)
    except BaseException:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
    if is_durable:
        sync_folder(target.parent)


@contextmanager
def naming_full(target: Path) -> Iterator[None]:
    """Add the file name to errors of a full disk, which the system omits."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in _FULL:
            error.filename = str(target)
        raise
