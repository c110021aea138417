"""Where the time of a run went: CPU seconds by stage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from syncaudit.formatting import word_duration, word_share, word_span

__all__ = ["stage_times"]

# In the order in which an audit passes through them.
_STAGES = {
    "read": "files read",
    "stamps": "stamps audited",
    "decode": "pictures decoded",
    "detect": "events and motion detected",
    "estimate": "offsets estimated",
    "solve": "clocks solved",
}


def stage_times(summary: Mapping[str, Any], n_clips: int) -> dict[str, Any] | None:
    """Return the CPU time by stage; None where none was measured."""
    spent: Mapping[str, float] = summary.get("stages_s") or {}
    total_s = sum(spent.values())
    if not total_s or not n_clips:
        return None
    names = [*(name for name in _STAGES if name in spent), *(s for s in spent if s not in _STAGES)]
    wall_s = summary.get("wall_s")
    fresh = n_clips - (summary.get("clips") or {}).get("reused", 0)
    return {
        "rows": [
            {
                "name": name,
                "words": _STAGES.get(name, ""),
                "percent": 100.0 * spent[name] / total_s,
                "share": word_share(spent[name], total_s),
                "total": _spent(spent[name]),
                "each": _spent(spent[name] / n_clips),
            }
            for name in names
        ],
        "total": _spent(total_s),
        "each": _spent(total_s / n_clips),
        "wall": None if not wall_s else _spent(wall_s),
        "pace": None if not wall_s or fresh <= 0 else f"{3600.0 * fresh / wall_s:,.0f}",
        "workers": summary.get("workers"),
    }


def _spent(seconds: float) -> str:
    return word_span(seconds) if seconds >= 120.0 else word_duration(seconds)
