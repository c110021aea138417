"""People's labels of clips, in the label file that the viewer writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from syncaudit.errors import StreamReadError, UsageError

_HINT = "Expected the labels.jsonl of 'syncaudit view'."


class Label(StrEnum):
    """Label that a person can give a clip."""

    ACCEPT = "accept"
    REJECT = "reject"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRow:
    """One decision, a line of the label file."""

    clip_id: str  # clip of the manifest
    label: Label | None  # None withdraws an earlier label
    note: str = ""  # comment in the person's words
    is_blind: bool = False  # whether the verdict was hidden when the label was given
    # The verdict on screen; None if there was none or it was hidden.
    verdict_shown: str | None = None
    time: str = ""  # time of the decision, UTC (ISO 8601)

    @property
    def has_seen(self) -> bool:
        """Whether a verdict was on screen when the label was given."""
        return not self.is_blind and self.verdict_shown is not None

    def to_json(self) -> dict[str, object]:
        """Return the line of the file as JSON values."""
        return {
            "clip_id": self.clip_id,
            "label": None if self.label is None else str(self.label),
            "note": self.note,
            "blind": self.is_blind,
            "verdict_shown": self.verdict_shown,
            "time": self.time,
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> LabelRow | None:
        """Parse a line; None if it is not a label."""
        clip_id, label = row.get("clip_id"), row.get("label")
        if not isinstance(clip_id, str) or "label" not in row:
            return None
        if label is not None and label not in set(Label):
            return None
        shown = row.get("verdict_shown")
        return cls(
            clip_id=clip_id,
            label=None if label is None else Label(label),
            note=str(row.get("note") or ""),
            is_blind=bool(row.get("blind")),
            verdict_shown=None if shown is None else str(shown),
            time=str(row.get("time") or ""),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """The labels in effect."""

    by_clip: dict[str, LabelRow]  # the last label of every clip, without those that were withdrawn
    # Lines without a valid label, e.g. half written when a machine stopped.
    n_damaged: int


def read_labels(uri: str) -> Labels:
    """Read a label file; the last line of a clip counts.

    `uri` is a local path or any fsspec URL. UsageError if it cannot be read or holds no label.
    """
    from syncaudit.readers.uris import open_file, resolve

    found: dict[str, LabelRow] = {}
    n_damaged = n_labels = 0
    try:
        with open_file(resolve(uri)) as file:
            for line in file:
                if not line.strip():
                    continue
                row = _row(line)
                if row is None:
                    n_damaged += 1
                    continue
                n_labels += 1
                found.pop(row.clip_id, None)
                if row.label is not None:
                    found[row.clip_id] = row
    except StreamReadError as error:
        raise UsageError(
            f"the labels cannot be read: {error.message}", path=uri, hint=_HINT
        ) from error
    if not n_labels:
        raise UsageError("holds no label", path=uri, hint=_HINT)
    return Labels(by_clip=found, n_damaged=n_damaged)


def _row(line: bytes) -> LabelRow | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return LabelRow.from_json(row) if isinstance(row, dict) else None
