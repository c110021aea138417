"""Changes injected into clips: the rows of ``truth.jsonl``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from syncaudit.datasets.source import Source, iter_json_lines
from syncaudit.errors import ManifestError, UsageError
from syncaudit.evaluation.change import Change, Quantity
from syncaudit.model import ClockMap

TRUTH = "truth.jsonl"
# Keys in every row; other errors are only present where they were injected.
_ALWAYS = (Quantity.OFFSET, Quantity.DRIFT)
_HINT = "Expected the truth.jsonl that 'syncaudit inject' wrote."


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected:
    """One variant of a clip, in which one source was moved, or none."""

    clip_id: str  # the variant
    original: str  # the clip that it was made from
    # The moved source; None for a control, identical to the original except for its name.
    source: str | None = None
    kind: str | None = None
    # The correction that undoes the change; zero for a control.
    change: Change = Change(amount=0.0)  # noqa: RUF009  # frozen
    at_ns: int | None = None  # moved timestamp at which a drift begins
    moved: tuple[str, ...] = ()  # the source, and all others that share its clock
    recording: str | None = None  # recording of the original, if stated

    @property
    def is_control(self) -> bool:
        """Whether nothing was moved."""
        return self.source is None

    def offset_at(self, at_ns: int | None) -> float:
        """Return the offset to undo at another time, in seconds."""
        if not self.change.drift_ppm or self.at_ns is None or at_ns is None:
            return self.change.offset_s
        return ClockMap(drift_ppm=self.change.drift_ppm, at_ns=self.at_ns).change_at(at_ns)

    def to_json(self) -> dict[str, object]:
        """Return the row of ``truth.jsonl``."""
        change = self.change
        return {
            "clip_id": self.clip_id,
            "original": self.original,
            "source": self.source,
            "kind": self.kind,
            **dict.fromkeys(map(str, _ALWAYS), 0.0),
            str(change.quantity): change.amount,
            "at_ns": self.at_ns,
            "moved": list(self.moved),
            "recording": self.recording,
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Injected:
        """Parse a row.

        ValueError if it is not such a row, with an explanation.
        """
        source = row.get("source")
        moved = row.get("moved", [])
        at_ns = row.get("at_ns")
        for key in ("clip_id", "original"):
            if not isinstance(row.get(key), str):
                raise ValueError(f"has no {key}")
        amounts = {key: row.get(key, None if key in _ALWAYS else 0.0) for key in Quantity}
        for key, value in amounts.items():
            if not isinstance(value, float | int) or not math.isfinite(value):
                raise ValueError(f"its {key} is {value!r}, expected a number")
        done = [key for key in Quantity if amounts[key]]
        if len(done) > 1:
            raise ValueError(f"has both {done[0]} and {done[1]}, expected one error")
        if at_ns is not None and not isinstance(at_ns, int):
            raise ValueError(f"its at_ns is {at_ns!r}, expected integer nanoseconds")
        if source is not None and not isinstance(row.get("kind"), str):
            raise ValueError("has a source without its kind")
        if not isinstance(moved, list):
            raise ValueError("moved is not a list")
        quantity = done[0] if done else Quantity.OFFSET
        return cls(
            clip_id=row["clip_id"],
            original=row["original"],
            source=source,
            kind=row.get("kind"),
            change=Change(quantity=quantity, amount=float(amounts[quantity])),
            at_ns=at_ns,
            moved=tuple(map(str, moved)) or (() if source is None else (str(source),)),
            recording=None if row.get("recording") is None else str(row["recording"]),
        )


def read_truth(uri: str) -> dict[str, Injected]:
    """Return the rows of a ``truth.jsonl`` by variant.

    `uri` is a local path or any fsspec URL. UsageError if it is missing or empty, or a line is cut
    off or invalid.
    """
    found = {each.clip_id: each for each in _rows(uri)}
    if not found:
        raise UsageError("holds no variant", path=uri, hint=_HINT)
    return found


def _rows(uri: str) -> Iterator[Injected]:
    source = Source(uri)
    if source.file is None:
        raise UsageError("is a folder, expected a file", path=uri, hint=_HINT)
    try:
        for where, row in iter_json_lines(source, source.file):
            try:
                yield Injected.from_json(row)
            except ValueError as error:
                raise UsageError(
                    f"{where} is not a valid line of the truth: {error}", path=uri, hint=_HINT
                ) from error
    except ManifestError as error:
        raise UsageError(error.message, path=uri, hint=_HINT) from error
