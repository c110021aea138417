"""What an audit process sends back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from syncaudit.model import PairMeasurement, RotationIncrements, TranscriptStream
from syncaudit_gui.viewmodel.events import Event
from syncaudit_gui.viewmodel.judgement import Judgement

__all__ = [
    "AuditFailed",
    "AuditMessage",
    "AuditProgress",
    "AuditResult",
    "DelayEvidence",
    "EvidenceKey",
    "ResidualEvidence",
    "known_offset_s",
]

EvidenceKey = tuple[str, str, str]
"""Source, target and method of a measurement."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DelayEvidence:
    """How well two sources agree at every offset.

    Parameters
    ----------
    offsets_s : ndarray, shape (n,)
        Pair offsets that were tried.
    agreement : ndarray, shape (n,)
        Multiple correlation in [0, 1] of the two at that offset; NaN where too little overlaps.
    near_s : float
        Half of the offsets that are to be seen at first, around the estimate.
    """

    offsets_s: NDArray[np.float64]
    agreement: NDArray[np.float64]
    near_s: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResidualEvidence:
    """How far events that both sources noticed lie apart after the correction.

    Parameters
    ----------
    times_s : ndarray, shape (n,)
        Stamps of the source's events, seconds since the clip's epoch.
    residuals_s : ndarray, shape (n,)
        Target minus corrected source.
    """

    times_s: NDArray[np.float64]
    residuals_s: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditProgress:
    """Where an audit is.

    Parameters
    ----------
    stage : str
        ``read``, ``stamps``, ``decode``, ``detect``, ``estimate``, ``solve`` or ``evidence``.
    n_pictures, n_all : int
        Pictures looked at, and to be looked at.
    """

    stage: str
    n_pictures: int
    n_all: int

    @property
    def share(self) -> float:
        """Part of the pictures that is done, in [0, 1]."""
        return min(1.0, self.n_pictures / self.n_all) if self.n_all else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFailed:
    """An audit that ended without an answer, and why."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AuditResult:
    """An audit that ran to its end: what the window draws of it.

    Parameters
    ----------
    judgement : Judgement
        Verdict, estimates, measurements.
    row : dict
        The row of ``verdicts.jsonl``.
    events : tuple of Event
        Flashes, knocks and clicks.
    rotations : mapping of str to RotationIncrements
        What cameras saw of the motion.
    evidence : mapping of EvidenceKey to DelayEvidence or ResidualEvidence
        Behind the measurements.
    aligned : mapping of str to TranscriptStream
        Transcripts that the aligner put in time.
    """

    judgement: Judgement
    row: Mapping[str, object]
    events: tuple[Event, ...] = ()
    rotations: Mapping[str, RotationIncrements] = field(default_factory=dict)
    evidence: Mapping[EvidenceKey, DelayEvidence | ResidualEvidence] = field(default_factory=dict)
    aligned: Mapping[str, TranscriptStream] = field(default_factory=dict)


def known_offset_s(pair: PairMeasurement) -> float:
    """Return the offset of a pair, also of a refused one as far as it was found; else 0."""
    if pair.offset_s is not None:
        return pair.offset_s
    figures = pair.diagnostics
    return figures.get("offset_s", figures.get("coarse_offset_s", 0.0))


AuditMessage = AuditProgress | AuditFailed | AuditResult
