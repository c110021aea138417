"""CPU time by stage, which shows a user where an audit spends it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

_Item = TypeVar("_Item")


@dataclass(slots=True)
class Stages:
    """CPU seconds of this process by stage, filled as stages end.

    `on_stage` is called with the name of every stage that begins: ``decode`` once per frame, from
    the thread that decodes it. `clock` returns the CPU time in seconds: of the process, or of the
    thread where several run.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    on_stage: Callable[[str], None] | None = None
    clock: Callable[[], float] = time.process_time

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the CPU time of the block to `stage`."""
        if self.on_stage is not None:
            self.on_stage(stage)
        begun = self.clock()
        try:
            yield
        finally:
            self._add(stage, self.clock() - begun)

    def split(self, getting: str, items: Iterable[_Item], using: str) -> Iterator[_Item]:
        """Yield items; charge getting them to one stage and using them to another.

        CPU time is read once and divided in proportion to wall-clock time: reading it costs as
        much as some detectors do.
        """
        begun_s, now_s = self.clock(), time.perf_counter()
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
            spent_s = self.clock() - begun_s
            share = getting_s / max(getting_s + using_s, 1e-9)
            self._add(getting, share * spent_s)
            self._add(using, (1.0 - share) * spent_s)

    def share_out(self, spent_s: float, threads: Sequence[Stages]) -> None:
        """Add the CPU time spent while threads ran, in proportion to what each counted itself.

        Libraries have threads of their own, whose time none of these counts.
        """
        scale = spent_s / max(sum(thread.total_s for thread in threads), 1e-9)
        for thread in threads:
            for stage, seconds in thread.seconds.items():
                self._add(stage, scale * seconds)

    def _add(self, stage: str, spent_s: float) -> None:
        self.seconds[stage] = self.seconds.get(stage, 0.0) + spent_s

    @property
    def total_s(self) -> float:
        """CPU seconds of all stages."""
        return sum(self.seconds.values())
