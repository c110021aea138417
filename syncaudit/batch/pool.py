"""Worker processes that may die or hang without taking anything but their own task along.

`concurrent.futures.ProcessPoolExecutor` breaks as a whole when one worker dies and does not say
on which task; here every worker has a pipe of its own, so the task is known, the others go on,
and a worker that exceeds its time is killed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Generic, TypeVar

from syncaudit.errors import SyncAuditError

__all__ = ["Crew", "Lost", "limit_threads", "map_isolated"]

_Task = TypeVar("_Task")
_Value = TypeVar("_Value")

# One process a core is the layout (design, section 8): libraries must add no threads.
_THREAD_SETTINGS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_START_LIMIT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A task that brought no value because its worker died or was stopped.

    Parameters
    ----------
    exit_code : int, optional
        Of the dead worker (negative: the signal that killed it); None after a timeout.
    """

    exit_code: int | None = None

    @property
    def is_timeout(self) -> bool:
        """Whether the worker was stopped for taking too long."""
        return self.exit_code is None

    def __str__(self) -> str:
        """Return how the worker ended, in words."""
        if self.exit_code is None:
            return "it exceeded its time"
        if self.exit_code == -signal.SIGKILL:
            return "it was killed, as happens when memory runs out"
        if self.exit_code < 0:
            try:
                name = signal.Signals(-self.exit_code).name
            except ValueError:
                name = f"signal {-self.exit_code}"
            return f"it crashed ({name})"
        return f"it exited with code {self.exit_code}"


def limit_threads() -> None:
    """Keep OpenCV of this process to one thread; BLAS reads its environment at import."""
    import cv2

    cv2.setNumThreads(1)


def map_isolated(
    function: Callable[[_Task], _Value],
    tasks: Sequence[_Task],
    *,
    workers: int,
    timeout_s: float | None = None,
) -> Iterator[tuple[int, _Value | Lost]]:
    """Run `function` on every task in worker processes and yield results as they come.

    Workers are spawned, never forked: threads and decoders of the caller stay out of them.
    A task whose worker died is tried once more, alone, when all others are done: a neighbour
    that took all the memory must not cost an innocent task.

    Parameters
    ----------
    function : callable
        Picklable; sent to each worker once.
    tasks : sequence
        Picklable arguments.
    workers : int
        Processes at work at a time.
    timeout_s : float, optional
        Wall time after which a task's worker is killed.

    Yields
    ------
    tuple of (int, value or Lost)
        Index of the task and its value, in order of completion.

    Raises
    ------
    SyncAuditError
        If workers cannot start at all.
    """
    with Crew(function, workers=workers, timeout_s=timeout_s) as crew:
        yield from crew.map(tasks)


