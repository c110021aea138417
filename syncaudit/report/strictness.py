"""Find what a filter removes along with rejected clips: rare conditions, whole recordings."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Any

from syncaudit.dsp.rates import Rate
from syncaudit.formatting import word_share
from syncaudit.model import ClipVerdict, Verdict

# Upper ends of the classes of each condition, in the units of `ClipRecord.conditions`, and their
# labels.
_CLASSES: dict[str, tuple[tuple[float, str], ...]] = {
    "speed": (
        (0.5, "standing"),
        (8.0, "below 29 km/h"),
        (17.0, "29 to 61 km/h"),
        (math.inf, "faster"),
    ),
    "turning": (
        (math.radians(1.5), "hardly any (below 1.5 °/s)"),
        (math.radians(5.0), "some (below 5 °/s)"),
        (math.inf, "much"),
    ),
    "light": ((40.0, "dark"), (80.0, "dim"), (math.inf, "light")),
}
_LONG = 5  # clips from which a recording is listed by itself
_MOST_RECORDINGS = 100_000
_SHOWN = 10
# A class is lost if its pass rate is significantly below this fraction of that elsewhere.
_LOST_SHARE = 0.8


class Strictness:
    """Counts verdicts by the conditions of clips, one clip at a time."""

    def __init__(self) -> None:
        self._classes: dict[str, dict[str, Counter[Verdict]]] = {
            condition: {words: Counter() for _, words in classes}
            for condition, classes in _CLASSES.items()
        }
        self._recordings: dict[str, Counter[Verdict]] = defaultdict(Counter)
        self._all: Counter[Verdict] = Counter()

    def add(self, clip: ClipVerdict) -> None:
        """Add the verdict on one clip."""
        self._all[clip.verdict] += 1
        if clip.recording_id in self._recordings or len(self._recordings) < _MOST_RECORDINGS:
            self._recordings[clip.recording_id][clip.verdict] += 1
        known = {} if clip.record is None else clip.record.conditions
        for condition, value in known.items():
            for end, words in _CLASSES.get(condition, ()):
                if value < end:
                    self._classes[condition][words][clip.verdict] += 1
                    break

    def to_view(self) -> dict[str, Any]:
        """Return the table of conditions, and the recordings with the lowest pass rates."""
        shown = [
            {
                "condition": condition,
                "lines": [
                    self._line(name, n, sum(classes.values(), Counter()))
                    for name, n in classes.items()
                ],
            }
            for condition, classes in self._classes.items()
            if sum(counts.total() > 0 for counts in classes.values()) > 1
        ]
        whole = [
            self._line(name, counts, self._all)
            for name, counts in self._recordings.items()
            if counts.total() >= _LONG
        ]
        worst = sorted((one for one in whole if one["is_lost"]), key=lambda one: one["pass_share"])
        return {"conditions": shown, "recordings": worst[:_SHOWN], "n_recordings": len(worst)}

    def _line(self, name: str, counts: Counter[Verdict], whole: Counter[Verdict]) -> dict[str, Any]:
        """Return a row of the table: verdicts, and the share before and after the filter."""
        n = counts.total()
        passed = Rate(n_hits=counts[Verdict.PASS], n=n, n_clips=n)
        others = whole - counts
        usual = others[Verdict.PASS] / others.total() if others.total() else 0.0
        return {
            "name": name,
            "clips": n,
            "pass_share": passed.share or 0.0,
            "verdicts": {str(v): word_share(counts[v], n) if n else "–" for v in Verdict},
            "of_all": word_share(n, whole.total()) if n else "–",
            "of_passed": word_share(counts[Verdict.PASS], whole[Verdict.PASS])
            if whole[Verdict.PASS]
            else "–",
            "is_lost": bool(n) and passed.interval()[1] < _LOST_SHARE * usual,
        }
