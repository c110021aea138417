"""Import a data set in a worker process, which limits what untrusted files can consume."""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections.abc import Callable, Mapping
from ctypes import Array, c_int64
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from syncaudit.batch.memory import MemoryLimit
from syncaudit.batch.worker import Lost, Worker
from syncaudit.datasets.importing import Imported, import_dataset
from syncaudit.errors import SyncAuditError, UsageError
from syncaudit.limits import IMPORT_STALL_S

_CHECK_EVERY_S = 0.1


def import_isolated(
    uri: str,
    out: Path,
    *,
    format_name: str = "auto",
    rules: Mapping[str, Any] | None = None,
    limit: int | None = None,
    on_clip: Callable[[int], None] | None = None,
    memory_limit: str = "auto",
    force: bool = False,
) -> Imported:
    """Write the manifest of a data set as `import_dataset` does, in a worker process.

    SyncAuditError also if the import exceeded `memory_limit` (a size, ``none`` or ``auto``),
    stalled or crashed.
    """
    limit_bytes = MemoryLimit.parse(memory_limit).bytes_each(1)
    counter = multiprocessing.get_context("spawn").RawArray(c_int64, 1)
    worker: Worker[dict[str, Any], Imported | Exception | _Defect] = Worker(_Importing(counter))
    task = {
        "uri": uri,
        "out": out,
        "format_name": format_name,
        "rules": rules,
        "limit": limit,
        "force": force,
    }
    stall = _Stall()
    try:
        while True:
            heard = wait([worker.pipe], _CHECK_EVERY_S)
            if heard or worker.is_late:
                outcome = worker.collect()
                if worker.is_gone and outcome is None:
                    raise SyncAuditError(f"the import process cannot start: {worker.lost}")
                if outcome is None:
                    worker.give([0], [task], None)
                    continue
                return _result(outcome[1], uri)
            if on_clip is not None and counter[0]:
                on_clip(counter[0])
            if limit_bytes is not None and worker.holds_over(limit_bytes):
                return _result(Lost(limit_bytes=limit_bytes), uri)
            if worker.index is not None and stall.seconds(worker.pid) > IMPORT_STALL_S:
                return _result(Lost(), uri)
    finally:
        worker.stop()


class _Importing:
    """Task of the worker; the number of clips so far is passed through shared memory."""

    def __init__(self, counter: Array[c_int64]) -> None:
        self._counter = counter

    def __call__(self, task: dict[str, Any]) -> Imported | Exception | _Defect:
        def count(n_clips: int) -> None:
            self._counter[0] = n_clips

        try:
            return import_dataset(**task, on_clip=count)
        except (SyncAuditError, OSError, MemoryError) as error:
            return error
        except Exception:  # noqa: BLE001  # tracebacks cannot be sent between processes
            return _Defect(traceback.format_exc())


class _Defect(str):
    """Traceback of an unexpected error."""

    __slots__ = ()


class _Stall:
    """Measures how long a process has computed without reading or writing anything."""

    def __init__(self) -> None:
        self._moved, self._since_s = -1, 0.0

    def seconds(self, pid: int | None) -> float:
        """Return the CPU time since the last byte; 0 if the system does not report it."""
        try:
            counts = Path(f"/proc/{pid}/io").read_text(encoding="ascii").split()
            ticks = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
            moved = int(counts[1]) + int(counts[3])
            user, system = ticks.rpartition(")")[2].split()[11:13]
        except (OSError, ValueError, IndexError):
            return 0.0
        now_s = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
        if moved != self._moved:
            self._moved, self._since_s = moved, now_s
        return now_s - self._since_s


def _result(value: Imported | Exception | _Defect | Lost, uri: str) -> Imported:
    if isinstance(value, Imported):
        return value
    if isinstance(value, Exception):
        raise value
    if isinstance(value, _Defect):
        raise RuntimeError(f"the import failed\n{value}")
    what = (
        f"it computed for {IMPORT_STALL_S:.0f} s without reading anything"
        if value.is_timeout
        else value
    )
    raise UsageError(
        f"the import was stopped: {what}",
        path=uri,
        hint=(
            "A damaged or hostile file may demand any amount of memory. If the data set is "
            "sound, raise --memory-limit, or import a part of it."
        ),
    )
