"""One worker process, its pipe and its current task."""

from __future__ import annotations

import logging
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Generic, TypeVar

from syncaudit.at_work import note_at_work_in, noted_at_work
from syncaudit.batch.memory import held_bytes, size_in_words
from syncaudit.formatting import signal_name
from syncaudit.limits import IMAGE_PIXELS

_Task = TypeVar("_Task")
_Value = TypeVar("_Value")

# The layout is one process per core (design, section 8), so libraries must not add threads.
# OpenCV's messages about damaged images are in the verdict.
_SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "OPENCV_LOG_LEVEL": "SILENT",
    "OPENCV_IO_MAX_IMAGE_PIXELS": str(IMAGE_PIXELS),
    # Arrow's own allocator keeps freed memory: 2.4 GB for a table of 100 hours.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
_START_LIMIT_S = 120.0
_AT_WORK = ".at-work"  # file in the worker's scratch folder
# Target time of one message's tasks, from earlier ones: the round trip takes a fraction of a
# millisecond, and further tasks would wait behind one that takes long.
_BUSY_S = 0.05
_MOST_TASKS = 32
# A terminal sends these to all its processes; only the parent handles them.
_PARENTS = (signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A task without a value because its worker died or was stopped.

    With neither exit code nor limit it timed out.
    """

    exit_code: int | None = None  # if it died by itself (negative: the signal that killed it)
    limit_bytes: int | None = None  # memory limit that it exceeded
    at_work: str | None = None  # what it was doing then

    @property
    def is_timeout(self) -> bool:
        """Whether the worker was stopped for taking too long."""
        return self.exit_code is None and self.limit_bytes is None

    @property
    def is_memory(self) -> bool:
        """Whether memory ran out, as far as can be determined."""
        return self.limit_bytes is not None or self.exit_code == -signal.SIGKILL

    def __str__(self) -> str:
        return self._ending if self.at_work is None else f"{self._ending} while {self.at_work}"

    @property
    def _ending(self) -> str:
        if self.limit_bytes is not None:
            return f"it used more memory than its limit of {size_in_words(self.limit_bytes)}"
        if self.exit_code is None:
            return "it exceeded its time"
        if self.exit_code == -signal.SIGKILL:
            return "it was killed, as happens when memory runs out"
        if self.exit_code < 0:
            return f"it crashed ({signal_name(-self.exit_code)})"
        return f"it exited with code {self.exit_code}"


class Worker(Generic[_Task, _Value]):
    """One process that receives tasks through its pipe, a few at a time, and runs them in turn."""

    def __init__(self, function: Callable[[_Task], _Value]) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        # Files left by a killed worker (copies of remote files) are removed with it.
        self._scratch = tempfile.mkdtemp(prefix="syncaudit-")
        self._process = context.Process(
            target=_serve, args=(theirs, function, self._scratch), daemon=True
        )
        with _spawning():
            self._process.start()
        theirs.close()
        self.n_tasks = 1
        """Number of tasks worth giving it at once."""
        self._given: deque[int] = deque()
        self._given_at = 0.0
        self._timeout_s: float | None = None
        self.lost: Lost | None = None
        self.is_up = False
        self.deadline: float | None = time.monotonic() + _START_LIMIT_S

    @property
    def pid(self) -> int | None:
        """Process id."""
        return self._process.pid

    @property
    def index(self) -> int | None:
        """Index of its current task."""
        return self._given[0] if self._given else None

    @property
    def not_begun(self) -> Sequence[int]:
        """Tasks given to it that follow its current task."""
        return list(self._given)[1:]

    @property
    def is_gone(self) -> bool:
        """Whether the process was given up."""
        return self.lost is not None

    @property
    def is_idle(self) -> bool:
        """Whether it waits for a task."""
        return self.is_up and self.index is None and not self.is_gone

    @property
    def is_late(self) -> bool:
        """Whether its time is up."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def holds_over(self, limit_bytes: int) -> bool:
        """Whether it is working on a task and holds more memory than this."""
        if self.index is None or self._process.pid is None:
            return False
        held = held_bytes(self._process.pid)
        return held is not None and held > limit_bytes

    def give(self, indices: Sequence[int], tasks: Sequence[_Task], timeout_s: float | None) -> None:
        """Give it tasks, each with this much time."""
        self._given.extend(indices)
        self._given_at, self._timeout_s = time.monotonic(), timeout_s
        self._set_deadline()
        with suppress(OSError):  # it died while idle: collect() will see the closed pipe
            self.pipe.send(tasks)

    def _set_deadline(self) -> None:
        is_timed = self._given and self._timeout_s is not None
        self.deadline = time.monotonic() + (self._timeout_s or 0.0) if is_timed else None

    def collect(self) -> tuple[int, _Value | Lost] | None:
        """Return the finished task, or None if there is none (see `is_gone`)."""
        if self.is_late and not self.pipe.poll():
            return self.lose(Lost())
        try:
            value = self.pipe.recv()
        except (EOFError, OSError):
            self._process.join(5.0)
            return self.lose(Lost(exit_code=self._process.exitcode or 0))
        if not self.is_up:
            self.is_up = True
            self.deadline = None
            return None
        index = self._given.popleft()  # only busy workers are polled
        self._set_deadline()
        if not self._given:
            spent_s = max(time.monotonic() - self._given_at, 1e-6)
            fitting = int(self.n_tasks * _BUSY_S / spent_s)
            self.n_tasks = max(1, min(fitting, 2 * self.n_tasks, _MOST_TASKS))
        return index, value

    def lose(self, lost: Lost) -> tuple[int, _Value | Lost] | None:
        """Stop the process and return the task that is lost with it."""
        self.lost = replace(lost, at_work=noted_at_work(Path(self._scratch, _AT_WORK)))
        return None if self.index is None else (self.index, self.lost)

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self.pipe.close()
        if self.is_idle:
            self._process.join(2.0)  # an idle worker exits when its pipe closes
        if self._process.is_alive():
            self._process.kill()
        self._process.join()
        self._process.close()
        shutil.rmtree(self._scratch, ignore_errors=True)


def limit_threads() -> None:
    """Limit OpenCV in this process to one thread; BLAS reads its environment at import."""
    import cv2

    cv2.setNumThreads(1)


def _serve(
    pipe: Connection[object, object], function: Callable[[_Task], _Value], scratch: str
) -> None:
    """Process tasks until the pipe closes; runs in the worker."""
    os.environ["TMPDIR"] = tempfile.tempdir = scratch
    note_at_work_in(Path(scratch, _AT_WORK))
    for number in _PARENTS:
        signal.signal(number, signal.SIG_IGN)
    logging.getLogger().addHandler(logging.NullHandler())  # libraries would fill the terminal
    threading.Thread(target=_leave_with_parent, args=(scratch,), daemon=True).start()
    limit_threads()
    try:
        pipe.send("up")
        while True:
            for task in pipe.recv():  # type: ignore[attr-defined]  # what give() sent
                pipe.send(function(task))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


def _leave_with_parent(scratch: str) -> None:
    """End this process when its parent is killed, even in the middle of an endless clip."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        shutil.rmtree(scratch, ignore_errors=True)
        os._exit(1)


@contextmanager
def _spawning() -> Iterator[None]:
    """Set environment that only workers must inherit, from their first instruction on."""
    before = {name: os.environ.get(name) for name in _SETTINGS}
    os.environ.update(_SETTINGS)
    is_main = threading.current_thread() is threading.main_thread()
    handlers = {n: signal.signal(n, signal.SIG_IGN) for n in _PARENTS} if is_main else {}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
