"""What people said of clips: the label file that the viewer writes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum

from syncaudit.errors import StreamReadError, UsageError

__all__ = ["Label", "Labels", "PersonSays", "read_labels"]

_HINT = "Expected the labels.jsonl of 'syncaudit view'."


class PersonSays(StrEnum):
    """What a person can say of a clip."""

    ACCEPT = "accept"
    REJECT = "reject"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What a person said of one clip.

    Parameters
    ----------
    says : PersonSays
        The label.
    note : str
        In the person's words.
    is_blind : bool
        Whether no verdict was on screen when it was given.
    """

    says: PersonSays
    note: str
    is_blind: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """The labels that count.

    Parameters
    ----------
    by_clip : dict of str to Label
        The last of every clip, but for those that were taken back.
    n_damaged : int
        Lines that hold no label: half written when a machine stopped, or something else.
    """

    by_clip: dict[str, Label]
    n_damaged: int


def read_labels(uri: str) -> Labels:
    """Read a label file; the last line of a clip counts.

    Parameters
    ----------
    uri : str
        Local path or any fsspec URL.

    Raises
    ------
    UsageError
        If it cannot be read or holds no label.
    """
    from syncaudit.readers.uris import open_file, resolve

    found: dict[str, Label] = {}
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
                clip_id, label = row
                found.pop(clip_id, None)
                if label is not None:
                    found[clip_id] = label
    except StreamReadError as error:
        raise UsageError(
            f"the labels cannot be read: {error.message}", path=uri, hint=_HINT
        ) from error
    if not n_labels:
        raise UsageError("holds no label", path=uri, hint=_HINT)
    return Labels(by_clip=found, n_damaged=n_damaged)


def _row(line: bytes) -> tuple[str, Label | None] | None:
    """Return clip and label of a line, where None takes it back; None if it is no label."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or not isinstance(row.get("clip_id"), str) or "label" not in row:
        return None
    if row["label"] is None:
        return row["clip_id"], None
    if row["label"] not in set(PersonSays):
        return None
    label = Label(
        says=PersonSays(row["label"]),
        note=str(row.get("note") or ""),
        is_blind=bool(row.get("blind")) or row.get("verdict_shown") is None,
    )
    return row["clip_id"], label
