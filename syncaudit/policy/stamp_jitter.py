"""Judge jitter: is it of the stamps, or of the sampling, which is as true as any other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from syncaudit.formatting import word_duration
from syncaudit.model import Finding, PairMeasurement, ReasonCode, SourceKind, StampAudit
from syncaudit.policy.case import defect, limited, remark
from syncaudit.policy.limits import Limits

__all__ = ["Witness", "judge_jitter", "witness_of"]

# One-sided delays below this are what every bus and every operating system does.
_WORTH_A_WORD_S = 5e-4
# Standard errors of the stamps' part of the jitter, and what is added to them: the variances of
# some hundred stamps are known to a twentieth, and on real motion parts were 0.2 off, once 0.5.
_SURE, _SHARE_STD = 2.0, 0.1
# So content rejects only where surely most of the variance is of the stamps.
_MOST = 0.5
# Fewer stamps do not show whether they scatter around a clock, or the sampling has none.
_FEW = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """What is known, beside the stamps, of whose jitter it is.

    Parameters
    ----------
    is_device : bool
        Whether the source samples by an oscillator of its own: whatever scatters, it is no
        sampling.
    least, most : float
        Bounds of the part of the jitter's variance that is of the stamps, by content.
    """

    is_device: bool = False
    least: float = 0.0
    most: float = 1.0


def witness_of(
    name: str, kind: SourceKind | str, measurements: Sequence[PairMeasurement]
) -> Witness:
    """Return what content, or the build of the device, says of a source's jitter.

    Parameters
    ----------
    name : str
        Source.
    kind : SourceKind
        IMUs, sound cards and bus nodes sample by an oscillator of their own. Cameras may be
        triggered, and robot states be read, by a program.
    measurements : sequence of PairMeasurement
        Of the clip; ``stamp_share`` is the stamps' part of a camera's jitter.
    """
    shares = [
        (pair.diagnostics["stamp_share_std"], pair.diagnostics["stamp_share"])
        for pair in measurements
        if pair.accepted and pair.source == name and "stamp_share" in pair.diagnostics
    ]
    is_device = kind not in (SourceKind.CAMERA, SourceKind.STATE)
    if not shares:
        return Witness(is_device=is_device)
    std, share = min(shares)
    reach = _SURE * math.hypot(std, _SHARE_STD)
    low, high = (min(1.0, max(0.0, bound)) for bound in (share - reach, share + reach))
    return Witness(is_device=is_device, least=low, most=high)


def judge_jitter(name: str, audit: StampAudit, limits: Limits, witness: Witness) -> list[Finding]:
    """Return findings about the jitter of one source.

    Jitter beyond a limit rejects only where so much of it is shown to be of the stamps: by content,
    by the build of the device, or by delays that are one-sided, as those of transport are. Where
    content shows that less is, it is a remark: the sampling is uneven. Where nothing shows either,
    the source is left unverified.
    """
    if audit.samples < _FEW:
        witness = replace(witness, is_device=False)
    waiting_s, jitter_s = audit.buffering_s, audit.jitter_s
    findings: list[Finding] = []
    if waiting_s is not None and waiting_s >= _WORTH_A_WORD_S:
        limit = limits.buffering_s
        text = f"{name} waits {word_duration(waiting_s)} on average before being timestamped"
        if limit is not None and waiting_s > limit:
            return _weighed(name, text, waiting_s, limit, witness, is_shown=True)
        findings = [limited(ReasonCode.JITTER, name, text, waiting_s, limit)]
    if jitter_s is None or limits.jitter_s is None or jitter_s <= limits.jitter_s:
        return findings
    text = f"{name} jitters by {word_duration(jitter_s)} (one sigma)"
    is_shown = waiting_s is not None
    return _weighed(name, text, jitter_s, limits.jitter_s, witness, is_shown=is_shown)


def _weighed(
    name: str, text: str, value: float, limit: float, witness: Witness, *, is_shown: bool
) -> list[Finding]:
    """Word jitter beyond its limit by what is known of its origin."""
    text = f"{text}; limit {word_duration(limit)}"
    least, most = (value * math.sqrt(share) for share in (witness.least, witness.most))
    if most <= limit:
        text = (
            f"{text}. By the content it samples unevenly, and its timestamps are good to "
            f"{word_duration(most)}"
        )
        return [remark(ReasonCode.JITTER, name, text, value=value, limit=limit)]
    is_shown = is_shown or (least > limit and witness.least >= _MOST)
    if is_shown or witness.is_device:
        return [defect(ReasonCode.JITTER, name, text, value=value, limit=limit)]
    doubt = (
        f"{name}: nothing shows whether its sampling or its timestamps are uneven. Record motion "
        "that a gyroscope measures as well, or stamp at capture (hardware trigger, PTP)"
    )
    return [
        remark(ReasonCode.JITTER, name, text, value=value, limit=limit),
        remark(ReasonCode.UNOBSERVABLE, name, doubt),
    ]
