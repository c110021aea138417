"""CPU time by stage, so that a user sees what an audit spends it on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = ["Stages"]


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

    @property
    def total_s(self) -> float:
        """CPU seconds of all stages."""
        return sum(self.seconds.values())
