"""Lines of the clip list, read from the rows of ``verdicts.jsonl``."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from syncaudit.errors import UsageError
from syncaudit.formatting import word_correction, word_duration
from syncaudit.report.reasons import ACTIONS
from syncaudit_gui.viewmodel.wording import SECONDS_FROM_S, word_drift, word_offset

# Verdicts between two progress messages.
_TOLD_ROWS = 500
# Reasons whose value is an offset, and a duration.
_SIGNED, _DURATIONS = ("offset", "step"), ("jitter", "gap")


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
