"""Decide which files may be accessed, and access file systems through fsspec.

Manifests and data sets may be untrusted, and name any file that the user can read: a process can be
held to some folders, only some protocols are allowed, and every answer has a timeout. No other
module asks fsspec for a file system.
"""

from __future__ import annotations

import errno
import io
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, BinaryIO, TypeVar, cast

from syncaudit.errors import StreamReadError
from syncaudit.limits import REMOTE_BYTES_PER_S, REMOTE_TRIES, REMOTE_WAIT_S
from syncaudit.machine_faults import machine_fault, may_pass

# Set for the duration of one audit, so that nested readers (tables that name images) are
# restricted as well; None trusts every location.
_ROOTS: ContextVar[Roots | None] = ContextVar("roots", default=None)

# For multi-threaded applications, whose threads do not inherit contexts.
_PROCESS: list[Roots] = []

PROTOCOLS = frozenset(
    {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oci", "oss", "hf", "http", "https"}
    | {"memory", "tar", "zip"}
)
"""Stores and archives that may be named. Others run programs, contact hosts of the local network
or read further files by themselves (``reference``, ``simplecache``, ``webhdfs``, ``ssh``)."""

_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.\-]*://")
_VERSION_KEYS = (
    *("size", "ETag", "etag", "mtime", "LastModified", "last_modified", "md5Hash", "created"),
)
_VARIABLE = "SYNCAUDIT_PROTOCOLS"

_Answer = TypeVar("_Answer")

# Stores that timed out in this process.
_SILENT: set[str] = set()
# Shorter timeout for a store that timed out before: a run has thousands of files.
_SILENT_WAIT_S = 2.0
_BACK_OFF_S = 0.5
_BUFFER_BYTES = 1 << 20


