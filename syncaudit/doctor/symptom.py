"""Define one line of a diagnosis."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Status(StrEnum):
    """Status of a checked item."""

    OK = "ok"
    ABSENT = "absent"  # optional, and missing
    FAULTY = "faulty"  # present or required, and does not work
    UNKNOWN = "unknown"  # could not be determined


@dataclass(frozen=True, slots=True)
class Symptom:
    """Result for one checked item."""

    name: str
    status: Status
    detail: str  # version, size, or reason of failure
    cure: str | None = field(default=None, kw_only=True)  # how to fix it
