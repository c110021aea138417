"""Judge the clock of one source: offset at any instant of the clip, drift and step."""

from __future__ import annotations

from collections.abc import Sequence

from syncaudit.formatting import rounded, word_drift, word_duration, word_measure
from syncaudit.model import (
    ClockEstimate,
    Finding,
    ReasonCode,
    Verdict,
)
from syncaudit.policy.case import CheckResult, ClockCase, defect, remark
from syncaudit.policy.clock_offsets import judge_offset, word_slip
from syncaudit.policy.equivalence import (
    Equivalence,
    compare,
    course_of,
    seconds_to_step,
)
from syncaudit.policy.unobservable import unknown, unmeasured, why_unobservable, word_method

__all__ = ["judge_clock"]

# Errors of the instant below what its figure shows go without saying.
LEAST_STD_S = 0.05

# Crystals of any make stay within 100 ppm; twice that is none's.
_QUARTZ_PPM = 200.0


def judge_clock(case: ClockCase) -> CheckResult:
    """Return the result on one source from its clock's estimate."""
    solution, span_s = case.solution, case.span_s
    estimate = solution.clocks.get(case.clock)
    if estimate is None or not estimate.is_observable or estimate.offset_s is None:
        return unmeasured(case.name, why_unobservable(case))
    if case.is_reference and estimate.n_measurements == 0:
        return _judge_companions(case)
    course = course_of(
        estimate,
        at_ns=solution.at_ns,
        span_s=span_s,
        prior_ppm=0.0 if case.is_reference else case.prior_ppm,
    )
    moment = _word_moment(estimate, solution.at_ns, span_s)
    results = [
        judge_offset(case, estimate, course, moment),
        _judge_drift(case, estimate),
        _judge_step(case, estimate, moment),
    ]
    defects = _one_per_code([finding for result in results for finding in result.defects])
    verdicts = {result.verdict for result in results}
    return CheckResult(
        verdict=Verdict.REJECT
        if Verdict.REJECT in verdicts
        else Verdict.UNVERIFIED
        if Verdict.UNVERIFIED in verdicts
        else Verdict.PASS,
        defects=defects,
        gaps=tuple(finding for result in results for finding in result.gaps),
        warnings=tuple(
            finding
            for result in results
            for finding in result.warnings
            if finding.code not in {found.code for found in defects}
        ),
    )


def _one_per_code(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    kept: dict[ReasonCode, Finding] = {}
    for finding in findings:
        kept.setdefault(finding.code, finding)
    return tuple(kept.values())


def _judge_companions(case: ClockCase) -> CheckResult:
    """Judge a source whose clock is tied to no other by the sources of the same clock."""
    name, clocks, limits = case.name, case.clocks, case.limits
    same = [
        m
        for m in case.measurements
        if m.accepted
        and not m.is_baseline_only
        and name in (m.source, m.target)
        and clocks.get(m.source) == clocks.get(m.target)
    ]
    standings = [
        compare(m.offset_s or 0.0, m.offset_std_s or 0.0, limits.offset_s, case.z) for m in same
    ]
    if Equivalence.INSIDE in standings and Equivalence.OUTSIDE not in standings:
        return CheckResult(verdict=Verdict.PASS)
    if not same:
        return unmeasured(name, why_unobservable(case))
    m = same[0]
    other = m.target if m.source == name else m.source
    return unknown(
        name,
        f"{name} and {other} share a clock but lie "
        f"{word_measure(m.offset_s or 0.0, m.offset_std_s)} apart ({word_method(m.method)}); "
        f"limit {word_duration(limits.offset_s)}",
        limit=limits.offset_s,
    )


def _judge_drift(case: ClockCase, estimate: ClockEstimate) -> CheckResult:
    """Return the result on a drift by itself, and a warning where no oscillator has it."""
    name, limit, z = case.name, case.limits.drift_ppm, case.z
    if limit is None or case.is_reference:
        return CheckResult(verdict=Verdict.PASS, warnings=_beyond_quartz(name, estimate, z))
    if estimate.drift_ppm is None or estimate.drift_std_ppm is None:
        return unknown(
            name,
            f"the drift of {name} could not be measured, but the policy limits it to "
            f"{limit:g} ppm: a longer clip, or more clips of the recording, would tell",
            limit=limit,
        )
    drift = word_drift(estimate.drift_ppm, estimate.drift_std_ppm)
    standing = compare(estimate.drift_ppm, estimate.drift_std_ppm, limit, z)
    if standing is Equivalence.INSIDE:
        return CheckResult(verdict=Verdict.PASS)
    if standing is Equivalence.INCONCLUSIVE:
        return unknown(
            name,
            f"{name} drifts {drift}, too uncertain for the limit of {limit:g} ppm",
            limit=limit,
        )
    message = f"{name} drifts {drift}; limit {limit:g} ppm"
    return CheckResult(
        verdict=Verdict.REJECT,
        defects=(defect(ReasonCode.DRIFT, name, message, value=estimate.drift_ppm, limit=limit),),
    )


def _beyond_quartz(name: str, estimate: ClockEstimate, z: float) -> tuple[Finding, ...]:
    """Warn of a drift that no oscillator has, even where the offset stays inside its limit."""
    drift, std = estimate.drift_ppm, estimate.drift_std_ppm
    if drift is None or std is None or abs(drift) - 2.0 * z * std <= _QUARTZ_PPM:
        return ()
    text = (
        f"{name} drifts {word_drift(drift, std)}, more than quartz does: its stamps may be "
        "made up at a nominal rate, or frames get lost now and then"
    )
    return (remark(ReasonCode.DRIFT, name, text, value=drift),)


def _judge_step(case: ClockCase, estimate: ClockEstimate, moment: str) -> CheckResult:
    """Return the result on the size of a jump by itself."""
    name, limit, z = case.name, case.limits.step_s, case.z
    if limit is None or estimate.step_s is None:
        return CheckResult(verdict=Verdict.PASS)
    if compare(estimate.step_s, estimate.step_std_s or 0.0, limit, z) is not Equivalence.OUTSIDE:
        return CheckResult(verdict=Verdict.PASS)
    message = (
        f"{name} jumps {word_measure(estimate.step_s, estimate.step_std_s)} {moment}; limit "
        f"{word_duration(limit)}"
        f"{word_slip(estimate.step_s, estimate.step_std_s or 0.0, case.period_s, z)}"
    )
    return CheckResult(
        verdict=Verdict.REJECT,
        defects=(defect(ReasonCode.STEP, name, message, value=estimate.step_s, limit=limit),),
    )


def _word_moment(estimate: ClockEstimate, at_ns: int, span_s: float) -> str:
    """Say when a clock jumps, counted from the start of the clip."""
    if estimate.step_at_ns is None:
        return "inside the clip"
    after_s = seconds_to_step(estimate, at_ns=at_ns, span_s=span_s) + 0.5 * span_s
    if estimate.step_at_std_s < LEAST_STD_S:
        return f"at {after_s:.1f} s"
    return f"at {' ± '.join(rounded(after_s, estimate.step_at_std_s))} s"
