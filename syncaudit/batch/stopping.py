"""End a run early when a scheduler or a shutdown asks for it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Terminated", "terminable"]


class Terminated(KeyboardInterrupt):
    """SIGTERM came: a scheduler or a shutdown wants the run to end."""


@contextmanager
def terminable() -> Iterator[None]:
    """Turn SIGTERM into an exception while a run is on, where signals can be caught."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
