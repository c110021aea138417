"""Reading on threads: only the result of the newest request arrives."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable

from pyqtgraph.Qt import QtCore

from syncaudit.errors import SyncAuditError

# Reading a clip that was left cannot be stopped: one more may start beside it, but not a third.
MOST_THREADS = 2


class _Dropped(Exception):  # noqa: N818  # not an error: the answer is not wanted
    """Ends a thread."""


class Loader(QtCore.QObject):
    """Runs the newest request; the answers of older ones are dropped."""

    loaded = QtCore.Signal(object)
    failed = QtCore.Signal(str)
    progressed = QtCore.Signal(str)
    _answered = QtCore.Signal(int, object, str)
    _reported = QtCore.Signal(int, str)

    def __init__(self, parent: QtCore.QObject | None = None) -> None:
        super().__init__(parent)
        self._number = 0
        self._n_busy = 0
        self._waiting: tuple[int, Callable[[Callable[[str], None]], object]] | None = None
        self._threads: list[threading.Thread] = []
        self._answered.connect(self._take)
        self._reported.connect(self._take_words)

    def load(self, make: Callable[[Callable[[str], None]], object]) -> None:
        """Run something on a thread; `loaded` delivers its answer, `failed` the error.

        `make` gets a function for reporting progress, which is passed on by `progressed`. That
        function ends the thread if the answer is no longer wanted.
        """
        self._number += 1
        self._waiting = (self._number, make)
        self._start()

    def _start(self) -> None:
        """Start the waiting request, unless enough threads are busy with outdated ones."""
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        if self._waiting is None or self._n_busy >= MOST_THREADS:
            return
        (number, make), self._waiting = self._waiting, None
        self._n_busy += 1
        thread = threading.Thread(
            target=self._run, args=(number, make), name="syncaudit-read", daemon=True
        )
        self._threads.append(thread)
        thread.start()

    def _run(self, number: int, make: Callable[[Callable[[str], None]], object]) -> None:
        def report(words: str) -> None:
            if number != self._number:
                raise _Dropped
            self._reported.emit(number, words)

        answer, why = None, ""
        try:
            answer = make(report)
        except _Dropped:
            pass
        except SyncAuditError as error:
            why = str(error)
        except Exception as error:  # noqa: BLE001  # the boundary of the thread
            first = str(error).splitlines()[0] if str(error) else ""
            place = traceback.extract_tb(error.__traceback__)[-1]
            why = (
                f"{type(error).__name__}: {first} ({place.name}, line {place.lineno}). "
                "This is a defect of syncaudit."
            )
        self._answered.emit(number, answer, why)

    def drop(self) -> None:
        self._number += 1
        self._waiting = None

    def close(self) -> None:
        """Drop pending requests, and wait for them to end."""
        self.drop()
        for thread in self._threads:
            thread.join()
        self._threads = []

    def _take_words(self, number: int, words: str) -> None:
        if number == self._number:
            self.progressed.emit(words)

    def _take(self, number: int, answer: object, why: str) -> None:
        self._n_busy -= 1
        self._start()
        if number != self._number:
            return
        if why:
            self.failed.emit(why)
        else:
            self.loaded.emit(answer)
