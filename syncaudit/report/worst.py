"""The clips worth looking at first: the worst of every cause, the commonest causes first."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from syncaudit.report.causes import Key, causes_of

__all__ = ["MAX_SHOWN", "WorstClips"]

MAX_SHOWN = 12
# Of one cause; the page shall show every cause before it repeats one.
_OF_EACH = 3
# Causes that clips are kept for: rows are some 10 kB each.
_MAX_CAUSES = 200


class WorstClips:
    """Keeps the rejected clips that break their limits most, a few of every cause."""

    def __init__(self) -> None:
        self._kept: dict[Key, list[tuple[float, int, Mapping[str, Any]]]] = {}
        self._clips: Counter[Key] = Counter()
        self._seen = 0

    def add(self, row: Mapping[str, Any]) -> None:
        """Take in one row of ``verdicts.jsonl``."""
        self._seen += 1
        if row["verdict"] != "reject" or not row["reasons"]:
            return
        key = causes_of(row)[0]
        self._clips[key] += 1
        if key not in self._kept and len(self._kept) >= _MAX_CAUSES:
            return
        heap = self._kept.setdefault(key, [])
        # Of equals the first clip stays, and no two rows are ever compared.
        entry = (_severity(row["reasons"][0]), -self._seen, row)
        if len(heap) < _OF_EACH:
            heapq.heappush(heap, entry)
        else:
            heapq.heappushpop(heap, entry)

    def rows(self) -> list[Mapping[str, Any]]:
        """Return up to twelve rows: the worst of each cause, then the second worst."""
        columns = [
            sorted(self._kept[key], key=lambda entry: (-entry[0], -entry[1]))
            for key, _ in self._clips.most_common()
            if key in self._kept
        ]
        turns = (entry for turn in zip_longest(*columns) for entry in turn if entry is not None)
        return [row for _, _, row in turns][:MAX_SHOWN]


def _severity(reason: Mapping[str, Any]) -> float:
    """Return by how many times a limit is broken; what has no limit counts as once."""
    value, limit = reason["value"], reason["limit"]
    if not value or not limit or not math.isfinite(value / limit):
        return 1.0
    return float(abs(value / limit))
