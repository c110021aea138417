"""Date what nothing dates: all sources of a clip are taken to begin together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from syncaudit.datasets.formats.protocol import Import

__all__ = ["assume_start"]


def assume_start(rows: Mapping[str, dict[str, Any]], start_ns: int, job: Import) -> None:
    """Give cameras and sounds a start, marked as assumed where several share it.

    The start of a single file is the zero of its clip, and no assumption.

    Parameters
    ----------
    rows : mapping of str to dict
        Sources of one clip without any stamps; changed.
    start_ns : int
        When all begin.
    job : Import
        Gets the note.
    """
    undated = [
        row for row in rows.values() if row["kind"] in ("camera", "audio") and "start_ns" not in row
    ]
    n_files = len({row["uri"] for row in undated})
    for row in undated:
        row["start_ns"] = start_ns
        if n_files > 1:
            row["is_start_assumed"] = True
    if n_files > 1:
        job.note(
            f"no file holds stamps: all sources are taken to start together, at {start_ns}; such "
            "sources never pass"
        )
