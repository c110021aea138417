"""Turn figures into the verdict on a clip and on each of its sources (formats, section 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from syncaudit.model import (
    CameraSpec,
    Clip,
    ClipRecord,
    ClipVerdict,
    ClockSolution,
    Finding,
    PairMeasurement,
    PictureAudit,
    ReasonCode,
    Severity,
    SourceKind,
    SourceVerdict,
    StampAudit,
    TranscriptSpec,
    Verdict,
    clock_of,
)
from syncaudit.policy.arrivals import judge_arrivals
from syncaudit.policy.baselines import judge_baselines
from syncaudit.policy.check_result import CheckResult, remark
from syncaudit.policy.clocks import judge_clock
from syncaudit.policy.contradictions import judge_contradictions
from syncaudit.policy.equivalence import quantile
from syncaudit.policy.limits import Policy
from syncaudit.policy.pictures import judge_pictures
from syncaudit.policy.reference import judge_reference
from syncaudit.policy.stamp_jitter import witness_of
from syncaudit.policy.stamps import judge_stamps
from syncaudit.policy.transcripts import judge_transcript

__all__ = ["judge"]

# Of a clock in a clip that was not looked at, which is said once, of the clip.
_UNSEEN = CheckResult(verdict=Verdict.UNVERIFIED)


def judge(
    clip: Clip,
    *,
    policy: Policy,
    solution: ClockSolution,
    stamps: Mapping[str, StampAudit],
    findings: Sequence[Finding],
    measurements: Sequence[PairMeasurement],
    span_s: float,
    pictures: Mapping[str, PictureAudit] | None = None,
    seconds: float = 0.0,
    stages: Mapping[str, float] | None = None,
    record: ClipRecord | None = None,
) -> ClipVerdict:
    """Return the verdict on a clip.

    Parameters
    ----------
    clip : Clip
        The manifest row.
    policy : Policy
        Limits.
    solution : ClockSolution
        All clocks, solved from `measurements` in this order.
    stamps : mapping of str to StampAudit
        Figures of each source's stamps.
    findings : sequence of Finding
        What readers and detectors found wrong.
    measurements : sequence of PairMeasurement
        Accepted and refused.
    span_s : float
        Length of the clip: offsets are judged over all of it.
    pictures : mapping of str to PictureAudit, optional
        Faults of each camera's pictures.
    seconds, stages, record
        CPU time spent and what was measured, to be passed on.
    """
    z = quantile(policy.confidence)
    clocks = {name: clock_of(name, spec) for name, spec in clip.sources.items()}
    kinds = {name: str(spec.kind) for name, spec in clip.sources.items()}
    limits = {name: policy.limits(name, kind) for name, kind in kinds.items()}
    tolerances = {name: limit.offset_s for name, limit in limits.items()}
    contradictions = judge_contradictions(solution, measurements, tolerances, span_s)
    baselined = judge_baselines(
        policy,
        solution,
        measurements,
        kinds=kinds,
        clock_of_source=clocks,
        tolerance_s=tolerances,
        z=z,
    )
    about_reference = []
    if solution.suspects:
        about_reference = judge_reference(
            solution,
            sources=[name for name, clock in clocks.items() if clock == solution.reference],
            kinds={
                clock: {kinds[name] for name, own in clocks.items() if own == clock}
                for clock in set(clocks.values())
            },
            tolerance_s=policy.clock_tolerances(clip),
            z=z,
        )
    arrivals = judge_arrivals(
        {name: audit.arrival for name, audit in stamps.items() if audit.arrival is not None}, kinds
    )
    given = [
        *findings,
        *contradictions.findings,
        *baselined.findings,
        *about_reference,
        *arrivals,
    ]
    of_clip = [finding for finding in given if finding.source not in clip.sources]
    is_unseen = any(finding.code is ReasonCode.UNOBSERVABLE for finding in of_clip)
    opinions: dict[str, CheckResult] = {}
    for name, spec in clip.sources.items():
        own = [finding for finding in given if finding.source == name]
        of_stamps: list[Finding] = []
        if name in stamps:
            of_stamps = judge_stamps(
                name,
                stamps[name],
                limits[name],
                noun="frame" if spec.kind == "camera" else "sample",
                stamp_kind=spec.stamp_kind,
                witness=witness_of(name, spec.kind, measurements),
            )
            own += of_stamps
        if isinstance(spec, CameraSpec) and pictures is not None and name in pictures:
            rate_hz = stamps[name].rate_hz if name in stamps else None
            own += judge_pictures(name, spec.uri, pictures[name], limits[name], rate_hz=rate_hz)
        if isinstance(spec, TranscriptSpec):
            of_clock = judge_transcript(
                name,
                spec.audio,
                limits=limits[name],
                measurements=measurements,
                at_ns=solution.at_ns,
                expected_offset_s=spec.expected_offset_s,
                span_s=span_s,
                z=z,
            )
        elif is_unseen and not measurements:
            of_clock = _UNSEEN
        else:
            of_clock = judge_clock(
                name,
                clocks[name],
                limits=limits[name],
                solution=solution,
                measurements=measurements,
                clock_of_source=clocks,
                expected_offset_s=spec.expected_offset_s,
                span_s=span_s,
                z=z,
                period_s=_frame_period_s(kinds[name], stamps.get(name)),
                is_counted=spec.stamp_kind == "counter",
            )
        opinions[name] = _opinion(
            own,
            of_clock,
            is_vouched_for=name in baselined.verified,
            is_doubtful=name in contradictions.doubtful
            or any(finding.code is ReasonCode.UNOBSERVABLE for finding in of_stamps),
            is_unseen=is_unseen,
        )
    verdict = _verdict_of_clip(clip, policy, opinions, of_clip)
    reasons, warnings = _sorted_findings(policy, kinds, opinions, of_clip, verdict)
    return ClipVerdict(
        clip_id=clip.clip_id,
        recording_id=clip.recording_id,
        verdict=verdict,
        reasons=tuple(reasons),
        warnings=tuple(warnings),
        reference=solution.reference,
        at_ns=None if solution.reference is None else solution.at_ns,
        sources={
            name: _source_verdict(
                opinions[name], kinds[name], clocks[name], solution, stamps.get(name)
            )
            for name in clip.sources
        },
        pairs=tuple(measurements),
        seconds=seconds,
        stages=dict(stages or {}),
        record=record,
    )


def _frame_period_s(kind: str, timing: StampAudit | None) -> float | None:
    if kind != SourceKind.CAMERA or timing is None or not timing.rate_hz:
        return None
    return 1.0 / timing.rate_hz


def _rejects(finding: Finding) -> bool:
    # Lack of evidence is never a defect, whoever reports it.
    return finding.severity is Severity.DEFECT and not finding.is_lack


def _opinion(
    own: Sequence[Finding],
    of_clock: CheckResult,
    *,
    is_vouched_for: bool,
    is_doubtful: bool,
    is_unseen: bool,
) -> CheckResult:
    """Join everything known about one source."""
    # A jump that the content measures is told once, with its size at the ends of the clip.
    if own and any(f.code is ReasonCode.STEP for f in of_clock.defects):
        own = [f for f in own if f.code is not ReasonCode.STEP]
    told = tuple([f for f in own if f.is_lack])
    defects = (*[f for f in own if _rejects(f)], *of_clock.defects)
    rest = [f for f in own if not _rejects(f) and not f.is_lack]
    warnings = (*rest, *of_clock.warnings)
    gaps = of_clock.gaps
    verdict = of_clock.verdict
    if verdict is Verdict.UNVERIFIED and is_vouched_for:
        verdict, gaps = Verdict.PASS, ()
    if any(f.severity is Severity.DOUBT for f in own):
        verdict, gaps = Verdict.UNVERIFIED, ()  # what it says comes before what could be measured
    if verdict is Verdict.PASS and is_doubtful:
        verdict = Verdict.UNVERIFIED
    why = of_clock.why_unmeasured
    if defects:
        # What else is said of its samples stays; that its clock is unknown, its defect says why.
        return CheckResult(
            verdict=Verdict.REJECT,
            defects=defects,
            gaps=told,
            warnings=warnings,
            why_unmeasured=why,
        )
    if verdict is Verdict.PASS:
        return CheckResult(verdict=verdict, warnings=(*warnings, *told), why_unmeasured=why)
    # That the clip as a whole was not looked at is said once, of the clip.
    gaps = () if is_unseen else (*told, *gaps)
    return CheckResult(verdict=verdict, gaps=gaps, warnings=warnings, why_unmeasured=why)


def _verdict_of_clip(
    clip: Clip, policy: Policy, opinions: Mapping[str, CheckResult], of_clip: Sequence[Finding]
) -> Verdict:
    if any(_rejects(finding) for finding in of_clip):
        return Verdict.REJECT
    verdicts = {name: opinion.verdict for name, opinion in opinions.items()}
    if Verdict.REJECT in verdicts.values():
        return Verdict.REJECT
    if any(
        verdicts[name] is Verdict.UNVERIFIED and policy.is_required(spec.kind)
        for name, spec in clip.sources.items()
    ):
        return Verdict.UNVERIFIED
    if any(finding.code is ReasonCode.UNOBSERVABLE for finding in of_clip):
        return Verdict.UNVERIFIED  # the clip as a whole was not looked at
    # A clip of which nothing at all was shown has not passed either.
    return Verdict.PASS if Verdict.PASS in verdicts.values() else Verdict.UNVERIFIED


def _sorted_findings(
    policy: Policy,
    kinds: Mapping[str, str],
    opinions: Mapping[str, CheckResult],
    of_clip: Sequence[Finding],
    verdict: Verdict,
) -> tuple[list[Finding], list[Finding]]:
    """Part what decided from what did not."""
    decisive = {ReasonCode.UNOBSERVABLE} if verdict is Verdict.UNVERIFIED else set()
    reasons = [f for f in of_clip if _rejects(f) or f.code in decisive]
    warnings = [f for f in of_clip if f not in reasons]
    is_any_required = any(
        policy.is_required(kinds[name]) and opinion.verdict is Verdict.UNVERIFIED
        for name, opinion in opinions.items()
    )
    for name, opinion in opinions.items():
        reasons += opinion.defects
        warnings += opinion.warnings
        decides = verdict is Verdict.UNVERIFIED and (
            policy.is_required(kinds[name]) or not is_any_required
        )
        (reasons if decides else warnings).extend(opinion.gaps)
    if verdict is Verdict.UNVERIFIED and not reasons:
        reasons.append(
            remark(ReasonCode.UNOBSERVABLE, None, "the clip has no source that could be judged")
        )
    return reasons, warnings


def _source_verdict(
    opinion: CheckResult,
    kind: str,
    clock: str,
    solution: ClockSolution,
    timing: StampAudit | None,
) -> SourceVerdict:
    estimate = solution.clocks.get(clock)
    if estimate is None:
        return SourceVerdict(
            verdict=opinion.verdict,
            kind=kind,
            clock=clock,
            timing=timing,
            why_unmeasured=opinion.why_unmeasured,
        )
    return SourceVerdict(
        verdict=opinion.verdict,
        kind=kind,
        clock=clock,
        offset_s=estimate.offset_s,
        offset_std_s=estimate.offset_std_s,
        drift_ppm=estimate.drift_ppm,
        drift_std_ppm=estimate.drift_std_ppm,
        is_observable=estimate.is_observable,
        timing=timing,
        why_unmeasured=opinion.why_unmeasured,
    )
