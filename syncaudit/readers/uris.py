"""Resolve and fetch what a manifest's URIs name: local files, members of tar archives, URLs.

Local or remote folders and globs are listed, and files identified by name.
"""

from __future__ import annotations

import atexit
import glob
import hashlib
import io
import os
import posixpath
import re
import shutil
import stat
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from syncaudit.errors import StreamReadError, SyncAuditError
from syncaudit.readers.access import file_system, is_outside, is_url, open_remote, refuse_outside
from syncaudit.readers.faults import reworded

FILE_KEYS = ("uri", "timestamps", "dbc", "arrivals")
"""Keys of a source that name files (formats, section 2)."""

_CHUNK = 1 << 22
# Git leaves this in place of a large file that was not fetched (github.com/git-lfs/git-lfs,
# docs/spec.md: text of less than 1,024 bytes that begins with the version).
_POINTER = b"version https://git-lfs.github.com/spec/"
_POINTER_BYTES = 1024
_SCHEME = "tar://"

IMAGES = frozenset(
    {".bmp", ".jp2", ".jpe", ".jpeg", ".jpg", ".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff"}
    | {".webp"}
)
_MARKS = frozenset("*?[")
# Copies of remote files that this process keeps, each with its URI, and those lately used.
_KEPT: dict[Path, str] = {}
_USED: set[Path] = set()


def resolve(uri: str, base_uri: str = "") -> str:
    """Return `uri` as a local path or URL that does not depend on the manifest's location.

    In a chained URL (``tar://cam.mp4::shard.tar``) the last part may be relative; `base_uri` is the
    folder of the manifest, "" the working folder.
    """
    if "::" in uri:
        head, _, last = uri.rpartition("::")
        return f"{head}::{resolve(last, base_uri)}"
    if uri.startswith("file://"):
        return "/" + uri.removeprefix("file://").removeprefix("localhost").lstrip("/")
    if is_url(uri) or uri.startswith("/") or not base_uri:
        return uri
    if is_url(base_uri):
        first, *rest = base_uri.split("::")
        scheme, _, folder = first.partition("://")
        path = posixpath.normpath(f"{folder.rstrip('/')}/{uri}" if folder else uri)
        return "::".join([f"{scheme}://{path}", *rest])
    path = f"{base_uri}/{uri}"
    # Skip pathlib, a microsecond per file, where it would change nothing.
    is_tidy = path[0] == "/" and path[-1] != "/" and "//" not in path and "/." not in path
    return path if is_tidy else str(Path(base_uri) / uri)


def files_named(spec: object, base_uri: str = "") -> dict[str, str]:
    """Return the resolved files that a manifest's source names, by key."""
    named = ((key, getattr(spec, key, None)) for key in FILE_KEYS)
    return {key: resolve(str(uri), base_uri) for key, uri in named if uri}


def parent_of(uri: str) -> str:
    """Return the folder that holds `uri`; absolute if it is local."""
    if not is_url(uri) or uri.startswith("file://"):
        return str(Path(resolve(uri)).absolute().parent)
    first, *rest = uri.split("::")
    scheme, _, path = first.partition("://")
    return "::".join([f"{scheme}://{posixpath.dirname(path)}", *rest])


def local_path(uri: str) -> Path | None:
    """Return the local path that a resolved `uri` names, or None if it is remote."""
    return None if is_url(uri) else Path(uri)


def read_bytes(uri: str) -> bytes:
    """Return the content of a resolved `uri`; missing and empty files have own error codes."""
    refuse_outside(uri)
    with reworded(uri):
        path = local_path(uri)
        if path is not None:
            # Some system files that report 0 bytes block their reader.
            data = path.read_bytes() if _size_of_file(uri) else b""
        else:
            with _opened(uri) as file:
                data = bytes(file.read())
    if not data:
        raise _empty(uri)
    _refuse_pointer(uri, data[:_POINTER_BYTES])
    return data


def holds_data(uri: str) -> bool:
    """Return whether a resolved `uri` is a local file too large to be a Git LFS pointer.

    One system call covers nearly every source, where checking each fault takes several. The others
    are left to `check_file`.
    """
    try:
        status = os.stat(uri)  # noqa: PTH116  # for every file of every clip
    except (OSError, ValueError):
        return False
    is_file = stat.S_ISREG(status.st_mode) and status.st_size >= _POINTER_BYTES
    return is_file and not is_url(uri) and not is_outside(uri)


def check_file(uri: str) -> None:
    """Reject a resolved local `uri` that is missing, empty, a pointer or not a regular file.

    Remote files are not checked.
    """
    refuse_outside(uri)
    if is_url(uri):
        return
    with reworded(uri):
        size = _size_of_file(uri)
    if size == 0:
        raise _empty(uri)


@contextmanager
def open_file(uri: str) -> Iterator[BinaryIO]:
    """Open a resolved `uri` for reading parts of it."""
    check_file(uri)
    with reworded(uri):
        path = local_path(uri)
        opened = _opened(uri) if path is None else path.open("rb")
    with opened:
        yield opened


@contextmanager
def local_file(uri: str, scratch: Path | None = None) -> Iterator[Path]:
    """Yield a local path with the content of `uri`; a remote copy is removed afterwards.

    With `scratch`, copies are kept there and the caller removes it.
    """
    path = local_path(uri)
    if path is not None:
        check_file(uri)
        yield path
    elif scratch is not None:
        yield keep_local(uri, scratch)
    else:
        with tempfile.TemporaryDirectory(prefix="syncaudit-") as folder:
            copy = keep_local(uri, Path(folder))
            try:
                yield copy
            except SyncAuditError as error:
                error.path = error.path and error.path.replace(str(copy), uri)
                raise


