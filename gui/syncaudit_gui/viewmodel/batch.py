"""The clips of a run: which there are, which are shown, in which order."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.errors import UsageError
from syncaudit.model.wording import word_duration

__all__ = ["BatchList", "ClipRow", "Show", "SortBy", "read_verdict_rows", "summarise"]


class Show(StrEnum):
    """Which clips are listed."""

    ALL = "all"
    PASS = "pass"  # noqa: S105  # a verdict, not a password
    REJECT = "reject"
    UNVERIFIED = "unverified"
    UNLABELLED = "unlabelled"


class SortBy(StrEnum):
    """Orders of the list."""

    FILE = "file"
    CLIP = "clip"
    VERDICT = "verdict"
    WORST = "worst"
    LABEL = "label"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipRow:
    """One line of the list.

    Parameters
    ----------
    clip_id : str
        Clip.
    verdict : str, optional
        None: not judged.
    headline : str
        First reason, or what is worst of it.
    worst_s : float
        Largest offset of any source that is known; 0 without one.
    place : tuple of int, optional
        First byte and length of its line in ``verdicts.jsonl``.
    """

    clip_id: str
    verdict: str | None = None
    headline: str = ""
    worst_s: float = 0.0
    place: tuple[int, int] | None = None


_RANKS = {"reject": 0, "unverified": 1, "pass": 2, None: 3}


class BatchList:
    """A filtered and sorted view of up to a hundred thousand clips and more.

    Parameters
    ----------
    rows : sequence of ClipRow
        In the order of the file.
    label_of : callable
        Label of a clip id, None without one.
    """

    def __init__(self, rows: Sequence[ClipRow], label_of: Callable[[str], str | None]) -> None:
        self._rows = list(rows)
        self._label_of = label_of
        self._keys = [f"{row.clip_id}\n{row.headline}".casefold() for row in self._rows]
        self._ranks = np.array([_RANKS.get(row.verdict, 3) for row in self._rows], dtype=np.int8)
        self._worst = np.array([row.worst_s for row in self._rows], dtype=np.float64)
        self._place = {row.clip_id: k for k, row in enumerate(self._rows)}
        self.show, self.text = Show.ALL, ""
        self.sort_by, self.is_descending = SortBy.FILE, False
        self._visible: NDArray[np.intp] = np.arange(len(self._rows))

    def __len__(self) -> int:
        """Return the number of clips that are listed."""
        return int(self._visible.size)

    def __getitem__(self, line: int) -> ClipRow:
        """Return the clip on a line of the list."""
        return self._rows[int(self._visible[line])]

    @property
    def n_all(self) -> int:
        """Clips, listed or not."""
        return len(self._rows)

    def find(self, clip_id: str) -> ClipRow | None:
        """Return a clip, listed or not."""
        place = self._place.get(clip_id)
        return None if place is None else self._rows[place]

    def line_of(self, clip_id: str) -> int | None:
        """Return the line of a clip; None where it is not listed."""
        lines = np.flatnonzero(self._visible == self._place.get(clip_id, -1))
        return int(lines[0]) if lines.size else None

    def neighbour(self, clip_id: str, by: int) -> ClipRow | None:
        """Return the clip `by` lines on; the nearest end where the list is over."""
        if not len(self):
            return None
        line = self.line_of(clip_id)
        place = 0 if line is None else min(max(line + by, 0), len(self) - 1)
        return self[place]

    def replace(self, row: ClipRow) -> None:
        """Put in what became known of a clip."""
        place = self._place[row.clip_id]
        self._rows[place] = row
        self._keys[place] = f"{row.clip_id}\n{row.headline}".casefold()
        self._ranks[place] = _RANKS.get(row.verdict, 3)
        self._worst[place] = row.worst_s

    def arrange(self) -> None:
        """List anew, after a change of `show`, `text`, `sort_by`, `is_descending` or a label."""
        keep = np.ones(len(self._rows), dtype=np.bool_)
        if self.show is Show.UNLABELLED:
            keep = np.array([self._label_of(row.clip_id) is None for row in self._rows], np.bool_)
        elif self.show is not Show.ALL:
            keep = self._ranks == _RANKS[str(self.show)]
        words = self.text.casefold().split()
        if words:
            keep &= np.array([all(word in key for word in words) for key in self._keys], np.bool_)
        visible = np.flatnonzero(keep)
        if self.sort_by is SortBy.CLIP:
            visible = np.array(sorted(visible, key=lambda k: self._keys[k]), dtype=np.intp)
        elif self.sort_by is SortBy.LABEL:
            names = [self._label_of(self._rows[k].clip_id) or "~" for k in visible]
            visible = visible[np.argsort(np.array(names, dtype=np.str_), kind="stable")]
        elif self.sort_by is not SortBy.FILE:
            key = self._ranks if self.sort_by is SortBy.VERDICT else -self._worst
            visible = visible[np.argsort(key[visible], kind="stable")]
        self._visible = visible[::-1] if self.is_descending else visible


def read_verdict_rows(path: Path) -> list[ClipRow]:
    """Return the lines of a ``verdicts.jsonl``; of a clip that stands twice the later counts.

    Raises
    ------
    UsageError
        If it cannot be read or holds no verdict.
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
    """Return the line of the list for a verdict row; None where it is none."""
    clip_id, verdict = row.get("clip_id"), row.get("verdict")
    if not isinstance(clip_id, str) or not isinstance(verdict, str):
        return None
    sources = row.get("sources")
    worst_s, headline = 0.0, ""
    for name, source in sources.items() if isinstance(sources, dict) else ():
        offset_s = source.get("offset_s") if isinstance(source, dict) else None
        if isinstance(offset_s, int | float) and abs(offset_s) > worst_s:
            worst_s = abs(offset_s)
            headline = f"max {word_duration(abs(offset_s))} ({name})"
    reasons = row.get("reasons")
    if isinstance(reasons, list) and reasons and isinstance(reasons[0], dict):
        headline = str(reasons[0].get("message", ""))
    return ClipRow(
        clip_id=clip_id, verdict=verdict, headline=headline, worst_s=worst_s, place=place
    )


def _summary(line: bytes, start: int) -> ClipRow | None:
    if not line.endswith(b"\n"):
        return None  # half written when the run was killed
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return summarise(row, (start, len(line))) if isinstance(row, dict) else None
