"""CPU time by stage, so that a user sees what an audit spends it on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

__all__ = ["Stages"]

_Item = TypeVar("_Item")


@dataclass(slots=True)
class Stages:
    """CPU seconds of this process by stage.

    Parameters
    ----------
    seconds : dict of str to float
        Filled as stages end.
    on_stage : callable, optional
        Told the name of every stage that begins: ``decode`` once a picture.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    on_stage: Callable[[str], None] | None = None

    @contextmanager
    def spent_on(self, stage: str) -> Iterator[None]:
        """Add the CPU time of the block to `stage`."""
        if self.on_stage is not None:
            self.on_stage(stage)
        begun = time.process_time()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.process_time() - begun

    def split(self, getting: str, items: Iterable[_Item], using: str) -> Iterator[_Item]:
        """Yield items; add what it takes to get them to one stage, to use them to another.

        CPU time is asked for once, and shared out by the clock on the wall: asking for it costs
        as much as some detectors do.
        """
        begun_s, now_s = time.process_time(), time.perf_counter()
        getting_s = using_s = 0.0
        source = iter(items)
        try:
            while True:
                if self.on_stage is not None:
                    self.on_stage(getting)
                item = next(source, None)
                before_s, now_s = now_s, time.perf_counter()
                getting_s += now_s - before_s
                if item is None:
                    return
                if self.on_stage is not None:
                    self.on_stage(using)
                yield item
                before_s, now_s = now_s, time.perf_counter()
                using_s += now_s - before_s
        finally:
            spent_s = time.process_time() - begun_s
            share = getting_s / max(getting_s + using_s, 1e-9)
            for stage, part in ((getting, share), (using, 1.0 - share)):
                self.seconds[stage] = self.seconds.get(stage, 0.0) + part * spent_s

    @property
    def total_s(self) -> float:
        """CPU seconds of all stages."""
        return sum(self.seconds.values())
