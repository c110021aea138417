"""Ways to run one function on many clips; every one gives the same verdicts to the bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from syncaudit.batch.engines.local import run_local
from syncaudit.batch.engines.ray_data import run_on_ray
from syncaudit.batch.pool import Lost
from syncaudit.errors import UsageError, nearest_name

__all__ = ["ENGINES", "Engine", "get_engine"]

Engine = Callable[..., Iterator[tuple[int, Any | Lost]]]
"""``engine(task, items, workers=, timeout_s=, memory=, address=)`` yields (index, value)."""

ENGINES: Mapping[str, Engine] = MappingProxyType({"local": run_local, "ray": run_on_ray})


def get_engine(name: str) -> Engine:
    """Return an engine by its name.

    Raises
    ------
    UsageError
        If there is none.
    """
    if name not in ENGINES:
        raise UsageError(f"no engine is called '{name}'", hint=nearest_name(name, list(ENGINES)))
    return ENGINES[name]
