"""One line of a diagnosis."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["Status", "Symptom"]


class Status(StrEnum):
    """How good a thing is."""

    OK = "ok"
    ABSENT = "absent"  # optional, and not there
    FAULTY = "faulty"  # there, or needed, and does not work
    UNKNOWN = "unknown"  # could not be found out


@dataclass(frozen=True, slots=True)
class Symptom:
    """What was found out about one thing."""

    name: str
    status: Status
    detail: str  # version, size, or why not
    cure: str | None = field(default=None, kw_only=True)  # what to do to have it

    def to_json(self) -> dict[str, object]:
        """Return the fields for programs."""
        return {
            "name": self.name,
            "status": str(self.status),
            "detail": self.detail,
            "cure": self.cure,
        }
