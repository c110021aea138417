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
    """Return which clips must be audited, and which only judged again."""
    todo, again = [], []
    for k, clip in enumerate(clips):
        entry = ledger.entry(clip.clip_id)
        known = None if entry is None else entry.fingerprint
        if entry is None:
            known = _fingerprint_in(ledger.outdated(clip.clip_id))
        if not known:
            ledger.forget(clip.clip_id)
            todo.append(k)
            continue
        now = task.fingerprint(clip)
        if now is None or content_half(now) != content_half(known):
            ledger.forget(clip.clip_id)
            todo.append(k)
        elif entry is None or now != known:
            ledger.outdate(clip.clip_id)
            again.append(k)
    return todo, again


def _fingerprint_in(line: str | None) -> str | None:
    return None if line is None else json.loads(line).get("fingerprint")