class Crew(Generic[_Task, _Value]):
    """Worker processes that stay for several rounds of tasks (see `map_isolated`).

    Parameters
    ----------
    function : callable
        Picklable; sent to each worker once.
    workers : int
        Processes at work at a time.
    timeout_s : float, optional
        Wall time after which a task's worker is killed.
    """

    def __init__(
        self,
        function: Callable[[_Task], _Value],
        *,
        workers: int,
        timeout_s: float | None = None,
    ) -> None:
        self._function = function
        self._n_workers = workers
        self._timeout_s = timeout_s
        self._crew: list[_Worker[_Task, _Value]] = []

    def __enter__(self) -> Crew[_Task, _Value]:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all workers."""
        self.close()

    def map(self, tasks: Sequence[_Task]) -> Iterator[tuple[int, _Value | Lost]]:
        """Yield (index, value) of every task as they come."""
        second_try: list[int] = []
        for index, value in self._run(tasks, range(len(tasks)), self._n_workers):
            if isinstance(value, Lost) and not value.is_timeout:
                second_try.append(index)
            else:
                yield index, value
        if second_try:
            self.close()  # alone: what the idle hold in memory is given back as well
            yield from self._run(tasks, second_try, 1)

    def close(self) -> None:
        """End all workers."""
        for worker in self._crew:
            worker.stop()
        self._crew.clear()

    def _run(
        self, tasks: Sequence[_Task], indices: Iterable[int], n_workers: int
    ) -> Iterator[tuple[int, _Value | Lost]]:
        queue, crew = deque(indices), self._crew
        try:
            while queue or any(worker.index is not None for worker in crew):
                busy = sum(worker.index is not None for worker in crew)
                while len(crew) < min(n_workers, busy + len(queue)):
                    crew.append(_Worker(self._function))
                for worker in crew:
                    if queue and worker.is_idle:
                        worker.give(queue.popleft(), tasks, self._timeout_s)
                for worker in _ready(crew):
                    outcome = worker.collect()
                    if outcome is not None:
                        yield outcome
                for worker in [worker for worker in crew if worker.is_gone]:
                    worker.stop()
                    crew.remove(worker)
        except BaseException:
            self.close()  # also when the caller stops listening: nobody waits for the answers
            raise


def _ready(
    crew: list[_Worker[_Task, _Value]],
) -> list[_Worker[_Task, _Value]]:
    """Wait until workers have something to say or one runs out of time."""
    deadlines = [worker.deadline for worker in crew if worker.deadline is not None]
    patience = None if not deadlines else max(0.0, min(deadlines) - time.monotonic())
    by_pipe = {worker.pipe: worker for worker in crew if not worker.is_idle}
    heard = [
        by_pipe[pipe] for pipe in wait(list(by_pipe), patience) if isinstance(pipe, Connection)
    ]
    late = [worker for worker in crew if worker.is_late and worker not in heard]
    return heard + late


class _Worker(Generic[_Task, _Value]):
    """One process, its pipe and the task that it has in hand."""

    def __init__(self, function: Callable[[_Task], _Value]) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, function), daemon=True)
        with _spawning():
            self._process.start()
        theirs.close()
        self.index: int | None = None
        self.is_gone = False
        self._is_up = False
        self.deadline: float | None = time.monotonic() + _START_LIMIT_S

    @property
    def is_idle(self) -> bool:
        return self._is_up and self.index is None and not self.is_gone

    @property
    def is_late(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    def give(self, index: int, tasks: Sequence[_Task], timeout_s: float | None) -> None:
        self.index = index
        self.deadline = None if timeout_s is None else time.monotonic() + timeout_s
        with suppress(OSError):  # it died while idle: collect() will see the closed pipe
            self.pipe.send(tasks[index])

    def collect(self) -> tuple[int, _Value | Lost] | None:
        """Return the finished task, or None where the worker only reports for duty."""
        if self.is_late and not self.pipe.poll():
            return self._lost(Lost() if self._is_up else None)
        try:
            value = self.pipe.recv()
        except (EOFError, OSError):
            self._process.join(5.0)
            return self._lost(Lost(exit_code=self._process.exitcode or 0))
        if not self._is_up:
            self._is_up = True
            self.deadline = None
            return None
        index, self.index, self.deadline = self.index, None, None
        assert index is not None  # noqa: S101  # only busy workers are listened to
        return index, value

    def _lost(self, lost: Lost | None) -> tuple[int, _Value | Lost] | None:
        self.is_gone = True
        if not self._is_up or lost is None:
            raise SyncAuditError(
                "worker processes cannot start",
                hint="A script that starts a run needs the guard if __name__ == '__main__'; "
                "workers=0 audits in this process instead.",
            )
        return None if self.index is None else (self.index, lost)

    def stop(self) -> None:
        """End the process, whatever it does."""
        self.pipe.close()
        if self.index is None and self._is_up and not self.is_gone:
            self._process.join(2.0)  # an idle worker leaves when its pipe closes
        if self._process.is_alive():
            self._process.kill()
        self._process.join()
        self._process.close()


def _serve(pipe: Connection[object, object], function: Callable[[_Task], _Value]) -> None:
    """Work until the pipe closes; runs in the worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    limit_threads()
    try:
        pipe.send("up")
        while True:
            pipe.send(function(pipe.recv()))  # type: ignore[arg-type]  # what give() sent
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


@contextmanager
def _spawning() -> Iterator[None]:
    """Set what a worker must inherit from its first instruction on, and nobody else."""
    before = {name: os.environ.get(name) for name in _THREAD_SETTINGS}
    os.environ.update(dict.fromkeys(_THREAD_SETTINGS, "1"))
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if is_main else None
    try:
        yield
    finally:
        if is_main:
            signal.signal(signal.SIGINT, handler)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
