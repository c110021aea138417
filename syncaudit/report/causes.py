"""Find the causes in a data set: source, reason, cost, and the clips to look at first."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from syncaudit.formatting import word_correction, word_duration, word_share, word_span
from syncaudit.model import ClipVerdict, Finding, Verdict
from syncaudit.report.distribution import Distribution
from syncaudit.report.reasons import REASONS, cure_of

# Pairs of reason and source that are counted separately; a data set has a few dozen.
_MOST_CAUSES = 400
# Codes whose value is a signed time, to be read as early or late.
_SIGNED = ("offset", "step")
_SIZED = (*_SIGNED, "jitter", "gap")
# Offsets that scatter less than this fraction of their size count as constant.
_CONSTANT_SHARE = 0.2

MAX_SHOWN = 12
# Worst clips kept of a cause: the page must show every cause before it repeats one.
_OF_EACH = 3
# Causes that clips are kept for: a verdict takes about 10 kB.
_MAX_CAUSES = 200

Key = tuple[str, str]


@dataclass(slots=True)
class _Cause:
    rejected: int = 0
    unverified: int = 0
    alone: int = 0
    lost_s: float = 0.0
    sizes_s: Distribution = field(default_factory=Distribution)
    limit_s: float = math.inf

    def is_constant(self) -> bool:
        """Return whether one correction would bring (nearly) all of its clips within the limit."""
        median, spread = self.sizes_s.median(), self.sizes_s.spread()
        if median is None or spread is None:
            return False
        return spread < min(_CONSTANT_SHARE * abs(median), self.limit_s / 2)


def causes_of(clip: ClipVerdict) -> list[Key]:
    """Return the pairs of reason and source that decided a clip, in order."""
    return list(dict.fromkeys((str(r.code), r.source or "") for r in clip.reasons))


def span_of(clip: ClipVerdict) -> float:
    """Return the duration of a clip in seconds, 0 if it was never measured."""
    return 0.0 if clip.record is None else clip.record.span_s


class Causes:
    """Counts causes over clips, one row at a time."""

    def __init__(self) -> None:
        self._causes: dict[Key, _Cause] = {}
        self._clips = 0

    def add(self, clip: ClipVerdict) -> None:
        """Count the verdict on one clip."""
        self._clips += 1
        keys = causes_of(clip)
        for key in keys:
            cause = self._causes.setdefault(self._kept(key), _Cause())
            cause.rejected += clip.verdict is Verdict.REJECT
            cause.unverified += clip.verdict is Verdict.UNVERIFIED
            cause.alone += len(keys) == 1
            cause.lost_s += span_of(clip)
        for reason in clip.reasons:
            if reason.code in _SIZED:
                key = self._kept((str(reason.code), reason.source or ""))
                cause = self._causes[key]
                cause.sizes_s.add(reason.value)
                cause.limit_s = min(cause.limit_s, abs(reason.limit or math.inf))

    def _kept(self, key: Key) -> Key:
        """Return the key itself or, beyond the limit, the reason without the source."""
        if key in self._causes or len(self._causes) < _MOST_CAUSES:
            return key
        return key[0], ""

    def to_view(self) -> list[dict[str, Any]]:
        """Return the causes, those that reject the most clips first."""
        order = sorted(
            self._causes.items(), key=lambda item: (-item[1].rejected, -item[1].unverified, item[0])
        )
        return [self._view(key, cause) for key, cause in order]

    def _view(self, key: Key, cause: _Cause) -> dict[str, Any]:
        code, source = key
        clips = cause.rejected + cause.unverified
        median, extreme = cause.sizes_s.median(), cause.sizes_s.extreme()
        is_constant = cause.is_constant()
        return {
            "code": code,
            "source": source,
            "words": REASONS.get(code, code),
            "verdict": "reject" if cause.rejected else "unverified",
            "clips": clips,
            "share": word_share(clips, self._clips),
            "alone": cause.alone,
            "lost": word_span(cause.lost_s) if cause.lost_s else None,
            "offset_s": None if code != "offset" else median if is_constant else extreme,
            "size": _size(code, cause.sizes_s, is_constant=is_constant),
            "is_constant": is_constant,
            "spread_s": cause.sizes_s.spread(),
            "cure": cure_of(code, is_constant=is_constant and code == "offset"),
        }


def _size(code: str, sizes_s: Distribution, *, is_constant: bool) -> str | None:
    """Describe the size: a median if there are enough values, otherwise the largest."""
    n, extreme, median = len(sizes_s), sizes_s.extreme(), sizes_s.median()
    if extreme is None or median is None:
        return None
    seconds, how = (extreme, "up to ") if n == 2 else (median, "typically " if n > 2 else "")
    if is_constant:
        seconds, how = median, ""
    return how + (word_correction(seconds, None) if code in _SIGNED else word_duration(seconds))


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
