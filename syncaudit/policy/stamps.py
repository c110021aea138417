"""Judge what the stamps of one source say by themselves."""

from __future__ import annotations

from syncaudit.model import Finding, ReasonCode, StampAudit
from syncaudit.model.wording import word_count, word_duration
from syncaudit.policy.limits import Limits
from syncaudit.policy.opinion import defect, remark

__all__ = ["judge_stamps"]

# One-sided delays below this are what every bus and every operating system does.
_WORTH_A_WORD_S = 5e-4
# Stamps made up as index / rate and rounded to 0.1 ms jitter less than this.
_NO_COUNTER_S = 1e-4


def judge_stamps(
    name: str,
    audit: StampAudit,
    limits: Limits,
    *,
    noun: str = "sample",
    stamp_kind: str = "capture",
) -> list[Finding]:
    """Return defects and remarks about the stamps of one source.

    Parameters
    ----------
    name : str
        Source.
    audit : StampAudit
        Figures of its stamps.
    limits : Limits
        What breaks a limit rejects; what merely exists is a warning.
    noun : str
        What a stamp belongs to: ``frame`` or ``sample``.
    stamp_kind : str
        What the manifest says of the stamps; ``counter`` admits that they were made up.
    """
    findings = [
        *_order(name, audit, limits, noun),
        *_gaps(name, audit, limits, noun),
        *_regularity(name, audit, limits),
        *_steps(name, audit, limits),
    ]
    for said in audit.remarks:
        if said.is_figure or (audit.is_synthetic and "synthetic" in said.text):
            continue  # the figures are judged, and worded, above and below
        make = defect if said.is_defect else remark
        findings.append(make(said.code, name, f"{name}: {said.text}"))
    findings += _origin(name, audit, stamp_kind)
    return findings


def _origin(name: str, audit: StampAudit, stamp_kind: str) -> list[Finding]:
    """Say where the stamps come from, if from a counter, and whether the manifest knows."""
    if not audit.is_synthetic and stamp_kind != "counter":
        return []
    rate = "" if audit.rate_hz is None else f" / {audit.rate_hz:.6g} Hz"
    if audit.is_synthetic and stamp_kind == "counter":
        text = (
            f"its stamps are a counter, index{rate}, as the manifest says: they give the order "
            "and the rate, not the times of capture"
        )
    elif audit.is_synthetic:
        text = (
            f"its stamps lie exactly on index{rate}: they were made up afterwards and prove nothing"
        )
    elif audit.jitter_s is not None and audit.jitter_s > _NO_COUNTER_S:
        text = (
            f"its stamps jitter by {word_duration(audit.jitter_s)}, which no counter does: the "
            "manifest calls them 'counter', but they may be times of capture"
        )
    else:
        return []
    return [remark(ReasonCode.RATE, name, f"{name}: {text}")]


def _share(
    code: ReasonCode, name: str, n: int, total: int, limit: float | None, words: str
) -> list[Finding]:
    """Return a defect for a share above the limit, a remark for any other share above zero."""
    if n <= 0:
        return []
    share = n / max(total, 1)
    text = f"{name} {words} ({100.0 * share:.3g} %)"
    if limit is None:
        return [remark(code, name, text, value=share)]
    text = f"{text}; limit {100.0 * limit:.3g} %"
    # A single one tells no share: it would reject a short clip and pass a long one.
    is_single = n == 1 and code is ReasonCode.DUPLICATE and limit > 0.0
    if share > limit and not is_single:
        return [defect(code, name, text, value=share, limit=limit)]
    return [remark(code, name, text, value=share, limit=limit)]


