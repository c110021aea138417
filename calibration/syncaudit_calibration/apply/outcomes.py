"""What was done to the sources of a clip, for people and for ``corrections.jsonl``."""

from __future__ import annotations

from dataclasses import dataclass

from syncaudit.model import ClockMap

__all__ = ["ClipOutcome", "SourceOutcome"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOutcome:
    """What was done to one source.

    Parameters
    ----------
    source : str
        Its name.
    correction : ClockMap, optional
        What was added to its stamps; None where they stay.
    why : str, optional
        Reason why they stay.
    is_failure : bool
        Whether they stay although a correction is known.
    remarks : tuple of str
        What the correction does not mend, and the like.
    """

    source: str
    correction: ClockMap | None = None
    why: str | None = None
    is_failure: bool = False
    remarks: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the object of ``corrections.jsonl``."""
        found = self.correction
        return {
            "offset_s": None if found is None else found.offset_s,
            "drift_ppm": None if found is None else found.drift_ppm,
            "at_ns": None if found is None else found.at_ns,
            "unchanged": self.why,
            "remarks": list(self.remarks),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipOutcome:
    """What was done to one clip."""

    clip_id: str
    sources: tuple[SourceOutcome, ...]

    @property
    def n_corrected(self) -> int:
        """Sources whose stamps were corrected."""
        return sum(source.correction is not None for source in self.sources)

    def to_json(self) -> dict[str, object]:
        """Return the row of ``corrections.jsonl``."""
        return {
            "clip_id": self.clip_id,
            "sources": {source.source: source.to_json() for source in self.sources},
        }
