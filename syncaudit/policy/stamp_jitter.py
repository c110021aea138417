"""Judge jitter: is it of the stamps, or of the sampling, which is as true as any other."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from syncaudit.model import Finding, PairMeasurement, ReasonCode, SourceKind, StampAudit
from syncaudit.model.wording import word_duration
from syncaudit.policy.limits import Limits
from syncaudit.policy.opinion import defect, remark

__all__ = ["Witness", "judge_jitter", "witness_of"]

# One-sided delays below this are what every bus and every operating system does.
_WORTH_A_WORD_S = 5e-4
# Log-likelihood by which one dating must beat the other, as for lobes of a delay: odds of 3,000.
_SURE = 8.0
# Fewer stamps do not show whether they scatter around a clock, or the sampling has none.
_FEW = 40


class Witness(Enum):
    """What is known, beside the stamps, of how evenly a source samples."""

    NONE = "none"
    EVEN = "even"  # the content fits an even clock better: the jitter is of the stamps
    UNEVEN = "uneven"  # the content fits the stamps better: the jitter is of the sampling
    DEVICE = "device"  # sampled by a clock in the device: whatever scatters, it is no sampling


def witness_of(
    name: str, kind: SourceKind | str, measurements: Sequence[PairMeasurement]
) -> Witness:
    """Return what content, or the build of the device, says of a source's sampling.

    Parameters
    ----------
    name : str
        Source.
    kind : SourceKind
        IMUs, sound cards and bus nodes sample by an oscillator of their own. Cameras may be
        triggered, and robot states be read, by a program.
    measurements : sequence of PairMeasurement
        Of the clip; ``even_gain`` is by how much the log-likelihood is larger where a camera's
        frames are dated by an even clock instead of by their stamps.
    """
    gains = [
        pair.diagnostics["even_gain"]
        for pair in measurements
        if pair.source == name and "even_gain" in pair.diagnostics
    ]
    gain = max(gains, key=abs, default=0.0)
    if abs(gain) > _SURE:
        return Witness.EVEN if gain > 0.0 else Witness.UNEVEN
    return Witness.NONE if kind in (SourceKind.CAMERA, SourceKind.STATE) else Witness.DEVICE


def judge_jitter(name: str, audit: StampAudit, limits: Limits, witness: Witness) -> list[Finding]:
    """Return findings about the jitter of one source.

    Jitter beyond a limit rejects only where it is shown to be of the stamps: by content, by the
    build of the device, or by delays that are one-sided, as those of transport are. Where content
    shows that the sampling is uneven it is a remark. Where nothing shows either, the source is
    left unverified.

    Parameters
    ----------
    name : str
        Source.
    audit : StampAudit
        Figures of its stamps.
    limits : Limits
        Of the source.
    witness : Witness
        From `witness_of`.
    """
    waiting_s, jitter_s = audit.buffering_s, audit.jitter_s
    if witness is Witness.DEVICE and audit.samples < _FEW:
        witness = Witness.NONE
    is_buffered = _exceeds(waiting_s, limits.buffering_s)
    findings = []
    if _exceeds(jitter_s, limits.jitter_s) and not is_buffered:
        text = f"{name} jitters by {_in_words(jitter_s)} (one sigma); limit "
        findings += _weighed(
            name, text, jitter_s, limits.jitter_s, witness, is_shown=waiting_s is not None
        )
    if waiting_s is not None and waiting_s >= _WORTH_A_WORD_S:
        limit_s = limits.buffering_s
        text = f"{name} is stamped after waiting {_in_words(waiting_s)} in a buffer on average"
        if is_buffered:
            text = f"{text}; limit "
            findings += _weighed(name, text, waiting_s, limit_s, witness, is_shown=True)
        elif not findings:
            if limit_s is not None:
                text = f"{text}; limit {_in_words(limit_s)}"
            findings.append(remark(ReasonCode.JITTER, name, text, value=waiting_s, limit=limit_s))
    return findings


def _weighed(
    name: str,
    text: str,
    value: float | None,
    limit: float | None,
    witness: Witness,
    *,
    is_shown: bool,
) -> list[Finding]:
    """Word jitter beyond its limit by what is known of its origin."""
    text = f"{text}{_in_words(limit)}"
    if witness is Witness.UNEVEN:
        text = (
            f"{text}; but the content fits these timestamps: it samples unevenly, and they are true"
        )
        return [remark(ReasonCode.JITTER, name, text, value=value, limit=limit)]
    if is_shown or witness is not Witness.NONE:
        return [defect(ReasonCode.JITTER, name, text, value=value, limit=limit)]
    doubt = (
        f"{name}: nothing shows whether its sampling or its timestamps are uneven. Record motion "
        "that a gyroscope measures as well, or stamp at capture (hardware trigger, PTP)"
    )
    return [
        remark(ReasonCode.JITTER, name, text, value=value, limit=limit),
        remark(ReasonCode.UNOBSERVABLE, name, doubt),
    ]


def _exceeds(value: float | None, limit: float | None) -> bool:
    return value is not None and limit is not None and value > limit


def _in_words(seconds: float | None) -> str:
    return "-" if seconds is None else word_duration(seconds)