def _order(name: str, audit: StampAudit, limits: Limits, noun: str) -> list[Finding]:
    if not (audit.backwards or audit.duplicates or audit.doubled):
        return []
    n = audit.samples
    return [
        *_share(
            ReasonCode.BACKWARDS,
            name,
            audit.backwards,
            n,
            limits.backwards_share,
            f"goes back in time at {audit.backwards} of {word_count(n, 'stamp')}",
        ),
        *_share(
            ReasonCode.DUPLICATE,
            name,
            audit.duplicates,
            n,
            limits.duplicate_share,
            f"repeats {audit.duplicates} of {word_count(n, 'stamp')}",
        ),
        *_share(
            ReasonCode.DUPLICATE,
            name,
            audit.doubled,
            n,
            limits.duplicate_share,
            f"has {word_count(audit.doubled, noun)} too many of {n}",
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
                remark(ReasonCode.GAP, name, f"{name} has {word_count(audit.gaps, 'gap')}")
            )
        return findings
    allowed = []
    if limits.max_gap_s is not None:
        allowed.append(limits.max_gap_s)
    if limits.max_gap_periods is not None and audit.rate_hz:
        allowed.append(limits.max_gap_periods / audit.rate_hz)
    limit = min(allowed) if allowed else None
    is_long = limit is not None and longest_s > limit
    if not (is_long or audit.gaps):
        return findings
    periods = f" ({longest_s * audit.rate_hz:.3g} periods)" if audit.rate_hz else ""
    text = f"{name} is silent for {word_duration(longest_s)}{periods} at its longest gap"
    if limit is not None:
        text = f"{text}; limit {word_duration(limit)}"
    make = defect if is_long else remark
    findings.append(make(ReasonCode.GAP, name, text, value=longest_s, limit=limit))
    return findings


def _regularity(name: str, audit: StampAudit, limits: Limits) -> list[Finding]:
    findings = []
    waiting_s = audit.buffering_s
    is_buffered = (
        waiting_s is not None and limits.buffering_s is not None and waiting_s > limits.buffering_s
    )
    if (
        limits.jitter_s is not None
        and audit.jitter_s is not None
        and audit.jitter_s > limits.jitter_s
        and not is_buffered
    ):
        findings.append(
            defect(
                ReasonCode.JITTER,
                name,
                f"{name} jitters by {word_duration(audit.jitter_s)} (one sigma); limit "
                f"{word_duration(limits.jitter_s)}",
                value=audit.jitter_s,
                limit=limits.jitter_s,
            )
        )
    if waiting_s is not None and waiting_s >= _WORTH_A_WORD_S:
        limit = limits.buffering_s
        text = f"{name} is stamped after waiting {word_duration(waiting_s)} in a buffer on average"
        if limit is not None:
            text = f"{text}; limit {word_duration(limit)}"
        make = defect if is_buffered else remark
        findings.append(make(ReasonCode.JITTER, name, text, value=waiting_s, limit=limit))
    if limits.rate_hz is not None and limits.rate_tolerance is not None:
        findings += _rate(name, audit, limits.rate_hz, limits.rate_tolerance)
    return findings


def _rate(name: str, audit: StampAudit, wanted_hz: float, tolerance: float) -> list[Finding]:
    if audit.rate_hz is None or abs(audit.rate_hz / wanted_hz - 1.0) <= tolerance:
        return []
    return [
        defect(
            ReasonCode.RATE,
            name,
            f"{name} runs at {audit.rate_hz:.6g} Hz instead of {wanted_hz:.6g} Hz; limit "
            f"{100.0 * tolerance:.3g} %",
            value=audit.rate_hz,
            limit=wanted_hz,
        )
    ]


def _steps(name: str, audit: StampAudit, limits: Limits) -> list[Finding]:
    findings = []
    for at_ns, step_s in audit.steps:
        text = f"{name} jumps by {word_duration(abs(step_s))} against its own rate at stamp {at_ns}"
        if limits.step_s is None:
            findings.append(remark(ReasonCode.STEP, name, text, value=step_s))
            continue
        text = f"{text}; limit {word_duration(limits.step_s)}"
        make = defect if abs(step_s) > limits.step_s else remark
        findings.append(make(ReasonCode.STEP, name, text, value=step_s, limit=limits.step_s))
    return findings
