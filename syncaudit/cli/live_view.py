"""What long work shows: something that moves in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console

__all__ = ["LiveView"]

_LINE_EVERY_S = 15.0


class _Moving(Protocol):
    """A bar or a status line of rich."""

    def start(self) -> None:
        """Show it."""

    def stop(self) -> None:
        """Take it away."""


class LiveView:
    """A context in which a bar or status is shown on a console, standard error as a rule."""

    def __init__(self, console: Console, *, is_quiet: bool = False) -> None:
        self.console = console
        self.is_quiet = is_quiet
        self.moves = console.is_terminal and not is_quiet
        """Whether something that moves is to be shown."""
        self._next_line = time.monotonic() + _LINE_EVERY_S

    def moving(self) -> _Moving | None:
        """Return what moves, or None."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Start to show."""
        if (moving := self.moving()) is not None:
            moving.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take it away."""
        if (moving := self.moving()) is not None:
            moving.stop()

    def print_now_and_then(self, line: str) -> None:
        """Print a line, if the last one was a while ago."""
        if not self.is_quiet and time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + _LINE_EVERY_S
            self.console.print(line, soft_wrap=True)
