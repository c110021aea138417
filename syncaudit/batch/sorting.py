"""Sort the clips of a run: those to audit, those to judge again, those that are done."""

from __future__ import annotations

import json
from collections.abc import Sequence

from syncaudit.batch.fingerprint import content_half
from syncaudit.batch.ledger import Ledger
from syncaudit.batch.task import AuditTask
from syncaudit.model import Clip

__all__ = ["sort_out"]


def sort_out(clips: Sequence[Clip], ledger: Ledger, task: AuditTask) -> tuple[list[int], list[int]]:
    """Return which clips must be audited, and which only judged again.

    What was measured before is kept beside until it is measured anew: a store that cannot be
    asked, or reached, today may hold the same files tomorrow.
    """
    todo, again = [], []
    for k, clip in enumerate(clips):
        entry = ledger.entry(clip.clip_id)
        known = None if entry is None else entry.fingerprint
        kept = known or _fingerprint_in(ledger.outdated(clip.clip_id))
        now = task.fingerprint(clip) if kept else None
        if now is not None and now == known:
            continue
        if kept and now is not None and content_half(now) == content_half(kept):
            again.append(k)
        else:
            todo.append(k)
        ledger.outdate(clip.clip_id)
    return todo, again


def _fingerprint_in(line: str | None) -> str | None:
    return None if line is None else json.loads(line).get("fingerprint")
