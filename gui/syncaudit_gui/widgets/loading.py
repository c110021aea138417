"""Reading on threads: what was asked for last is what arrives."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable

from pyqtgraph.Qt import QtCore

from syncaudit.errors import SyncAuditError

__all__ = ["Loader"]


class Loader(QtCore.QObject):
    """Runs one function after the other; the answer of an older one is dropped."""

    loaded = QtCore.Signal(object)
    failed = QtCore.Signal(str)
    _answered = QtCore.Signal(int, object, str)

    def __init__(self) -> None:
        super().__init__()
        self._number = 0
        self._threads: list[threading.Thread] = []
        self._answered.connect(self._take)

    def load(self, make: Callable[[], object]) -> None:
        """Run `make` on a thread; `loaded` tells its answer, `failed` why there is none."""
        self._number += 1
        number = self._number

        def run() -> None:
            try:
                answer, why = make(), ""
            except SyncAuditError as error:
                answer, why = None, str(error)
            except Exception as error:  # noqa: BLE001  # the boundary of the thread
                first = str(error).splitlines()[0] if str(error) else ""
                place = traceback.extract_tb(error.__traceback__)[-1]
                answer = None
                why = (
                    f"{type(error).__name__}: {first} ({place.name}, line {place.lineno}). "
                    "This is a defect of syncaudit."
                )
            self._answered.emit(number, answer, why)

        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=run, name="syncaudit-read", daemon=True)
        self._threads.append(thread)
        thread.start()

    def drop(self) -> None:
        """Forget what is under way."""
        self._number += 1

    def close(self) -> None:
        """Forget what is under way, and wait for it."""
        self.drop()
        for thread in self._threads:
            thread.join()
        self._threads = []

    def _take(self, number: int, answer: object, why: str) -> None:
        if number != self._number:
            return
        if why:
            self.failed.emit(why)
        else:
            self.loaded.emit(answer)
