"""Restrict the folders in which a manifest may name files.

Manifests and data sets may be untrusted, and name any file that the user can read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache

from syncaudit.errors import StreamReadError


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


# Set for the duration of one audit, so that nested readers (tables that name images) are
# restricted as well; None trusts every location.
_ROOTS: ContextVar[Roots | None] = ContextVar("roots", default=None)


# For multi-threaded applications, whose threads do not inherit contexts.
_PROCESS: list[Roots] = []


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
