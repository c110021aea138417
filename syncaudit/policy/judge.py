"""Turn figures into the verdict on a clip and on each of its sources (formats, section 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from syncaudit.model import (
    Clip,
    ClipVerdict,
    ClockEstimate,
    Finding,
    ReasonCode,
    Severity,
    SourceKind,
    SourceVerdict,
    StampAudit,
    TranscriptSpec,
    Verdict,
)
from syncaudit.model.field_names import fields_of, known_fields
from syncaudit.policy.case import Case, Check, CheckResult, ClockCase
from syncaudit.policy.clocks import judge_clock
from syncaudit.policy.contradictions import (
    check_baselines,
    check_contradictions,
    check_departures,
    check_reference,
    check_steps,
)
from syncaudit.policy.images import check_images
from syncaudit.policy.limits import Policy
from syncaudit.policy.sources import check_arrivals, check_coverage, check_units
from syncaudit.policy.stamps import check_stamps
from syncaudit.policy.transcripts import judge_transcript

CHECKS: tuple[Check, ...] = (
    check_coverage,
    check_contradictions,
    check_departures,
    check_baselines,
    check_reference,
    check_steps,
    check_arrivals,
    check_stamps,
    check_images,
    check_units,
)
"""Every check of a clip; findings are reported in this order."""

# For a clock in a clip that was not examined, which is reported once, for the clip.
_UNSEEN = CheckResult(verdict=Verdict.UNVERIFIED)


def judge(case: Case) -> ClipVerdict:
    """Return the verdict on a clip."""
    clip, record, solution = case.clip, case.record, case.solution
    checked = [check(case) for check in CHECKS]
    given = [*record.findings, *(finding for one in checked for finding in one.findings)]
    verified = {name for one in checked for name in one.verified}
    doubtful = {name for one in checked for name in one.doubtful}
    of_clip = [finding for finding in given if finding.source not in clip.sources]
    is_unseen = any(finding.code is ReasonCode.UNOBSERVABLE for finding in of_clip)
    results = {
        name: _join(
            [finding for finding in given if finding.source == name],
            _of_clock(case, name, is_unseen=is_unseen),
            is_vouched_for=name in verified,
            is_doubtful=name in doubtful,
            is_unseen=is_unseen,
        )
        for name in clip.sources
    }
    verdict = _verdict_of_clip(clip, case.policy, results, of_clip)
    reasons, warnings = _sorted_findings(case, results, of_clip, verdict)
    return ClipVerdict(
        clip_id=clip.clip_id,
        recording_id=clip.recording_id,
        verdict=verdict,
        reasons=tuple(reasons),
        warnings=tuple(warnings),
        reference=solution.reference,
        at_ns=None if solution.reference is None else solution.at_ns,
        sources={name: _source_verdict(case, name, results[name]) for name in clip.sources},
        pairs=case.measurements,
        seconds=sum(record.stages.values()),
        stages=record.stages,
        record=record,
        about=clip.about,
    )


def _of_clock(case: Case, name: str, *, is_unseen: bool) -> CheckResult:
    """Judge the clock of a source, or a transcript by its audio."""
    spec = case.clip.sources[name]
    if isinstance(spec, TranscriptSpec):
        return judge_transcript(case, name, spec)
    if is_unseen and not case.measurements:
        return _UNSEEN
    own = ClockCase(
        name=name,
        clock=case.clocks[name],
        limits=case.limits[name],
        solution=case.solution,
        measurements=case.measurements,
        clocks=case.clocks,
        expected_offset_s=spec.expected_offset_s,
        span_s=case.record.span_s,
        z=case.z,
        period_s=_frame_period_s(case.kinds[name], case.record.stamps.get(name)),
        is_counted=spec.stamp_kind == "counter",
    )
    return judge_clock(own)


def _frame_period_s(kind: str, timing: StampAudit | None) -> float | None:
    if kind != SourceKind.CAMERA or timing is None or not timing.rate_hz:
        return None
    return 1.0 / timing.rate_hz


def _rejects(finding: Finding) -> bool:
    # Lack of evidence is never a defect, whoever reports it.
    return finding.severity is Severity.DEFECT and not finding.is_lack


def _join(
    own: Sequence[Finding],
    of_clock: CheckResult,
    *,
    is_vouched_for: bool,
    is_doubtful: bool,
    is_unseen: bool,
) -> CheckResult:
    # A step that the content measures is reported once, with its size at the ends of the clip.
    if own and any(f.code is ReasonCode.STEP for f in of_clock.defects):
        own = [f for f in own if f.code is not ReasonCode.STEP]
    lacks = tuple([f for f in own if f.is_lack])
    defects = (*[f for f in own if _rejects(f)], *of_clock.defects)
    rest = [f for f in own if not _rejects(f) and not f.is_lack]
    warnings = (*rest, *of_clock.warnings)
    gaps = of_clock.gaps
    verdict = of_clock.verdict
    if verdict is Verdict.UNVERIFIED and is_vouched_for:
        verdict, gaps = Verdict.PASS, ()
    if any(f.severity is Severity.DOUBT for f in own):
        verdict, gaps = Verdict.UNVERIFIED, ()  # the doubt takes precedence over measurements
    if verdict is Verdict.PASS and is_doubtful:
        verdict = Verdict.UNVERIFIED
    why = of_clock.why_unmeasured
    if defects:
        # Other findings on its samples stay; why its clock is unknown follows from its defect.
        return CheckResult(
            verdict=Verdict.REJECT,
            defects=defects,
            gaps=lacks,
            warnings=warnings,
            why_unmeasured=why,
        )
    if verdict is Verdict.PASS:
        return CheckResult(verdict=verdict, warnings=(*warnings, *lacks), why_unmeasured=why)
    # That the clip as a whole was not examined is reported once, for the clip.
    gaps = () if is_unseen else (*lacks, *gaps)
    return CheckResult(verdict=verdict, gaps=gaps, warnings=warnings, why_unmeasured=why)


def _verdict_of_clip(
    clip: Clip, policy: Policy, results: Mapping[str, CheckResult], of_clip: Sequence[Finding]
) -> Verdict:
    if any(_rejects(finding) for finding in of_clip):
        return Verdict.REJECT
    verdicts = {name: result.verdict for name, result in results.items()}
    if Verdict.REJECT in verdicts.values():
        return Verdict.REJECT
    if any(
        verdicts[name] is Verdict.UNVERIFIED and policy.is_required(spec.kind)
        for name, spec in clip.sources.items()
    ):
        return Verdict.UNVERIFIED
    if any(finding.code is ReasonCode.UNOBSERVABLE for finding in of_clip):
        return Verdict.UNVERIFIED  # the clip as a whole was not examined
    # A clip in which nothing at all was shown has not passed either.
    return Verdict.PASS if Verdict.PASS in verdicts.values() else Verdict.UNVERIFIED


def _sorted_findings(
    case: Case, results: Mapping[str, CheckResult], of_clip: Sequence[Finding], verdict: Verdict
) -> tuple[list[Finding], list[Finding]]:
    """Separate the findings that decided the verdict from the others."""
    decisive = {ReasonCode.UNOBSERVABLE} if verdict is Verdict.UNVERIFIED else set()
    reasons = [f for f in of_clip if _rejects(f) or f.code in decisive]
    warnings = [f for f in of_clip if f not in reasons]
    is_any_required = any(
        case.policy.is_required(case.kinds[name]) and result.verdict is Verdict.UNVERIFIED
        for name, result in results.items()
    )
    for name, result in results.items():
        reasons += result.defects
        warnings += result.warnings
        decides = verdict is Verdict.UNVERIFIED and (
            case.policy.is_required(case.kinds[name]) or not is_any_required
        )
        (reasons if decides else warnings).extend(result.gaps)
    if verdict is Verdict.UNVERIFIED and not reasons:
        reasons.append(
            Finding.warning(
                ReasonCode.UNOBSERVABLE, None, "the clip has no source that could be judged"
            )
        )
    return reasons, warnings


def _source_verdict(case: Case, name: str, result: CheckResult) -> SourceVerdict:
    clock = case.clocks[name]
    estimate = case.solution.clocks.get(clock) or ClockEstimate(clock=clock, is_observable=False)
    return SourceVerdict(
        **known_fields(
            SourceVerdict, fields_of(estimate) | {"offset_std_s": estimate.middle_std_s}
        ),
        verdict=result.verdict,
        kind=case.kinds[name],
        timing=case.record.stamps.get(name),
        why_unmeasured=result.why_unmeasured,
    )
