"""The list of clips of a run, read from ``verdicts.jsonl``: lines, filtering and sorting."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.errors import UsageError
from syncaudit.formatting import word_correction, word_duration
from syncaudit.model.arrays import Bools
from syncaudit.report.reasons import ACTIONS
from syncaudit_gui.viewmodel.wording import SECONDS_FROM_S, word_drift, word_offset

Arranging = Generator[None, None, NDArray[np.intp]]
"""Generator that yields periodically and returns the positions of the listed rows."""

_RANKS = {"reject": 0, "unverified": 1, "pass": 2, None: 3}
_LABEL_RANKS = {"accept": 0, "reject": 1, "unsure": 2, None: 3}
# Rows processed between two yields: about a millisecond.
_SLICE = 4_000

# Verdicts between two progress messages.
_TOLD_ROWS = 500
# Reasons whose value is an offset, and a duration.
_SIGNED, _DURATIONS = ("offset", "step"), ("jitter", "gap")


class Show(StrEnum):
    """Which clips are listed."""

    ALL = "all"
    PASS = "pass"  # noqa: S105  # a verdict, not a password
    REJECT = "reject"
    UNVERIFIED = "unverified"
    UNLABELLED = "unlabelled"


class SortBy(StrEnum):
    """Sort orders of the list."""

    FILE = "file"
    CLIP = "clip"
    VERDICT = "verdict"
    WORST = "worst"
    LABEL = "label"


class BatchList:
    """A filtered and sorted view of a hundred thousand clips and more."""

    def __init__(self, rows: Sequence[ClipRow], label_of: Callable[[str], str | None]) -> None:
        self._rows = list(rows)
        self._label_of = label_of
        self._ids = [row.clip_id.casefold() for row in self._rows]
        self._words = [row.headline.casefold() for row in self._rows]
        self._ranks = np.array([_RANKS.get(row.verdict, 3) for row in self._rows], dtype=np.int8)
        self._worst = np.array([row.worst_s for row in self._rows], dtype=np.float64)
        self._place = {row.clip_id: k for k, row in enumerate(self._rows)}
        labels = [_LABEL_RANKS.get(label_of(row.clip_id), 3) for row in self._rows]
        self._labels = np.array(labels, dtype=np.int8)
        # Sorted once, off the window's thread: a hundred thousand rows take longer than a frame.
        self._by_worst = np.argsort(-self._worst, kind="stable")
        self._by_clip = _order_of(self._ids)
        self.show, self.text = Show.ALL, ""
        self.sort_by, self.is_descending = SortBy.FILE, False
        self.is_blind = False
        """Whether unlabelled clips are listed as if they had no verdict."""
        self._visible: NDArray[np.intp] = np.arange(len(self._rows))

    def __len__(self) -> int:
        """Return the number of listed clips."""
        return int(self._visible.size)

    def __getitem__(self, line: int) -> ClipRow:
        """Return the clip on a line of the list."""
        return self._rows[int(self._visible[line])]

    @property
    def n_all(self) -> int:
        """Number of all clips, listed or not."""
        return len(self._rows)

    def find(self, clip_id: str) -> ClipRow | None:
        """Return a clip, listed or not."""
        place = self._place.get(clip_id)
        return None if place is None else self._rows[place]

    def line_of(self, clip_id: str) -> int | None:
        """Return the line of a clip; None if it is not listed."""
        lines = np.flatnonzero(self._visible == self._place.get(clip_id, -1))
        return int(lines[0]) if lines.size else None

    def neighbour(self, clip_id: str, by: int) -> ClipRow | None:
        """Return the clip `by` lines further; the nearest end if beyond the list."""
        if not len(self):
            return None
        line = self.line_of(clip_id)
        place = 0 if line is None else min(max(line + by, 0), len(self) - 1)
        return self[place]

    def replace(self, row: ClipRow) -> None:
        """Replace the row of a clip with new results."""
        place = self._place[row.clip_id]
        self._rows[place] = row
        self._words[place] = row.headline.casefold()
        self._ranks[place] = _RANKS.get(row.verdict, 3)
        self._worst[place] = row.worst_s
        self._by_worst = np.argsort(-self._worst, kind="stable")

    def relabel(self, clip_id: str) -> None:
        """Update the label of a clip."""
        place = self._place.get(clip_id)
        if place is not None:
            self._labels[place] = _LABEL_RANKS.get(self._label_of(clip_id), 3)

    def arrange(self) -> None:
        """Update the list, e.g. after a change of `show`, `text`, `sort_by` or a label."""
        steps = self.arranging()
        while True:
            try:
                next(steps)
            except StopIteration as found:
                self.list(found.value)
                return

    def list(self, places: NDArray[np.intp]) -> None:
        """Set the listed positions, as returned by `arranging`."""
        self._visible = places

    def arranging(self) -> Arranging:
        """Compute the list for `arrange` without applying it, yielding every few milliseconds."""
        is_hidden = (self._labels == 3) & self.is_blind
        ranks = np.where(is_hidden, _RANKS[None], self._ranks)
        keep = np.ones(len(self._rows), dtype=np.bool_)
        if self.show is Show.UNLABELLED:
            keep = self._labels == 3
        elif self.show is not Show.ALL:
            keep = ranks == _RANKS[str(self.show)]
        visible = np.flatnonzero(keep)
        for word in self.text.casefold().split():
            parts = []
            for start in range(0, visible.size, _SLICE):
                parts.append(self._holding(word, visible[start : start + _SLICE], is_hidden))
                yield
            visible = np.concatenate(parts) if parts else visible
        if self.sort_by is SortBy.CLIP:
            keep[:] = False
            keep[visible] = True
            visible = self._by_clip[keep[self._by_clip]]
        elif self.sort_by is SortBy.LABEL:
            visible = visible[np.argsort(self._labels[visible], kind="stable")]
        elif self.sort_by is not SortBy.FILE:
            keep[:] = False
            keep[visible] = True
            shown = keep & ~is_hidden
            known = self._by_worst[shown[self._by_worst]]
            visible = np.concatenate([known, visible[is_hidden[visible]]])
            if self.sort_by is SortBy.VERDICT:  # the worst of each verdict first
                visible = visible[np.argsort(ranks[visible], kind="stable")]
        return visible[::-1] if self.is_descending else visible

    def _holding(self, word: str, places: NDArray[np.intp], is_hidden: Bools) -> NDArray[np.intp]:
        """Return the positions whose clip or reason contains a word; reasons may be hidden."""
        ids, words = self._ids, self._words
        hidden = is_hidden.tolist() if self.is_blind else None
        return np.array(
            [
                k
                for k in places.tolist()
                if word in ids[k] or (word in words[k] and not (hidden and hidden[k]))
            ],
            dtype=np.intp,
        )


def _order_of(names: Sequence[str]) -> NDArray[np.intp]:
    """Return the sort order of names; other threads can run meanwhile."""
    parts = [np.array(names[k : k + _SLICE], dtype=np.str_) for k in range(0, len(names), _SLICE)]
    return np.argsort(np.concatenate(parts), kind="stable") if parts else np.arange(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipRow:
    """One line of the list."""

    clip_id: str
    verdict: str | None = None  # None if not judged
    headline: str = ""  # first reason, or its worst part
    brief: str = ""  # the same for narrow places: ``cam_rear +34.9 ms``
    worst_s: float = 0.0  # largest known offset of any source; 0 if there is none
    place: tuple[int, int] | None = None  # first byte and length of its line in ``verdicts.jsonl``


def ignore_progress(_: str) -> None:
    """Do nothing."""


def read_verdict_rows(
    path: Path, on_progress: Callable[[str], None] = ignore_progress
) -> list[ClipRow]:
    """Return the lines of a ``verdicts.jsonl``; the last line of a clip counts.

    UsageError if it cannot be read or holds no verdict.
    """
    rows: dict[str, ClipRow] = {}
    start = 0
    try:
        with path.open("rb") as file:
            for line in file:
                row = _summary(line, start)
                start += len(line)
                if row is not None:
                    rows[row.clip_id] = row
                    if len(rows) % _TOLD_ROWS == 0:
                        on_progress(f"{len(rows):,} verdicts".replace(",", " "))
    except OSError as error:
        raise UsageError(
            f"the verdicts cannot be read: {error.strerror}",
            path=str(path),
            hint="Expected the output folder of 'syncaudit validate'.",
        ) from error
    if not rows:
        raise UsageError(
            "holds no verdicts",
            path=str(path),
            hint="Expected the output of 'syncaudit validate'.",
        )
    return list(rows.values())


def summarise(row: dict[str, Any], place: tuple[int, int] | None = None) -> ClipRow | None:
    """Return the list line for a verdict row; None if it is not one."""
    clip_id, verdict = row.get("clip_id"), row.get("verdict")
    if not isinstance(clip_id, str) or not isinstance(verdict, str):
        return None
    sources = row.get("sources")
    worst_s, headline, brief = 0.0, "", ""
    for name, source in sources.items() if isinstance(sources, dict) else ():
        offset_s = source.get("offset_s") if isinstance(source, dict) else None
        if isinstance(offset_s, int | float) and abs(offset_s) > worst_s:
            worst_s = abs(offset_s)
            words = word_correction(offset_s, source.get("offset_std_s"))
            headline = f"farthest is {name}, {words}"
            brief = _brief(name, "offset", offset_s)
    reasons = row.get("reasons")
    if isinstance(reasons, list) and reasons and isinstance(reasons[0], dict):
        first = reasons[0]
        headline = str(first.get("message", ""))
        source, code, value = str(first.get("source") or ""), first.get("code"), first.get("value")
        if code == "drift" and isinstance(sources, dict):  # its value is an offset, or a rate
            value = (sources.get(source) or {}).get("drift_ppm")
        brief = _brief(source, str(code), value)
    return ClipRow(
        clip_id=clip_id,
        verdict=verdict,
        headline=headline,
        brief=brief,
        worst_s=worst_s,
        place=place,
    )


def _brief(source: str, code: str, value: object) -> str:
    """Return a reason in about twenty letters, its value before its kind."""
    kind = ACTIONS.get(code, (code.replace("_", " "), ""))[0]
    figure = ""
    if not isinstance(value, int | float):
        pass
    elif code == "drift":
        figure, kind = f"{word_drift(value, None)} ppm", ""
    elif code in _SIGNED:
        unit = "" if abs(value) >= SECONDS_FROM_S else " ms"
        step = "⇥" if code == "step" else ""
        figure, kind = f"{step}{word_offset(value, None).strip()}{unit}", ""
    elif code in _DURATIONS:
        figure = word_duration(value)
    return " ".join(part for part in (source, figure, kind) if part)


def _summary(line: bytes, start: int) -> ClipRow | None:
    if not line.endswith(b"\n"):
        return None  # half written when the run was killed
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return summarise(row, (start, len(line))) if isinstance(row, dict) else None
