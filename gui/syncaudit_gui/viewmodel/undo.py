"""Undo and redo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["UndoStack"]

_DEPTH = 500


@dataclass(frozen=True, slots=True)
class _Step:
    text: str
    do: Callable[[], None]
    undo: Callable[[], None]


class UndoStack:
    """Steps that were done, and those that were undone."""

    def __init__(self) -> None:
        self._done: list[_Step] = []
        self._undone: list[_Step] = []

    def do(self, text: str, do: Callable[[], None], undo: Callable[[], None]) -> None:
        """Do something that can be undone; this clears the redo steps."""
        do()
        self._done = [*self._done[1 - _DEPTH :], _Step(text, do, undo)]
        self._undone.clear()

    def undo(self) -> str | None:
        """Undo the last step and return its text; None if there is none."""
        if not self._done:
            return None
        step = self._done.pop()
        step.undo()
        self._undone.append(step)
        return step.text

    def redo(self) -> str | None:
        """Redo the last undone step and return its text; None if there is none."""
        if not self._undone:
            return None
        step = self._undone.pop()
        step.do()
        self._done.append(step)
        return step.text

    def clear(self) -> None:
        """Forget everything."""
        self._done.clear()
        self._undone.clear()
