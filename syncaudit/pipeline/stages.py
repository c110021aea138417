"""CPU time by stage, so that a user sees what an audit spends it on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = ["Stages"]


@dataclass(slots=True)
class Stages:
    """CPU seconds of this process by stage."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def spent_on(self, stage: str) -> Iterator[None]:
        """Add the CPU time of the block to `stage`."""
        begun = time.process_time()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.process_time() - begun

    @property
    def total_s(self) -> float:
        """CPU seconds of all stages."""
        return sum(self.seconds.values())
