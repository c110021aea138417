"""Collect numbers that a rule names from messages of any type."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from syncaudit.datasets.bags.collected import Collected
from syncaudit.datasets.bags.layout import Layout, LayoutError
from syncaudit.datasets.bags.rules import TopicRule
from syncaudit.datasets.bags.samples import SampleCollector
from syncaudit.datasets.bags.topics import Topic
from syncaudit.errors import UsageError

__all__ = ["FieldCollector"]

_ITEM = re.compile(r"^(.+)\[([0-9]+)\]$")
_MOST_NAMED = 30


class FieldCollector(SampleCollector):
    """Collects the numbers that a rule names from each message of a topic."""

    def __init__(self, topic: Topic, types: Mapping[str, Any], rule: TopicRule) -> None:
        super().__init__(topic, types)
        self.stamp = rule.stamp
        self._rule = rule

    def wanted(self, layout: Layout) -> Sequence[str]:
        """Return the fields that the rule names.

        LayoutError if a message lacks one.
        """
        return sorted({_place(layout, name)[0] for name in self._rule.fields.values()})

    def select(self, layout: Layout, columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return one column for each name of the rule, in SI units."""
        found = {}
        for name, field in self._rule.fields.items():
            slot, item = _place(layout, field)
            values = columns[slot][:, item].astype(float)
            found[name] = values * self._rule.scale.get(name, 1.0)
        return found

    def finish(self) -> list[Collected]:
        """Return the source.

        UsageError if no message has the fields that the rule names.
        """
        found = super().finish()
        if not found and self.damage.first:
            raise UsageError(
                f"{self.topic.name} ({self.topic.type_name}): {self.damage.first}",
                hint="Name a field that is a number in [[topic]] of the rules.",
            )
        return found

    def source(self, key: object, columns: dict[str, NDArray[Any]], place: int) -> Collected:  # noqa: ARG002
        """Return the source that the rule makes of the topic."""
        names = list(self._rule.fields)
        values = {name: columns[name] for name in names}
        said: dict[str, Any] = {}
        if self._rule.kind == "can":
            said = {"signals": {name: name for name in names}}
        elif self._rule.kind == "state":
            said = {"columns": {self._rule.name or "state": names}}
        made = self._made(self._rule.kind, columns, values, said=said)
        if not self.is_stamped:
            made.findings[:] = [
                f"manifest: its messages hold no '{self.stamp}', so receive timestamps are used: "
                "they include every delay between sensor and recorder"
            ]
        return made


def _place(layout: Layout, name: str) -> tuple[str, int]:
    """Return (slot, item) of a number."""
    slot, item = name, 0
    if name not in layout.slots and (found := _ITEM.match(name)) is not None:
        slot, item = found[1], int(found[2])
    numbers = {key: each.count for key, each in layout.slots.items() if each.dtype != "S"}
    if slot not in numbers or item >= numbers[slot] or (slot == name and numbers[slot] != 1):
        listed = [key if n == 1 else f"{key}[0..{n - 1}]" for key, n in numbers.items() if n]
        raise LayoutError(f"there is no number '{name}', but {', '.join(listed[:_MOST_NAMED])}")
    return slot, item
