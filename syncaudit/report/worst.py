"""The clips to look at first: the worst of every cause, the most common causes first."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from itertools import zip_longest

from syncaudit.model import ClipVerdict, Finding, Verdict
from syncaudit.report.causes import Key, causes_of

__all__ = ["MAX_SHOWN", "WorstClips"]

MAX_SHOWN = 12
# Clips per cause; the page must show every cause before it repeats one.
_OF_EACH = 3
# Causes that clips are kept for: a verdict takes about 10 kB.
_MAX_CAUSES = 200


class WorstClips:
    """Keeps the rejected clips that exceed their limits most, a few of every cause."""

    def __init__(self) -> None:
        self._kept: dict[Key, list[tuple[float, int, ClipVerdict]]] = {}
        self._n_clips: Counter[Key] = Counter()
        self._seen = 0

    def add(self, clip: ClipVerdict) -> None:
        """Add the verdict on one clip."""
        self._seen += 1
        if clip.verdict is not Verdict.REJECT or not clip.reasons:
            return
        key = causes_of(clip)[0]
        self._n_clips[key] += 1
        if key not in self._kept and len(self._kept) >= _MAX_CAUSES:
            return
        heap = self._kept.setdefault(key, [])
        # Among equals the first clip is kept, and verdicts are never compared with each other.
        entry = (_severity(clip.reasons[0]), -self._seen, clip)
        if len(heap) < _OF_EACH:
            heapq.heappush(heap, entry)
        else:
            heapq.heappushpop(heap, entry)

    def clips(self) -> list[ClipVerdict]:
        """Return up to twelve verdicts: the worst of each cause, then the second worst."""
        columns = [
            sorted(self._kept[key], key=lambda entry: (-entry[0], -entry[1]))
            for key, _ in self._n_clips.most_common()
            if key in self._kept
        ]
        turns = (entry for turn in zip_longest(*columns) for entry in turn if entry is not None)
        return [clip for _, _, clip in turns][:MAX_SHOWN]


def _severity(reason: Finding) -> float:
    """Return the factor by which a limit is exceeded; 1 where there is no limit."""
    value, limit = reason.value, reason.limit
    if not value or not limit or not math.isfinite(value / limit):
        return 1.0
    return float(abs(value / limit))
