"""End a run early when a scheduler or a shutdown asks for it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Terminated", "terminable"]

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP came: a scheduler, a shutdown or a lost terminal ends the run."""


@contextmanager
def terminable() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into an exception while a run is on, where they can be caught.

    What is ignored stays ignored: SIGHUP under nohup.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    terminals = [number for number in (1, 2) if os.isatty(number)]

    def stop(number: int, _: object) -> None:
        if number == signal.SIGHUP:
            _silence(terminals)
        raise Terminated

    before = {
        number: signal.signal(number, stop)
        for number in _SIGNALS
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _silence(terminals: list[int]) -> None:
    """Send what is still printed nowhere: printing to a terminal that is gone is an error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in terminals:
        os.dup2(nowhere, number)
    os.close(nowhere)