class RefusedError(StreamReadError):
    """A file that a manifest names was not opened; none of it was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roots:
    """Locations of trusted data."""

    places: tuple[str, ...]  # local folders and URLs of folders
    is_strict: bool = False  # refuse files elsewhere; otherwise read them without quoting content

    def hold(self, uri: str) -> bool:
        """Return whether a resolved path or URL lies in one of `places`; links are followed."""
        last = uri.rpartition("::")[2]
        if "://" in last:
            known = ("/".join((place.rstrip("/"), "")) for place in self.places if "://" in place)
            return ".." not in last.split("/") and any(last.startswith(place) for place in known)
        real = os.path.realpath(last)
        known = (os.path.realpath(place) for place in self.places if "://" not in place)
        return any(real == place or real.startswith(place.rstrip("/") + "/") for place in known)


def hold_process_to(roots: Roots) -> None:
    """Restrict all reads of this process, in every thread, to `roots`; call before any read."""
    _PROCESS[:] = [roots]


def process_roots() -> Roots | None:
    """Return the roots of this process, to pass them to a child process."""
    return _PROCESS[0] if _PROCESS else None


def _roots_now() -> Roots | None:
    found = _ROOTS.get()
    return process_roots() if found is None else found


@contextmanager
def within_roots(roots: Roots | None) -> Iterator[None]:
    """Restrict all reads to `roots`."""
    token = _ROOTS.set(roots)
    try:
        yield
    finally:
        _ROOTS.reset(token)


def is_outside(uri: str) -> bool:
    """Return whether a resolved path or URL lies outside the roots in force."""
    roots = _roots_now()
    return roots is not None and not roots.hold(uri)


def treated_apart(uris: Iterable[str]) -> list[str]:
    """Return how files outside the roots are treated, and which ones; empty if there are none.

    Suited to many files: each folder is checked once.
    """
    roots = _roots_now()
    if roots is None:
        return []
    outside = [uri for uri in uris if not _held_by_folder(roots, uri)]
    return ["refused" if roots.is_strict else "unquoted", *sorted(outside)] if outside else []


def _held_by_folder(roots: Roots, uri: str) -> bool:
    if "://" in uri or os.path.islink(uri):  # noqa: PTH114  # for every file of every clip
        return roots.hold(uri)
    return _holds_folder(roots, uri.rpartition("/")[0] or "/")


@lru_cache(maxsize=1 << 12)
def _holds_folder(roots: Roots, folder: str) -> bool:
    return roots.hold(folder)


def refuse_outside(uri: str) -> None:
    """Refuse a resolved path or URL outside strict roots."""
    roots = _roots_now()
    if roots is not None and roots.is_strict and not roots.hold(uri):
        raise RefusedError(
            f"lies outside of {', '.join(roots.places)} and is not opened",
            code="manifest",
            path=uri,
            hint="If you trust who wrote the manifest, name its folder with --root.",
        )


def is_url(uri: str) -> bool:
    """Return whether `uri` is an fsspec URL (``s3://``, ``memory://``, ``tar://a::b.tar``)."""
    return "::" in uri or ("://" in uri and _SCHEME.match(uri) is not None)


def file_system(uri: str) -> tuple[Any, str]:
    """Return (file system, path in it) of a URL.

    RefusedError if a protocol is neither in `PROTOCOLS` nor in the environment variable
    ``SYNCAUDIT_PROTOCOLS``.
    """
    _refuse_foreign(uri)
    return output_system(uri)


def output_system(uri: str) -> tuple[Any, str]:
    """Return (file system, path in it) of an output URL given by the user, of any protocol."""
    import fsspec

    system, inner = _answered(uri, lambda: fsspec.core.url_to_fs(uri))
    return _PatientSystem(system, uri), str(inner)


def remote_version(info: Mapping[str, object]) -> dict[str, str]:
    """Return the entries of `fsspec`'s file information that change when the file changes."""
    return {key: str(info[key]) for key in _VERSION_KEYS if info.get(key) is not None}


def open_remote(uri: str) -> BinaryIO:
    """Open a URL for reading; raises like `file_system`."""
    _refuse_foreign(uri)
    import fsspec

    file = _answered(uri, lambda: fsspec.open(uri, "rb").open())
    return cast(BinaryIO, io.BufferedReader(_PatientFile(file, uri), _BUFFER_BYTES))


class _PatientSystem:
    """A file system with a timeout for every operation."""

    def __init__(self, system: Any, uri: str) -> None:
        self._system, self._uri = system, uri

    def put_file(self, source: str, place: str) -> None:
        """Send a local file, with a timeout that allows for its size."""
        self._move(os.stat(source).st_size, lambda: self._system.put_file(source, place))  # noqa: PTH116

    def get_file(self, place: str, target: str) -> None:
        """Fetch a file, with a timeout that allows for its size."""
        size = self.info(place).get("size") or 0
        self._move(size, lambda: self._system.get_file(place, target))

    def _move(self, n_bytes: int, move: Callable[[], None]) -> None:
        _answered(self._uri, move, more_s=n_bytes / REMOTE_BYTES_PER_S)

    def __getattr__(self, name: str) -> Any:
        """Return a method with a timeout."""
        found = getattr(self._system, name)
        if not callable(found):
            return found
        return lambda *args, **settings: _answered(self._uri, lambda: found(*args, **settings))


class _PatientFile(io.RawIOBase):
    """A remote file with a timeout for every read, retried where that may help."""

    def __init__(self, file: BinaryIO, uri: str) -> None:
        self._file, self._uri, self._at = file, uri, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return whether the file supports random access."""
        return bool(self._file.seekable())

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a byte position."""
        self._at = _answered(self._uri, lambda: self._file.seek(offset, whence))
        return self._at

    def tell(self) -> int:
        """Return the position of the next byte to read."""
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes."""

        def read() -> bytes:
            if self._file.seekable() and self._file.tell() != self._at:
                self._file.seek(self._at)  # an earlier attempt may have moved it
            return self._file.read(len(buffer))

        data = _answered(self._uri, read)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        """Close the file; a store that does not answer is abandoned."""
        if not self.closed:
            super().close()
            threading.Thread(target=self._file.close, daemon=True).start()


def _answered(uri: str, ask: Callable[[], _Answer], *, more_s: float = 0.0) -> _Answer:
    """Return the result of `ask`, within `REMOTE_WAIT_S` plus `more_s`.

    Transient faults are retried; a store that does not answer gets a shorter timeout from then on.
    """
    store = _store_of(uri)
    for trial in range(1, REMOTE_TRIES + 1):
        found: list[_Answer] = []
        failed: list[BaseException] = []

        def run(found: list[_Answer] = found, failed: list[BaseException] = failed) -> None:
            try:
                found.append(ask())
            except BaseException as error:  # noqa: BLE001  # raised below, in the asking thread
                failed.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        wait_s = more_s + (_SILENT_WAIT_S if store in _SILENT else REMOTE_WAIT_S)
        thread.join(wait_s)
        if found:
            _SILENT.discard(store)
            return found[0]
        if not failed:
            _SILENT.add(store)
            raise TimeoutError(errno.ETIMEDOUT, f"its store did not answer within {wait_s:.0f} s")
        if trial == REMOTE_TRIES or machine_fault(failed[0]) is None or not may_pass(failed[0]):
            raise failed[0]
        time.sleep(_BACK_OFF_S * 2**trial)
    raise AssertionError("unreachable")


def _store_of(uri: str) -> str:
    return "/".join(uri.rpartition("::")[2].split("/")[:3])


def _refuse_foreign(uri: str) -> None:
    allowed = PROTOCOLS | set(os.environ.get(_VARIABLE, "").replace(",", " ").split())
    head, _, last = uri.rpartition("::")
    parts = [*head.split("::"), last if "://" in last else ""] if head else [last]
    for part in parts:
        name = part.partition("://")[0].lower()
        if part and name not in allowed:
            raise RefusedError(
                f"the protocol {name[:20]!r} is not allowed in manifests and data sets",
                code="manifest",
                path=uri,
                hint=f"If you trust where it comes from, set {_VARIABLE}={name[:20]}.",
            )


def answer_within(
    seconds: float, uri: str, ask: Callable[[], _Answer], otherwise: _Answer
) -> _Answer:
    """Return the result of `ask` about `uri`, or `otherwise` if its store does not answer in time.

    A store that accepts and never answers blocks its own thread, not the run; this process does
    not ask it again.
    """
    store = _store_of(uri)
    if store in _SILENT:
        return otherwise
    answers: list[_Answer] = []
    thread = threading.Thread(target=lambda: answers.append(ask()), daemon=True)
    thread.start()
    thread.join(seconds)
    if not answers:
        _SILENT.add(store)
        return otherwise
    return answers[0]
