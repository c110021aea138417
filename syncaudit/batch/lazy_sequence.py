"""A sequence whose items are made when asked for, so that a million tasks need no memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

__all__ = ["LazySequence"]

_Item = TypeVar("_Item")


class LazySequence(Generic[_Item]):
    """Items at some positions, each made by a function of its position."""

    def __init__(self, positions: Sequence[int], make: Callable[[int], _Item]) -> None:
        self._positions = positions
        self._make = make

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._positions)

    def __getitem__(self, index: int) -> _Item:
        """Make the item at `index`."""
        return self._make(self._positions[index])

    def __iter__(self) -> Iterator[_Item]:
        """Make one after the other."""
        return map(self._make, self._positions)
