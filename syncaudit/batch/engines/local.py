"""Run tasks on this machine: worker processes, or this process itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from syncaudit.batch.memory import NO_LIMIT, MemoryLimit
from syncaudit.batch.pool import Lost, map_isolated
from syncaudit.batch.worker import limit_threads
from syncaudit.errors import UsageError

__all__ = ["run_local"]

_Task = TypeVar("_Task")
_Value = TypeVar("_Value")


def run_local(
    task: Callable[[_Task], _Value],
    items: Sequence[_Task],
    *,
    workers: int,
    timeout_s: float | None = None,
    memory: MemoryLimit = NO_LIMIT,
    address: str | None = None,
) -> Iterator[tuple[int, _Value | Lost]]:
    """Yield (index, value) of every item as they come.

    With `workers` 0 all run in this process, without protection against crashes and hangs. There is
    no cluster here, so an `address` is refused.
    """
    if address is not None:
        raise UsageError("--address is for --engine ray", hint="Leave it out, or name the engine.")
    if not items:
        return
    if workers == 0:
        limit_threads()
        for index in range(len(items)):
            yield index, task(items[index])
        return
    yield from map_isolated(
        task, items, workers=min(workers, len(items)), timeout_s=timeout_s, memory=memory
    )
