"""Judge what the timestamps of one source show by themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from syncaudit.formatting import word_count, word_duration
from syncaudit.model import Finding, PairMeasurement, ReasonCode, SourceKind, StampAudit
from syncaudit.policy.case import Case, Findings, defect, limited, percentage
from syncaudit.policy.limits import Limits

# Timestamps made up as index / rate and rounded to 0.1 ms jitter less than this.
_NO_COUNTER_S = 1e-4

# One-sided delays below this are normal for any bus and operating system.
_WORTH_A_WORD_S = 5e-4
# Standard errors of the timestamps' part of the jitter, and what to add to them: the variances of
# some hundred timestamps are known to a twentieth, and on real motion parts were 0.2 off, once 0.5.
_SURE, _SHARE_STD = 2.0, 0.1
# So content rejects only if most of the variance is surely due to the timestamps.
_MOST = 0.5
# Fewer timestamps do not show whether they scatter around a clock, or the sampling has none.
_FEW = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """What is known, apart from the timestamps, about the origin of the jitter.

    `least` and `most` bound, by content, the share of the jitter's variance that is due to the
    timestamps.
    """

    # whether the source samples by an oscillator of its own: any scatter is then not due to the
    # sampling
    is_device: bool = False
    least: float = 0.0
    most: float = 1.0


_UNKNOWN = Witness()


def check_stamps(case: Case) -> Findings:
    """Return findings on the timestamps of every source, and the sources left in doubt."""
    findings = [
        finding
        for name, spec in case.clip.sources.items()
        if name in case.record.stamps
        for finding in judge_stamps(
            name,
            case.record.stamps[name],
            case.limits[name],
            noun="frame" if spec.kind == "camera" else "sample",
            stamp_kind=spec.stamp_kind,
            witness=_witness_of(name, spec.kind, case.measurements),
        )
    ]
    unclear = (f.source for f in findings if f.code is ReasonCode.UNOBSERVABLE)
    return Findings(findings=findings, doubtful=frozenset(name for name in unclear if name))


def judge_stamps(
    name: str,
    audit: StampAudit,
    limits: Limits,
    *,
    noun: str = "sample",
    stamp_kind: str = "capture",
    witness: Witness = _UNKNOWN,
) -> list[Finding]:
    """Return defects and remarks about the timestamps of one source.

    What breaks a limit rejects; what merely exists is a warning. At most one finding rejects for
    each code; one with the code ``unobservable`` leaves the source unverified. `noun` is what a
    timestamp belongs to: ``frame`` or ``sample``. The `stamp_kind` stated in the manifest may admit
    that they were made up: ``counter`` and ``index``. `witness` is what else is known about the
    origin of the jitter.
    """
    findings = [
        *_order(name, audit, limits, noun),
        *_gaps(name, audit, limits, noun),
        *_judge_jitter(name, audit, limits, witness),
        *_rate(name, audit, limits),
        *_steps(name, audit, limits),
    ]
    for said in audit.remarks:
        if said.is_figure or (audit.is_synthetic and "synthetic" in said.text):
            continue  # the figures are judged, and worded, above and below
        make = defect if said.is_defect else Finding.warning
        findings.append(make(said.code, name, f"{name}: {said.text}"))
    findings += _origin(name, audit, stamp_kind)
    return findings


def _origin(name: str, audit: StampAudit, stamp_kind: str) -> list[Finding]:
    """Report whether the timestamps come from a counter, and whether the manifest states it."""
    if stamp_kind == "index" or not (audit.is_synthetic or stamp_kind == "counter"):
        return []  # reported by the reader for an index
    rate = "" if audit.rate_hz is None else f" / {audit.rate_hz:.6g} Hz"
    if audit.is_synthetic and stamp_kind == "counter":
        text = (
            f"its timestamps are a counter (stamp_kind), index{rate}: they give the order and "
            "the rate, not the capture times"
        )
    elif audit.is_synthetic:
        text = f"its timestamps equal index{rate} exactly: they are synthetic and prove nothing"
    elif audit.jitter_s is not None and audit.jitter_s > _NO_COUNTER_S:
        text = (
            f"its timestamps jitter by {word_duration(audit.jitter_s)}, which a counter does "
            "not: their stamp_kind is 'counter', but they may be capture times"
        )
    else:
        return []
    return [Finding.warning(ReasonCode.RATE, name, f"{name}: {text}")]


def _share(
    code: ReasonCode, name: str, n: int, total: int, limit: float | None, words: str
) -> list[Finding]:
    """Return a defect for a share above the limit, a warning for any other share above zero."""
    if n <= 0:
        return []
    share = n / max(total, 1)
    text = f"{name} {words} ({percentage(share)})"
    # A single one does not make a share: it would reject a short clip and pass a long one.
    is_single = n == 1 and code is ReasonCode.DUPLICATE and limit != 0.0
    is_over = False if is_single else None
    return [limited(code, name, text, share, limit, word=percentage, is_over=is_over)]


def _order(name: str, audit: StampAudit, limits: Limits, noun: str) -> list[Finding]:
    if not (audit.backwards or audit.duplicates or audit.doubled):
        return []
    n = audit.samples
    # A repeated timestamp is often an extra sample as well: reported once, by the larger count.
    is_repeated = audit.duplicates >= audit.doubled
    return [
        *_share(
            ReasonCode.BACKWARDS,
            name,
            audit.backwards,
            n,
            limits.backwards_share,
            f"goes back in time at {audit.backwards} of {word_count(n, 'timestamp')}",
        ),
        *_share(
            ReasonCode.DUPLICATE,
            name,
            max(audit.duplicates, audit.doubled),
            n,
            limits.duplicate_share,
            f"repeats {audit.duplicates} of {word_count(n, 'timestamp')}"
            if is_repeated
            else f"has {word_count(audit.doubled, noun)} too many of {n}",
        ),
    ]


def _gaps(name: str, audit: StampAudit, limits: Limits, noun: str) -> list[Finding]:
    findings: list[Finding] = []
    if audit.missing:
        findings += _share(
            ReasonCode.MISSING_FRAMES,
            name,
            audit.missing,
            audit.samples + audit.missing,
            limits.missing_share,
            f"lacks {audit.missing} of {word_count(audit.samples + audit.missing, noun)}",
        )
    longest_s = audit.max_gap_s
    if longest_s is None:
        if audit.gaps:
            findings.append(
                Finding.warning(ReasonCode.GAP, name, f"{name} has {word_count(audit.gaps, 'gap')}")
            )
        return findings
    usual_s = 1.0 / audit.rate_hz if audit.rate_hz else 0.0
    # Verdicts of older versions do not state lost time.
    lost_s = longest_s - usual_s if audit.lost_s is None else audit.lost_s
    if lost_s > 0.0:
        usual_s = longest_s - lost_s  # that of the message with the gap, of several on a bus
    limit_s = _most_lost(limits, usual_s)
    if not audit.gaps and (limit_s is None or lost_s <= limit_s):
        return findings
    periods = f" ({longest_s / usual_s:.3g} periods)" if usual_s else ""
    text = (
        f"{name} is silent for {word_duration(longest_s)}{periods} at its longest gap, "
        f"{word_duration(lost_s)} more than usual"
    )
    return [*findings, limited(ReasonCode.GAP, name, text, lost_s, limit_s)]


def _most_lost(limits: Limits, usual_s: float) -> float | None:
    """Return how much time one gap may lose beyond the usual interval; None: any."""
    allowed = []
    if limits.max_gap_s is not None:
        # A limit in time never applies to a single sample: `missing_share` is for those.
        allowed.append(max(limits.max_gap_s, 1.5 * usual_s))
    if limits.max_gap_periods is not None and usual_s:
        allowed.append((limits.max_gap_periods - 1.0) * usual_s)
    return min(allowed) if allowed else None


def _rate(name: str, audit: StampAudit, limits: Limits) -> list[Finding]:
    wanted_hz, tolerance = limits.rate_hz, limits.rate_tolerance
    if wanted_hz is None or tolerance is None or audit.rate_hz is None:
        return []
    if abs(audit.rate_hz / wanted_hz - 1.0) <= tolerance:
        return []
    return [
        defect(
            ReasonCode.RATE,
            name,
            f"{name} runs at {audit.rate_hz:.6g} Hz instead of {wanted_hz:.6g} Hz; limit "
            f"{percentage(tolerance)}",
            value=audit.rate_hz,
            limit=wanted_hz,
        )
    ]


def _steps(name: str, audit: StampAudit, limits: Limits) -> list[Finding]:
    if not audit.steps:
        return []
    at_ns, step_s = max(audit.steps, key=lambda step: abs(step[1]))
    text = f"{name} jumps by {word_duration(abs(step_s))} against its own rate at timestamp {at_ns}"
    if len(audit.steps) > 1:
        text = f"{text}, the largest of {len(audit.steps)} jumps"
    is_over = limits.step_s is not None and abs(step_s) > limits.step_s
    return [limited(ReasonCode.STEP, name, text, step_s, limits.step_s, is_over=is_over)]


def _witness_of(
    name: str, kind: SourceKind | str, measurements: Sequence[PairMeasurement]
) -> Witness:
    """Return what content, or the build of the device, shows about a source's jitter."""
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


