"""Judge a clip by the clocks of its whole recording, in addition to its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from syncaudit.formatting import word_correction, word_count
from syncaudit.model import (
    Clip,
    ClipVerdict,
    ClockEstimate,
    ClockSolution,
    Finding,
    ReasonCode,
    Severity,
    SourceVerdict,
    Verdict,
    clock_of,
)
from syncaudit.policy.case import ClockCase, quantile
from syncaudit.policy.clocks import judge_clock
from syncaudit.policy.limits import Policy


def judge_with_recording(
    clip: Clip,
    verdict: ClipVerdict,
    policy: Policy,
    pooled: ClockSolution,
    *,
    span_s: float,
    n_clips: int,
) -> ClipVerdict:
    """Return the verdict on a clip with its recording taken into account.

    The clocks of one recording are the same in all of its clips, so that many clips constrain them
    better than one. A source is rejected if either shows it to be outside its limit. It passes if
    its own clip is inconclusive and the recording is not. A clip whose own evidence rejects stays
    rejected: its file may be damaged where its neighbours are not.

    `verdict` is by the clip's own measurements. `pooled` are the clocks of the recording at this
    clip, of length `span_s`: unobservable if neither the clip nor clips on both sides of it
    measured them. `n_clips` of the recording have been measured.
    """
    z = quantile(policy.confidence)
    whole = f" ({word_count(n_clips, 'clip')} of {clip.recording_id} together)"
    sources: dict[str, SourceVerdict] = {}
    reasons, warnings = list(verdict.reasons), list(verdict.warnings)
    for name, spec in clip.sources.items():
        own = verdict.sources[name]
        estimate = pooled.clocks.get(clock_of(name, spec))
        sources[name] = own
        if estimate is None or not estimate.is_observable:
            continue
        sources[name] = replace(own, recording=estimate)
        case = ClockCase(
            name=name,
            clock=estimate.clock,
            limits=policy.limits(name, spec.kind),
            solution=pooled,
            measurements=(),
            clocks={other: clock_of(other, s) for other, s in clip.sources.items()},
            expected_offset_s=spec.expected_offset_s,
            span_s=span_s,
            z=z,
        )
        result = judge_clock(case)
        is_about_clock = _is_unknown(name, verdict)
        if result.verdict is Verdict.REJECT and own.verdict is not Verdict.REJECT:
            sources[name] = replace(sources[name], verdict=Verdict.REJECT)
            reasons += [replace(f, message=f.message + whole) for f in result.defects]
        elif result.verdict is Verdict.PASS and own.verdict is Verdict.REJECT:
            warnings += _dissent(name, own, estimate, whole, z)
        elif (
            result.verdict is Verdict.PASS and own.verdict is Verdict.UNVERIFIED and is_about_clock
        ):
            sources[name] = replace(sources[name], verdict=Verdict.PASS)
            warnings.append(_vouched(name, estimate, whole))
    return _summed_up(clip, verdict, policy, sources, reasons, warnings)


def _is_unknown(name: str, verdict: ClipVerdict) -> bool:
    """Return whether lack of evidence alone keeps a source from passing."""
    own = [f for f in (*verdict.reasons, *verdict.warnings) if f.source == name]
    is_lacking = any(f.code is ReasonCode.UNOBSERVABLE for f in own)
    return is_lacking and not any(
        f.code is ReasonCode.INCONSISTENT or f.severity is Severity.DOUBT for f in own
    )


def _vouched(name: str, estimate: ClockEstimate, whole: str) -> Finding:
    offset_s = estimate.offset_s or 0.0
    message = (
        f"{name} passes on the evidence of its recording: "
        f"{word_correction(offset_s, estimate.offset_std_s)}{whole}"
    )
    return Finding.warning(ReasonCode.OFFSET, name, message, value=offset_s)


def _dissent(
    name: str, own: SourceVerdict, estimate: ClockEstimate, whole: str, z: float
) -> list[Finding]:
    """Report that the recording disagrees with the clip, if it does."""
    if own.offset_s is None or estimate.offset_s is None:
        return []
    apart = abs(own.offset_s - estimate.offset_s)
    if apart <= z * math.hypot(own.offset_std_s or 0.0, estimate.offset_std_s or 0.0):
        return []
    message = (
        f"{name} is {word_correction(estimate.offset_s, estimate.offset_std_s)} in the "
        f"rest of its recording{whole}: this clip alone is off"
    )
    return [Finding.warning(ReasonCode.INCONSISTENT, name, message, value=estimate.offset_s)]


def _summed_up(
    clip: Clip,
    verdict: ClipVerdict,
    policy: Policy,
    sources: Mapping[str, SourceVerdict],
    reasons: list[Finding],
    warnings: list[Finding],
) -> ClipVerdict:
    """Return the clip's verdict from those of its sources, with reasons and warnings separated."""
    gaps = [f for f in reasons if f.is_lack]
    defects = [f for f in reasons if not f.is_lack]
    verdicts = {source.verdict for source in sources.values()}
    open_sources = {
        name
        for name, spec in clip.sources.items()
        if sources[name].verdict is Verdict.UNVERIFIED and policy.is_required(spec.kind)
    }
    is_screened = verdict.record is not None and verdict.record.is_screened
    if defects:
        outcome = Verdict.REJECT
    elif open_sources or Verdict.PASS not in verdicts or is_screened:
        outcome = Verdict.UNVERIFIED
    else:
        outcome = Verdict.PASS
    held = [
        f
        for f in gaps
        if outcome is Verdict.UNVERIFIED
        and (f.source is None or sources[f.source].verdict is Verdict.UNVERIFIED)
    ]
    # A lack of evidence in the clip is still worth reporting, unless its source passes.
    settled = [
        f
        for f in gaps
        if f not in held and (f.source is None or sources[f.source].verdict is not Verdict.PASS)
    ]
    return replace(
        verdict,
        verdict=outcome,
        sources=sources,
        reasons=(*defects, *held),
        warnings=(*warnings, *settled),
    )
