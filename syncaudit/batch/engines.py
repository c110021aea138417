"""Ways to run one function on many clips; all of them give bit-identical verdicts."""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from syncaudit.batch.memory import NO_LIMIT, MemoryLimit
from syncaudit.batch.pool import WorkerPool, map_isolated
from syncaudit.batch.worker import Lost, limit_threads
from syncaudit.errors import MissingExtraError, SyncAuditError, UsageError, nearest_name

_Task = TypeVar("_Task")
_Value = TypeVar("_Value")

# Clips per block: enough to amortise the transfer, few enough to share the work evenly. An actor
# cannot take clips from another actor's block, so the last blocks determine the finishing time.
_MAX_BATCH = 16
_BLOCKS_EACH = 32


def _run_local(
    task: Callable[[_Task], _Value],
    items: Sequence[_Task],
    *,
    workers: int,
    timeout_s: float | None = None,
    memory: MemoryLimit = NO_LIMIT,
) -> Iterator[tuple[int, _Value | Lost]]:
    """Yield (index, value) of every item in order of completion.

    With `workers` 0 everything runs in this process, without protection against crashes and hangs.
    """
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


def _run_on_ray(
    task: Callable[[_Task], _Value],
    items: Sequence[_Task],
    *,
    workers: int,
    timeout_s: float | None = None,
    memory: MemoryLimit = NO_LIMIT,
    address: str | None = None,
) -> Iterator[tuple[int, _Value | Lost]]:
    """Yield (index, value) of every item as they come back from the cluster.

    Each Ray actor (one of `workers`, on one core) keeps its own worker process, so that a crash or
    a hang costs one item, as it does locally. Values are pickled by the actor, so Ray only sees
    bytes. `address` is that of a running cluster (``auto``, ``ray://head:10001``); without it a
    cluster is started on this machine. A share of `memory` is that of one core of each machine.
    """
    if not items:
        return
    ray = _ray()
    if not ray.is_initialized():
        try:
            ray.init(
                address=address,
                include_dashboard=None if address else False,
                num_cpus=None if address else max(workers, 1),
                log_to_driver=False,
                logging_level="ERROR",
            )
        except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
            raise SyncAuditError(
                f"no Ray cluster answers at {address or 'this machine'}: {error}",
                hint="Start one with 'ray start --head', or leave --address out.",
            ) from error
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.execution_options.preserve_order = False
    size = max(1, min(_MAX_BATCH, len(items) // (_BLOCKS_EACH * max(1, workers))))
    # Blocks are read one by one on the cluster, so the whole manifest is never in one place.
    blocks = [list(range(k, min(k + size, len(items)))) for k in range(0, len(items), size)]
    rows = [{"indices": block, "items": _packed([items[k] for k in block])} for block in blocks]
    results = ray.data.from_items(rows, override_num_blocks=len(rows)).map(
        _actor_class(_packed(task), timeout_s, memory),
        compute=ray.data.ActorPoolStrategy(size=max(1, min(workers, len(rows)))),
        num_cpus=1,
    )
    for row in results.iter_rows():
        yield from pickle.loads(row["values"])  # noqa: S301  # what our own actor packed


def _actor_class(task: bytes, timeout_s: float | None, memory: MemoryLimit) -> type:
    """Return the class of the actors; it carries the task, as Ray requires for restarts."""

    class Auditor:
        """Actor that lives on the cluster with one worker process."""

        def __init__(self) -> None:
            function = pickle.loads(task)  # noqa: S301  # what _run_on_ray packed
            # An actor takes one core, so there may be one per core on its machine.
            each = MemoryLimit(stated_bytes=memory.bytes_each(os.cpu_count() or 1))
            self._pool: WorkerPool[Any, Any] = WorkerPool(
                function, workers=1, timeout_s=timeout_s, memory=each
            )

        def __call__(self, row: dict[str, Any]) -> dict[str, bytes]:
            """Run one block of items."""
            items = pickle.loads(row["items"])  # noqa: S301  # what _run_on_ray packed
            indices = [int(k) for k in row["indices"]]
            return {"values": _packed([(indices[k], v) for k, v in self._pool.map(items)])}

    return Auditor


def _packed(value: object) -> bytes:
    return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)


def _ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise MissingExtraError("ray", extra="ray", purpose="--engine ray") from error
    return ray


Engine = Callable[..., Iterator[tuple[int, Any | Lost]]]
"""``engine(task, items, workers=, timeout_s=, memory=)`` yields (index, value)."""

ENGINES: Mapping[str, Engine] = {"local": _run_local, "ray": _run_on_ray}


def get_engine(name: str, *, address: str | None = None) -> Engine:
    """Return an engine by name; `address` is as for ray.

    UsageError if there is no engine of this name, or it has no use for an address.
    """
    if name not in ENGINES:
        raise UsageError(f"no engine is called '{name}'", hint=nearest_name(name, list(ENGINES)))
    if address is None:
        return ENGINES[name]
    if ENGINES[name] is not _run_on_ray:
        raise UsageError("--address is for --engine ray", hint="Leave it out, or name the engine.")
    return partial(_run_on_ray, address=address)
