"""The one place that asks fsspec for a file system: only what a manifest may name."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, BinaryIO, TypeVar

from syncaudit.readers.roots import RefusedError

__all__ = ["PROTOCOLS", "answer_within", "file_system", "open_remote"]

PROTOCOLS = frozenset(
    {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oci", "oss", "hf", "http", "https"}
    | {"memory", "tar", "zip"}
)
"""Stores and archives that may be named. Others run programs, ask hosts of the local network or
read further files by themselves (``reference``, ``simplecache``, ``webhdfs``, ``ssh``)."""

_VARIABLE = "SYNCAUDIT_PROTOCOLS"

_Answer = TypeVar("_Answer")

# Stores that did not answer this process: what is lost by not asking is a saving.
_SILENT: set[str] = set()


def file_system(uri: str) -> tuple[Any, str]:
    """Return (file system, path in it) of a URL.

    Raises
    ------
    RefusedError
        If a protocol is none of `PROTOCOLS` nor of the environment variable
        ``SYNCAUDIT_PROTOCOLS``.
    """
    _refuse_foreign(uri)
    import fsspec

    system, inner = fsspec.core.url_to_fs(uri)
    return system, str(inner)


def open_remote(uri: str) -> BinaryIO:
    """Open a URL for reading; raises as `file_system`."""
    _refuse_foreign(uri)
    import fsspec

    opened: BinaryIO = fsspec.open(uri, "rb").open()
    return opened


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
    """Return what `ask` finds about `uri`, or `otherwise` if its store does not answer in time.

    A store that accepts and never answers keeps its thread waiting, not the run; it is not asked
    again by this process.
    """
    store = "/".join(uri.rpartition("::")[2].split("/")[:3])
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