def keep_local(uri: str, scratch: Path | None = None) -> Path:
    """Return a local path with the content of `uri`, copied if it is remote.

    The copy lies in `scratch`; without it, in a folder of this process, until
    `remove_unused_copies` or the end of the process.
    """
    path = local_path(uri)
    if path is not None:
        check_file(uri)
        return path
    refuse_outside(uri)
    if scratch is not None:
        return _copied(uri, scratch)
    copy = _copied(uri, _process_scratch())
    _KEPT[copy] = uri
    _USED.add(copy)
    return copy


def remove_unused_copies() -> None:
    """Remove the copies that this process keeps and did not use since the last call."""
    for copy in _KEPT.keys() - _USED:
        copy.unlink(missing_ok=True)
        del _KEPT[copy]
    _USED.clear()


@cache
def _process_scratch() -> Path:
    """Return a folder that lives until the process ends."""
    folder = tempfile.TemporaryDirectory(prefix="syncaudit-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


def _copied(uri: str, scratch: Path) -> Path:
    name = posixpath.basename(uri.split("::")[0].split("?")[0].rstrip("/")) or "file"
    digest = hashlib.sha256(uri.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    target = scratch / f"{digest}-{name[-80:]}"
    if target.exists():
        return target
    part = target.with_name(target.name + f".{os.getpid()}.part")
    scratch.mkdir(parents=True, exist_ok=True)
    with reworded(uri), _opened(uri) as source, part.open("wb") as copy:
        shutil.copyfileobj(source, copy, _CHUNK)
    if part.stat().st_size == 0:
        part.unlink()
        raise _empty(uri)
    if part.stat().st_size < _POINTER_BYTES:
        try:
            _refuse_pointer(uri, part.read_bytes())
        except StreamReadError:
            part.unlink()
            raise
    part.replace(target)
    return target


def name_originals(text: str) -> str:
    """Return a message about copies that this process keeps, with their URIs instead."""
    for copy, uri in _KEPT.items():
        text = text.replace(str(copy), uri)
    return text


def _opened(uri: str) -> BinaryIO:
    """Open a remote file, or a member of a local archive, which must be there as a whole."""
    member = _find_member(uri)
    if member is None:
        return open_remote(uri)
    archive, offset, size = member
    with archive.open("rb") as file:
        file.seek(offset)
        data = file.read(size)
    if len(data) < size:
        raise StreamReadError(
            f"the archive is cut off within it ({len(data)} of {size} bytes are there)",
            code="corrupt",
            path=uri,
            hint="Copy the archive again.",
        )
    return io.BytesIO(data)


def _size_of_file(path: str) -> int:
    """Return the size in bytes; reject folders, and pipes and devices, which may never end."""
    status = os.stat(path)  # noqa: PTH116  # for every file of every clip
    if stat.S_ISDIR(status.st_mode):
        raise StreamReadError(
            "is a folder, expected a file",
            path=path,
            hint="Name the file itself in the manifest.",
        )
    if not stat.S_ISREG(status.st_mode):
        raise StreamReadError("is not a regular file", path=path, hint="Copy the data into a file.")
    if 0 < status.st_size < _POINTER_BYTES:
        with open(path, "rb") as file:  # noqa: PTH123  # as os.stat above
            _refuse_pointer(path, file.read())
    return status.st_size


def _refuse_pointer(uri: str, content: bytes) -> None:
    if content.startswith(_POINTER):
        raise StreamReadError(
            "is a Git LFS pointer: the file that it stands for was not downloaded",
            code="missing_file",
            path=uri,
            hint="Run 'git lfs pull' in the folder of the data set.",
        )


def _empty(uri: str) -> StreamReadError:
    return StreamReadError(
        "the file is empty (0 bytes)",
        code="empty",
        path=uri,
        hint="Copy it again from the recorder, or leave the source out of the manifest.",
    )


def _find_member(uri: str) -> tuple[Path, int, int] | None:
    """Return archive, offset and size of the member that ``tar://name::/path/shard.tar`` names.

    None leaves the URI to fsspec: it does not name a plain local archive or a member of one.
    """
    head, _, last = uri.partition("::")
    if not head.startswith(_SCHEME) or "::" in last or "://" in last or not last:
        return None
    path = Path(last)
    try:
        status = path.stat()
        found = _index(last, status.st_size, status.st_mtime_ns).get(head.removeprefix(_SCHEME))
    except (OSError, tarfile.TarError):
        return None
    return None if found is None else (path, *found)


@lru_cache(maxsize=8)
def _index(path: str, size: int, mtime_ns: int) -> MappingProxyType[str, tuple[int, int]]:  # noqa: ARG001  # a changed archive has a new index
    """Return offset and size of members, which may be thousands: each archive is read once."""
    places: dict[str, tuple[int, int]] = {}
    with tarfile.open(path, "r:") as archive:
        try:
            for member in archive:
                if member.isreg() and not member.issparse():
                    places[member.name] = (member.offset_data, member.size)
        except tarfile.TarError:
            pass  # truncated: the members before the cut can still be read
    return MappingProxyType(places)


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
        if _find_member(uri) is not None:
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
