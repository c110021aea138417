"""Record what a process is working on, so that its parent can report it if the process dies."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MOST_BYTES = 400
_by_thread: dict[int, str] = {}
_file: int | None = None


def note_at_work_in(path: Path) -> None:
    """Keep the notes of this process in a file from now on."""
    global _file  # one per process
    _file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)


def noted_at_work(path: Path) -> str | None:
    """Return what a process last noted in a file, as text, or None if it noted nothing."""
    try:
        return path.read_bytes().decode(errors="ignore") or None
    except OSError:
        return None


@contextmanager
def at_work_on(what: str) -> Iterator[None]:
    """Note that this thread is working on something ("reading source 'imu'") during the block."""
    thread = threading.get_ident()
    before = _by_thread.get(thread, "")
    _note(thread, what)
    try:
        yield
    finally:
        _note(thread, before)


def _note(thread: int, what: str) -> None:
    if what:
        _by_thread[thread] = what
    else:
        _by_thread.pop(thread, None)
    if _file is None:
        return
    words = " and ".join(tuple(_by_thread.values()))  # other threads come and go meanwhile
    note = words.encode(errors="replace")[:_MOST_BYTES]
    os.pwrite(_file, note, 0)  # survives whatever kills the process
    os.ftruncate(_file, len(note))
