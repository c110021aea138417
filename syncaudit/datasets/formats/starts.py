"""Assume starts for undated sources: all sources of a clip begin together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from syncaudit.datasets.protocol import Import

__all__ = ["assume_starts"]

_PLACED = ("camera", "audio")  # kinds that do not need a timestamp per sample


def assume_starts(rows: Mapping[str, dict[str, Any]], job: Import, *, start_ns: int = 0) -> bool:
    """Mark undated cameras and sounds: they are assumed to begin with the others.

    The start of a single file is the zero of its clip, and not an assumption. If nothing is dated,
    all begin at `start_ns`. Changes `rows` and returns whether any source of the clip is dated.
    """
    undated = {name: row for name, row in rows.items() if _is_undated(row)}
    is_any_dated = any(
        row["kind"] != "transcript" and name not in undated for name, row in rows.items()
    )
    is_assumed = is_any_dated or len({row["uri"] for row in undated.values()}) > 1
    for name, row in undated.items():
        if is_assumed:
            row["is_start_assumed"] = True
        if not is_any_dated:
            row["start_ns"] = start_ns
        else:
            job.note(f"nothing states when {name} began: assumed to begin with the others")
    if is_assumed and not is_any_dated:
        job.note(
            f"no file holds timestamps: all sources are assumed to start together, at {start_ns}; "
            "such sources never pass"
        )
    return is_any_dated


def _is_undated(row: Mapping[str, Any]) -> bool:
    return row["kind"] in _PLACED and "timestamps" not in row and "start_ns" not in row
