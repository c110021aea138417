"""Find the verdict rows in a file, and the damaged lines."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from syncaudit.errors import UsageError
from syncaudit.model import ClipVerdict, Verdict
from syncaudit.readers.runs import clip_of_row, is_intact

EDITED = "is not a verdict as a run writes it, or was edited"
_VERDICTS = frozenset(map(str, Verdict))
# Exceptions that `ClipVerdict.from_row` raises.
_NO_ROW = (KeyError, TypeError, ValueError, AttributeError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Location of one clip's verdict in the file."""

    start: int  # byte range of its line, without the newline
    length: int
    verdict: str
    fingerprint: str | None  # None: audit again next time
    is_sealed: bool = True  # lines of older versions carry no digest of themselves


def line_at(file: int, entry: Entry) -> str:
    """Return a line of an open file as text."""
    return os.pread(file, entry.length, entry.start).decode()


def verdict_at(line: str) -> ClipVerdict:
    """Return the verdict in a line of ``verdicts.jsonl``, if this version can read it."""
    row = json.loads(line)
    try:
        return ClipVerdict.from_row(row)
    except _NO_ROW as error:
        raise UsageError(
            f"the verdict on clip '{row['clip_id']}' cannot be read "
            f"({type(error).__name__}: {error})",
            hint="Another version of syncaudit wrote it, or it was edited: validate that clip "
            "again.",
        ) from error


def scan(handle: int) -> tuple[dict[str, Entry], int, list[tuple[int, str]]]:
    """Return the verdict lines of a file by clip, the end of the last whole line, and the damage.

    Damage is given as the line number, counted from 1, and what is wrong with it. Earlier lines of
    the same clip are ignored, as they are out of date.
    """
    index: dict[str, Entry] = {}
    damaged = []
    end = 0
    with open(handle, "rb", closefd=False) as file:  # it is open already
        file.seek(0)
        for number, data in enumerate(file, start=1):
            if not data.endswith(b"\n"):
                # Half written when the last run was killed.
                damaged.append((number, "is cut off"))
                index.pop(clip_of_row(data) or "", None)
                break
            is_as_written = is_intact(data)
            row = None if is_as_written is False else _row_of(data, is_sealed=is_as_written is True)
            if row is None:
                damaged.append((number, EDITED))
                index.pop(clip_of_row(data) or "", None)
            else:
                index[row["clip_id"]] = Entry(
                    start=end,
                    length=len(data) - 1,
                    verdict=row["verdict"],
                    fingerprint=row.get("fingerprint"),
                    is_sealed=is_as_written is True,
                )
            end += len(data)
    return index, end, damaged


def _row_of(data: bytes, *, is_sealed: bool) -> dict[str, Any] | None:
    """Return a verdict row; None for anything else."""
    try:
        row = json.loads(data)
        if not is_sealed:  # an older row: edits cannot be detected without a digest
            ClipVerdict.from_row(row)
    except (*_NO_ROW, RecursionError):
        return None
    is_verdict = (
        isinstance(row, dict)
        and isinstance(row.get("clip_id"), str)
        and row.get("verdict") in _VERDICTS
        and isinstance(row.get("fingerprint"), str | None)
    )
    return row if is_verdict else None
