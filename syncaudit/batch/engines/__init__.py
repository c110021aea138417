"""Ways to run one function on many clips; all of them give bit-identical verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from syncaudit.batch.engines.ray_data import run_on_ray
from syncaudit.batch.memory import NO_LIMIT, MemoryLimit
from syncaudit.batch.pool import map_isolated
from syncaudit.batch.worker import Lost, limit_threads
from syncaudit.errors import UsageError, nearest_name

__all__ = ["ENGINES", "Engine", "get_engine"]

_Task = TypeVar("_Task")
_Value = TypeVar("_Value")


def _run_local(
    task: Callable[[_Task], _Value],
    items: Sequence[_Task],
    *,
    workers: int,
    timeout_s: float | None = None,
    memory: MemoryLimit = NO_LIMIT,
    address: str | None = None,
) -> Iterator[tuple[int, _Value | Lost]]:
    """Yield (index, value) of every item in order of completion.

    With `workers` 0 everything runs in this process, without protection against crashes and hangs.
    There is no cluster here, so an `address` is refused.
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


Engine = Callable[..., Iterator[tuple[int, Any | Lost]]]
"""``engine(task, items, workers=, timeout_s=, memory=, address=)`` yields (index, value)."""

ENGINES: Mapping[str, Engine] = MappingProxyType({"local": _run_local, "ray": run_on_ray})


def get_engine(name: str) -> Engine:
    """Return an engine by name.

    UsageError if there is no engine of this name.
    """
    if name not in ENGINES:
        raise UsageError(f"no engine is called '{name}'", hint=nearest_name(name, list(ENGINES)))
    return ENGINES[name]
