"""Findings on a clip, and the stable reason codes that they carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from syncaudit.model.field_names import fields_of, known_fields


class ReasonCode(StrEnum):
    """Stable reason codes of the public contract (formats, section 3)."""

    OFFSET = "offset"
    DRIFT = "drift"
    STEP = "step"
    INCONSISTENT = "inconsistent"
    JITTER = "jitter"
    GAP = "gap"
    MISSING_FRAMES = "missing_frames"
    DUPLICATE = "duplicate"
    BACKWARDS = "backwards"
    RATE = "rate"
    UNREADABLE = "unreadable"
    CORRUPT = "corrupt"
    NON_FINITE = "non_finite"
    MISSING_FILE = "missing_file"
    EMPTY = "empty"
    BAD_TEXT = "bad_text"
    LENGTH_MISMATCH = "length_mismatch"
    UNOBSERVABLE = "unobservable"
    TIMEOUT = "timeout"
    MANIFEST = "manifest"


class Severity(StrEnum):
    """Effect of a finding on the verdict."""

    DEFECT = "defect"  # rejects the source
    DOUBT = "doubt"  # rejects nothing, but keeps the source from passing
    WARNING = "warning"  # is reported and decides nothing


# Of a message: an error with its hint and path.
_MOST_CHARACTERS = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing found wrong, as a sentence and with its figure if it has one.

    Parameters
    ----------
    code : ReasonCode
        Stable code that programs branch on.
    message : str
        Sentence for users: place, what was found, what to do.
    source : str, optional
        Source concerned; None for the clip as a whole.
    value, limit : float, optional
        Measured figure and the limit it broke, in base units.
    severity : Severity
        Whether it rejects, holds a pass back, or only warns.
    """

    code: ReasonCode
    source: str | None = None
    message: str
    value: float | None = None
    limit: float | None = None
    severity: Severity = Severity.DEFECT

    @classmethod
    def warning(
        cls,
        code: ReasonCode,
        source: str | None,
        message: str,
        *,
        value: float | None = None,
        limit: float | None = None,
    ) -> Finding:
        """Return a finding that rejects nothing."""
        return cls(
            code=code,
            source=source,
            message=message,
            value=value,
            limit=limit,
            severity=Severity.WARNING,
        )

    def __post_init__(self) -> None:
        """Truncate excessively long messages."""
        if len(self.message) > _MOST_CHARACTERS:
            object.__setattr__(self, "message", f"{self.message[:_MOST_CHARACTERS]}...")

    @property
    def is_lack(self) -> bool:
        """Whether it reports missing evidence, rather than something wrong."""
        return self.severity is Severity.DOUBT or self.code is ReasonCode.UNOBSERVABLE

    def to_json(self) -> dict[str, object]:
        """Return the fields of formats.md section 3."""
        own = fields_of(self)
        del own["severity"]
        return own | {"code": str(self.code)}

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Finding:
        """Return the finding of a verdict row; a row does not hold its severity.

        Raises
        ------
        KeyError, TypeError, ValueError
            If it is not a finding.
        """
        own = {
            "code": ReasonCode(item["code"]),
            "severity": Severity(item.get("severity", Severity.DEFECT)),
        }
        return cls(**{**known_fields(cls, item), **own})