def _judge_jitter(name: str, audit: StampAudit, limits: Limits, witness: Witness) -> list[Finding]:
    """Return findings about the jitter of one source.

    Jitter beyond a limit rejects only if enough of it is shown to be due to the timestamps: by
    content, by the build of the device, or by one-sided delays, as transport has. If content shows
    that less is, it is a warning: the sampling is uneven. If nothing shows either, the source is
    left unverified.
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
    """Word jitter beyond its limit according to what is known of its origin."""
    text = f"{text}; limit {word_duration(limit)}"
    least, most = (value * math.sqrt(share) for share in (witness.least, witness.most))
    if most <= limit:
        text = (
            f"{text}. By its content it samples unevenly, and its timestamps are accurate to "
            f"{word_duration(most)}"
        )
        return [Finding.warning(ReasonCode.JITTER, name, text, value=value, limit=limit)]
    is_shown = is_shown or (least > limit and witness.least >= _MOST)
    if is_shown or witness.is_device:
        return [defect(ReasonCode.JITTER, name, text, value=value, limit=limit)]
    doubt = (
        f"{name}: nothing shows whether its sampling or its timestamps are uneven. Record motion "
        "that a gyroscope also measures, or timestamp at capture (hardware trigger, PTP)"
    )
    return [
        Finding.warning(ReasonCode.JITTER, name, text, value=value, limit=limit),
        Finding.warning(ReasonCode.UNOBSERVABLE, name, doubt),
    ]
