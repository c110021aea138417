"""Worker processes that may die, hang or run out of memory and lose nothing but their own task.

`concurrent.futures.ProcessPoolExecutor` breaks as a whole when one worker dies, without reporting
the task. Here every worker has its own pipe, so the task is known, the others continue, and a
worker that exceeds its time or memory limit is killed.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Generic, TypeVar

from syncaudit.batch.memory import NO_LIMIT, MemoryLimit
from syncaudit.batch.worker import Lost, Worker
from syncaudit.errors import SyncAuditError

_Task = TypeVar("_Task")
_Value = TypeVar("_Value")

# How long a worker may exceed its limit; a check costs about 20 us per worker.
_CHECK_EVERY_S = 0.1
# Consecutive workers that may die during startup, once one has started: memory may be short.
_MAX_FALSE_STARTS = 5


def map_isolated(
    function: Callable[[_Task], _Value],
    tasks: Sequence[_Task],
    *,
    workers: int,
    timeout_s: float | None = None,
    memory: MemoryLimit = NO_LIMIT,
) -> Iterator[tuple[int, _Value | Lost]]:
    """Run `function` on every task in worker processes; yield (index, value) on completion.

    Like `WorkerPool.map`, with workers that end with the tasks.
    """
    with WorkerPool(function, workers=workers, timeout_s=timeout_s, memory=memory) as pool:
        yield from pool.map(tasks)


class WorkerPool(Generic[_Task, _Value]):
    """Worker processes that are kept for several rounds of tasks.

    They are spawned, never forked, to keep the caller's threads and decoders out of them.
    `function` is picklable and sent to each once. A worker whose task takes longer than
    `timeout_s`, or holds more than `memory`, is killed.
    """

    def __init__(
        self,
        function: Callable[[_Task], _Value],
        *,
        workers: int,
        timeout_s: float | None = None,
        memory: MemoryLimit = NO_LIMIT,
    ) -> None:
        self._function = function
        self._n_workers = workers
        self._timeout_s = timeout_s
        self._memory = memory
        self._workers: list[Worker[_Task, _Value]] = []
        self._checked_at = time.monotonic()
        self._false_starts = _MAX_FALSE_STARTS  # no failure is tolerated until a worker has started

    def __enter__(self) -> WorkerPool[_Task, _Value]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def map(self, tasks: Sequence[_Task]) -> Iterator[tuple[int, _Value | Lost]]:
        """Yield (index, value) of every task on completion.

        A task whose worker died or exceeded its memory is retried once, alone, after all others:
        a neighbour that took all the memory must not cost an innocent task, and alone it may use
        everyone's share. SyncAuditError if workers cannot start at all.
        """
        second_try: list[int] = []
        for index, value in self._run(tasks, range(len(tasks)), self._n_workers):
            if isinstance(value, Lost) and not value.is_timeout:
                second_try.append(index)
            else:
                yield index, value
        if second_try:
            self.close()  # run alone: this also frees the memory held by idle workers
            yield from self._run(tasks, second_try, 1)

    def close(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.stop()
        self._workers.clear()

    def _run(
        self, tasks: Sequence[_Task], indices: Iterable[int], n_workers: int
    ) -> Iterator[tuple[int, _Value | Lost]]:
        queue, workers = deque(indices), self._workers
        limit_bytes = self._memory.bytes_each(n_workers)
        try:
            while queue or any(worker.index is not None for worker in workers):
                busy = sum(worker.index is not None for worker in workers)
                while len(workers) < min(n_workers, busy + len(queue)):
                    workers.append(Worker(self._function))
                for worker in workers:
                    if queue and worker.is_idle:
                        share = math.ceil(len(queue) / (2 * n_workers))
                        given = [queue.popleft() for _ in range(min(worker.n_tasks, share))]
                        worker.give(given, [tasks[k] for k in given], self._timeout_s)
                outcomes = []
                for worker in _ready(workers, None if limit_bytes is None else _CHECK_EVERY_S):
                    outcomes.append(worker.collect())
                    self._count_start(worker)
                outcomes += self._over_limit(limit_bytes)
                for worker in [worker for worker in workers if worker.is_gone]:
                    queue.extendleft(reversed(worker.not_begun))
                    worker.stop()
                    workers.remove(worker)
                yield from (outcome for outcome in outcomes if outcome is not None)
        except BaseException:
            self.close()  # also when the caller stops iterating: the answers are not needed
            raise

    def _over_limit(self, limit_bytes: int | None) -> list[tuple[int, _Value | Lost] | None]:
        """Stop workers that exceed the limit, and return their tasks."""
        now = time.monotonic()
        if limit_bytes is None or now - self._checked_at < _CHECK_EVERY_S:
            return []
        self._checked_at = now
        lost = Lost(limit_bytes=limit_bytes)
        return [
            worker.lose(lost)
            for worker in self._workers
            if not worker.is_gone and worker.holds_over(limit_bytes)
        ]

    def _count_start(self, worker: Worker[_Task, _Value]) -> None:
        """Raise if workers repeatedly die during startup."""
        if worker.is_up:
            self._false_starts = 0
            return
        self._false_starts += 1
        if self._false_starts > _MAX_FALSE_STARTS:
            lost = worker.lost or Lost()
            raise SyncAuditError(f"worker processes cannot start: {lost}", hint=_start_cure(lost))


def _start_cure(lost: Lost) -> str:
    """Return advice for a worker that ended like this during startup."""
    if lost.is_memory:
        return "Free memory, or run fewer workers (--workers 1)."
    if lost.is_timeout:
        return "The machine, or the disk that holds Python, is too busy; run fewer workers."
    return (
        "A script that starts a run needs the guard if __name__ == '__main__'; workers=0 "
        "(--workers 0) audits in this process instead and shows what fails."
    )


def _ready(
    workers: list[Worker[_Task, _Value]], patience_s: float | None
) -> list[Worker[_Task, _Value]]:
    """Wait until workers have results, one runs out of time, or patience ends."""
    deadlines = [worker.deadline for worker in workers if worker.deadline is not None]
    waits = [max(0.0, deadline - time.monotonic()) for deadline in deadlines]
    if patience_s is not None:
        waits.append(patience_s)
    by_pipe = {worker.pipe: worker for worker in workers if not worker.is_idle}
    found = wait(list(by_pipe), min(waits, default=None))
    heard = [by_pipe[pipe] for pipe in found if isinstance(pipe, Connection)]
    late = [worker for worker in workers if worker.is_late and worker not in heard]
    return heard + late
