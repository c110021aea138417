"""What was done to a clip on purpose: the rows of ``truth.jsonl``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from syncaudit.datasets.json_lines import iter_json_lines
from syncaudit.datasets.source import Source
from syncaudit.errors import ManifestError, UsageError
from syncaudit.evaluation.change import Quantity
from syncaudit.model import ClockMap

__all__ = ["TRUTH", "Injected", "read_truth"]

TRUTH = "truth.jsonl"
_PLAIN = Quantity.OFFSET
# Keys of rows that have them, of errors that are no offset and no drift.
_RARE = ("step_s", "jitter_s", "lost_frames")
_HINT = "Expected the truth.jsonl that 'syncaudit inject' wrote."


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected:
    """One variant of a clip, in which one source was moved, or none.

    Parameters
    ----------
    clip_id : str
        The variant.
    original : str
        The clip that it was made of.
    source : str, optional
        Which source was moved; None: a control, as the original but for its name.
    kind : str, optional
        Its kind.
    offset_s : float
        What must be added to the moved stamps to undo it, at `at_ns`; positive where they were
        made too early.
    drift_ppm : float
        What must be added per million of seconds after `at_ns`.
    step_s, jitter_s : float
        What must be added to stamps from `at_ns` on, and the standard deviation of their jitter.
    lost_frames : int
        Frames lost at `at_ns`, after which the rest was renumbered.
    at_ns : int, optional
        Moved stamp at which the offset holds; a drift needs it.
    moved : tuple of str
        The source, and those that share its clock.
    recording : str, optional
        Recording of the original, where it is stated.
    """

    clip_id: str
    original: str
    source: str | None = None
    kind: str | None = None
    offset_s: float = 0.0
    drift_ppm: float = 0.0
    step_s: float = 0.0
    jitter_s: float = 0.0
    lost_frames: int = 0
    at_ns: int | None = None
    moved: tuple[str, ...] = ()
    recording: str | None = None

    @property
    def is_control(self) -> bool:
        """Whether nothing was moved."""
        return self.source is None

    @property
    def quantity(self) -> Quantity:
        """What was injected."""
        return next((q for q in Quantity if q is not Quantity.OFFSET and getattr(self, q)), _PLAIN)

    @property
    def size(self) -> float:
        """How much of it, without its sign."""
        return float(abs(getattr(self, self.quantity)))

    def offset_at(self, at_ns: int | None) -> float:
        """Return the offset to undo at another instant, in seconds."""
        if not self.drift_ppm or self.at_ns is None or at_ns is None:
            return self.offset_s
        undo = ClockMap(offset_s=self.offset_s, drift_ppm=self.drift_ppm, at_ns=self.at_ns)
        return undo.change_at(at_ns)

    def to_json(self) -> dict[str, object]:
        """Return the row of ``truth.jsonl``."""
        return {
            "clip_id": self.clip_id,
            "original": self.original,
            "source": self.source,
            "kind": self.kind,
            "offset_s": self.offset_s,
            "drift_ppm": self.drift_ppm,
            **{key: value for key in _RARE if (value := getattr(self, key))},
            "at_ns": self.at_ns,
            "moved": list(self.moved),
            "recording": self.recording,
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Injected:
        """Return what a row says.

        Raises
        ------
        ValueError
            If it is no such row, in words.
        """
        source = row.get("source")
        moved = row.get("moved", [])
        at_ns = row.get("at_ns")
        for key in ("clip_id", "original"):
            if not isinstance(row.get(key), str):
                raise ValueError(f"has no {key}")
        for key in ("offset_s", "drift_ppm", *_RARE):
            value = row.get(key, 0.0 if key in _RARE else None)
            if not isinstance(value, float | int) or not math.isfinite(value):
                raise ValueError(f"its {key} is {value!r}, expected a number")
        if at_ns is not None and not isinstance(at_ns, int):
            raise ValueError(f"its at_ns is {at_ns!r}, expected integer nanoseconds")
        if source is not None and not isinstance(row.get("kind"), str):
            raise ValueError("has a source without its kind")
        if not isinstance(moved, list):
            raise ValueError("moved is no list")
        return cls(
            clip_id=row["clip_id"],
            original=row["original"],
            source=source,
            kind=row.get("kind"),
            offset_s=float(row["offset_s"]),
            drift_ppm=float(row["drift_ppm"]),
            step_s=float(row.get("step_s", 0.0)),
            jitter_s=float(row.get("jitter_s", 0.0)),
            lost_frames=int(row.get("lost_frames", 0)),
            at_ns=at_ns,
            moved=tuple(map(str, moved)) or (() if source is None else (str(source),)),
            recording=None if row.get("recording") is None else str(row["recording"]),
        )


def read_truth(uri: str) -> dict[str, Injected]:
    """Return the rows of a ``truth.jsonl`` by variant.

    Parameters
    ----------
    uri : str
        Local path or any fsspec URL.

    Raises
    ------
    UsageError
        If it is missing or empty, or a line is cut off or something else.
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
                raise UsageError(f"{where} is no truth: {error}", path=uri, hint=_HINT) from error
    except ManifestError as error:
        raise UsageError(error.message, path=uri, hint=_HINT) from error
