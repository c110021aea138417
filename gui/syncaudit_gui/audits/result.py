"""Messages from an audit process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from syncaudit.model import RotationIncrements, TranscriptStream
from syncaudit_gui.viewmodel.events import Event
from syncaudit_gui.viewmodel.judgement import Judgement

__all__ = ["AuditFailed", "AuditMessage", "AuditProgress", "AuditResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditProgress:
    """Progress of an audit."""

    stage: str  # ``read``, ``stamps``, ``decode``, ``detect``, ``estimate`` or ``solve``
    n_frames: int  # frames decoded, of `n_all` to decode
    n_all: int

    @property
    def share(self) -> float:
        """Fraction of the frames that is done, in [0, 1]."""
        return min(1.0, self.n_frames / self.n_all) if self.n_all else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFailed:
    """An audit that ended without a result, and why."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AuditResult:
    """Results of a completed audit that the window draws."""

    judgement: Judgement  # verdict, estimates, measurements
    row: Mapping[str, object]  # the row of ``verdicts.jsonl``
    events: tuple[Event, ...] = ()  # flashes, knocks and clicks
    # Camera motion measured from the frames.
    rotations: Mapping[str, RotationIncrements] = field(default_factory=dict)
    # Transcripts aligned by the aligner.
    aligned: Mapping[str, TranscriptStream] = field(default_factory=dict)


AuditMessage = AuditProgress | AuditFailed | AuditResult
