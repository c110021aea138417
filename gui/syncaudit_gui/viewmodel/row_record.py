"""What a verdict row still knows of its measurements: clocks that jump, faults of pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from syncaudit.errors import SyncAuditError
from syncaudit.model import Clip, ClipRecord, ClockJump, PictureAudit
from syncaudit.pipeline.conclude import solve_record
from syncaudit.policy import load_policy

__all__ = ["jumps_of_row", "pictures_of_row"]


def jumps_of_row(row: Mapping[str, Any], clip: Clip | None) -> Mapping[str, ClockJump] | None:
    """Return which clocks of a clip jump; None where its row does not tell.

    A row names offsets relative to the reference; who of them jumped is solved again from the
    measurements that it holds.

    Parameters
    ----------
    row : mapping
        Of ``verdicts.jsonl``.
    clip : Clip, optional
        Its row of the manifest.
    """
    try:
        record = ClipRecord.from_row(row)
        if record is None or clip is None:
            return None
        # The policy only chooses the reference, which is known, and whom to believe in a tie.
        return solve_record(clip, record, load_policy(), reference=row.get("reference")).jumps
    except (SyncAuditError, KeyError, TypeError, ValueError, AttributeError):
        return None


def pictures_of_row(row: Mapping[str, Any]) -> dict[str, PictureAudit]:
    """Return what was wrong with the pictures of each camera; empty where a row does not tell."""
    try:
        pictures = (row.get("record") or {}).get("pictures") or {}
        return {str(name): PictureAudit.from_json(item) for name, item in pictures.items()}
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}
