"""Judge the clock of one source: offset at any instant of the clip, drift and step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from syncaudit.model import (
    ClockEstimate,
    ClockSolution,
    Finding,
    PairMeasurement,
    ReasonCode,
    Verdict,
)
from syncaudit.model.wording import (
    word_count,
    word_direction,
    word_drift,
    word_duration,
    word_measure,
)
from syncaudit.policy.equivalence import (
    Course,
    Standing,
    compare,
    course_of,
    seconds_to_step,
    worst,
)
from syncaudit.policy.frame_words import word_hidden, word_slip
from syncaudit.policy.limits import Limits
from syncaudit.policy.opinion import Opinion, defect, remark

__all__ = ["judge_clock", "word_method"]

# Crystals of any make stay within 100 ppm; twice that is none's.
_QUARTZ_PPM = 200.0


def word_method(method: str) -> str:
    """Return a method's name for people: ``yaw rate``."""
    words = {
        "lateral_accel": "lateral acceleration",
        "long_accel": "forward acceleration",
        "flash": "flashes",
    }
    return words.get(method, method.replace("_", " "))


def judge_clock(
    name: str,
    clock: str,
    *,
    limits: Limits,
    solution: ClockSolution,
    measurements: Sequence[PairMeasurement],
    clock_of_source: Mapping[str, str],
    expected_offset_s: float,
    span_s: float,
    z: float,
    period_s: float | None = None,
    is_counted: bool = False,
) -> Opinion:
    """Return the opinion on one source from its clock's estimate.

    Parameters
    ----------
    name, clock : str
        Source, and the clock that stamps it.
    limits : Limits
        Of this source.
    solution : ClockSolution
        All clocks; holds what is left after intended offsets are taken off.
    measurements : sequence of PairMeasurement
        In the order given to the solver; refused ones tell why nothing is known.
    clock_of_source : mapping of str to str
        Clock of every source.
    expected_offset_s : float
        Intended offset of the source, for the wording.
    span_s : float
        Length of the clip.
    z : float
        Standard errors of the confidence interval.
    period_s : float, optional
        Frame period of a camera: offsets and steps of whole periods are told as lost frames.
    is_counted : bool
        Whether the stamps only count samples: then only the content can tell an offset.
    """
    estimate = solution.clocks.get(clock)
    if estimate is None or not estimate.is_observable or estimate.offset_s is None:
        why = _why_unobservable(name, clock, solution, measurements, clock_of_source)
        return _unknown(name, why)
    if clock == solution.reference and estimate.n_measurements == 0:
        return _judge_companions(name, limits, measurements, clock_of_source, z)
    beyond = f" beyond the intended {word_duration(expected_offset_s)}" if expected_offset_s else ""
    course = course_of(estimate, at_ns=solution.at_ns, span_s=span_s)
    moment = _word_moment(estimate, solution.at_ns, span_s)
    opinions = [
        _judge_course(name, estimate, course, limits, z, beyond, period_s, moment, is_counted),
        _judge_drift(name, clock == solution.reference, estimate, limits, z),
        _judge_step(name, estimate, limits, z, period_s, moment),
    ]
    defects = _one_per_code([finding for opinion in opinions for finding in opinion.defects])
    verdicts = {opinion.verdict for opinion in opinions}
    return Opinion(
        verdict=Verdict.REJECT
        if Verdict.REJECT in verdicts
        else Verdict.UNVERIFIED
        if Verdict.UNVERIFIED in verdicts
        else Verdict.PASS,
        defects=defects,
        gaps=tuple(finding for opinion in opinions for finding in opinion.gaps),
        warnings=tuple(
            finding
            for opinion in opinions
            for finding in opinion.warnings
            if finding.code not in {found.code for found in defects}
        ),
    )


def _one_per_code(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    kept: dict[ReasonCode, Finding] = {}
    for finding in findings:
        kept.setdefault(finding.code, finding)
    return tuple(kept.values())


def _unknown(name: str, message: str, *, limit: float | None = None) -> Opinion:
    return Opinion(
        verdict=Verdict.UNVERIFIED,
        gaps=(remark(ReasonCode.UNOBSERVABLE, name, message, limit=limit),),
    )


def _judge_course(
    name: str,
    estimate: ClockEstimate,
    course: Sequence[Course],
    limits: Limits,
    z: float,
    beyond: str,
    period_s: float | None,
    moment: str,
    is_counted: bool,
) -> Opinion:
    """Judge the offset at every instant; say which of offset, drift and step takes it out."""
    limit = limits.offset_s
    standings = [compare(point.value_s, point.std_s, limit, z) for point in course]
    overall = worst(standings)
    if overall is Standing.INSIDE:
        return Opinion(verdict=Verdict.PASS)
    if overall is Standing.OPEN:
        return _unknown(name, _too_uncertain(name, estimate, course, limit, z), limit=limit)
    jump = word_measure(estimate.step_s or 0.0, estimate.step_std_s)
    slip = word_slip(estimate.step_s or 0.0, estimate.step_std_s or 0.0, period_s, z)
    beyond_step = [s for p, s in zip(course, standings, strict=True) if p.is_stepped]
    if standings[0] is Standing.OUTSIDE and beyond_step and set(beyond_step) == {Standing.INSIDE}:
        # Good on the other side: the step alone is to blame.
        point, code = course[0], ReasonCode.STEP
        is_ahead = any(p.is_stepped and p.after_s > 0.0 for p in course)
        message = (
            f"{name} jumps by {jump} {moment} and is {word_measure(point.value_s, point.std_s)} "
            f"{word_direction(point.value_s)} {'before' if is_ahead else 'from then on'}; limit "
            f"{word_duration(limit)}{slip}"
        )
    elif standings[0] is Standing.OUTSIDE:
        point, code = course[0], ReasonCode.OFFSET
        message = (
            f"{name} is {word_measure(point.value_s, point.std_s)} "
            f"{word_direction(point.value_s)}{beyond}; limit {word_duration(limit)}"
            f"{word_hidden(point.value_s, period_s) if is_counted else ''}"
            f"{'' if is_counted else word_slip(point.value_s, point.std_s, period_s, z)}"
        )
    else:
        outside = [p for p, s in zip(course, standings, strict=True) if s is Standing.OUTSIDE]
        plain = [p for p in outside if not p.is_stepped]
        point = max(plain or outside, key=lambda p: abs(p.value_s))
        when = "at the end" if point.after_s > 0.0 else "at the start"
        where = (
            f"{word_measure(point.value_s, point.std_s)} "
            f"{word_direction(point.value_s)} {when} of the clip; limit {word_duration(limit)}"
        )
        if plain:
            code = ReasonCode.DRIFT
            drift = word_drift(estimate.drift_ppm or 0.0, estimate.drift_std_ppm)
            message = f"{name} drifts by {drift} and is {where}"
        else:
            code = ReasonCode.STEP
            message = f"{name} jumps by {jump} {moment} and is {where}{slip}"
    return Opinion(
        verdict=Verdict.REJECT,
        defects=(defect(code, name, message, value=point.value_s, limit=limit),),
    )


def _word_moment(estimate: ClockEstimate, at_ns: int, span_s: float) -> str:
    """Say when a clock jumps, after the start of the clip."""
    if estimate.step_at_ns is None:
        return "inside the clip"
    after_s = seconds_to_step(estimate, at_ns=at_ns, span_s=span_s) + 0.5 * span_s
    return f"{after_s:.1f} s after the clip's start"


def _too_uncertain(
    name: str, estimate: ClockEstimate, course: Sequence[Course], limit: float, z: float
) -> str:
    middle = course[0]
    measured = f"{word_measure(middle.value_s, middle.std_s)} {word_direction(middle.value_s)}"
    if compare(middle.value_s, middle.std_s, limit, z) is Standing.INSIDE:
        if any(
            point.is_stepped
            for point in course
            if compare(point.value_s, point.std_s, limit, z) is Standing.OPEN
        ):
            jump = word_measure(estimate.step_s or 0.0, estimate.step_std_s)
            return (
                f"{name} is {measured}, but its jump by {jump} may take it past the limit of "
                f"{word_duration(limit)}"
            )
        drift = word_drift(estimate.drift_ppm or 0.0, estimate.drift_std_ppm)
        return (
            f"{name} is {measured} in the middle of the clip, but its drift of {drift} may take "
            f"it past the limit of {word_duration(limit)} at an end: a longer clip would tell"
        )
    needed_s = abs(limit - abs(middle.value_s)) / z
    return (
        f"{name} is {measured}, too uncertain for the limit of {word_duration(limit)}: a standard "
        f"error below {word_duration(needed_s)} would tell"
    )


def _judge_drift(
    name: str, is_reference: bool, estimate: ClockEstimate, limits: Limits, z: float
) -> Opinion:
    limit = limits.drift_ppm
    if limit is None or is_reference:
        return Opinion(verdict=Verdict.PASS, warnings=_beyond_quartz(name, estimate, z))
    if estimate.drift_ppm is None or estimate.drift_std_ppm is None:
        return _unknown(
            name,
            f"the drift of {name} could not be measured, but the policy limits it to "
            f"{limit:g} ppm: a longer clip, or more clips of the recording, would tell",
            limit=limit,
        )
    drift = word_drift(estimate.drift_ppm, estimate.drift_std_ppm)
    standing = compare(estimate.drift_ppm, estimate.drift_std_ppm, limit, z)
    if standing is Standing.INSIDE:
        return Opinion(verdict=Verdict.PASS)
    if standing is Standing.OPEN:
        return _unknown(
            name,
            f"{name} drifts by {drift}, too uncertain for the limit of {limit:g} ppm",
            limit=limit,
        )
    message = f"{name} drifts by {drift}; limit {limit:g} ppm"
    return Opinion(
        verdict=Verdict.REJECT,
        defects=(defect(ReasonCode.DRIFT, name, message, value=estimate.drift_ppm, limit=limit),),
    )


def _beyond_quartz(name: str, estimate: ClockEstimate, z: float) -> tuple[Finding, ...]:
    """Warn of a drift that no oscillator has, even where the offset stays inside its limit."""
    drift, std = estimate.drift_ppm, estimate.drift_std_ppm
    if drift is None or std is None or abs(drift) - 2.0 * z * std <= _QUARTZ_PPM:
        return ()
    text = (
        f"{name} drifts by {word_drift(drift, std)}, more than quartz does: its stamps may be "
        "made up at a nominal rate, or frames get lost now and then"
    )
    return (remark(ReasonCode.DRIFT, name, text, value=drift),)


def _judge_step(
    name: str,
    estimate: ClockEstimate,
    limits: Limits,
    z: float,
    period_s: float | None,
    moment: str,
) -> Opinion:
    limit = limits.step_s
    if limit is None or estimate.step_s is None:
        return Opinion(verdict=Verdict.PASS)
    if compare(estimate.step_s, estimate.step_std_s or 0.0, limit, z) is not Standing.OUTSIDE:
        return Opinion(verdict=Verdict.PASS)
    message = (
        f"{name} jumps by {word_measure(estimate.step_s, estimate.step_std_s)} {moment}; limit "
        f"{word_duration(limit)}"
        f"{word_slip(estimate.step_s, estimate.step_std_s or 0.0, period_s, z)}"
    )
    return Opinion(
        verdict=Verdict.REJECT,
        defects=(defect(ReasonCode.STEP, name, message, value=estimate.step_s, limit=limit),),
    )


def _judge_companions(
    name: str,
    limits: Limits,
    measurements: Sequence[PairMeasurement],
    clock_of_source: Mapping[str, str],
    z: float,
) -> Opinion:
    """Judge a source whose clock is tied to no other by the sources of the same clock."""
    same = [
        m
        for m in measurements
        if m.accepted
        and not m.is_baseline_only
        and name in (m.source, m.target)
        and clock_of_source.get(m.source) == clock_of_source.get(m.target)
    ]
    standings = [
        compare(m.offset_s or 0.0, m.offset_std_s or 0.0, limits.offset_s, z) for m in same
    ]
    if Standing.INSIDE in standings and Standing.OUTSIDE not in standings:
        return Opinion(verdict=Verdict.PASS)
    if not same:
        return _unknown(name, f"{name} cannot be judged: no measurement ties it to another source")
    m = same[0]
    other = m.target if m.source == name else m.source
    return _unknown(
        name,
        f"{name} and {other} share a clock but lie "
        f"{word_measure(m.offset_s or 0.0, m.offset_std_s)} apart ({word_method(m.method)}); "
        f"limit {word_duration(limits.offset_s)}",
        limit=limits.offset_s,
    )


def _why_unobservable(
    name: str,
    clock: str,
    solution: ClockSolution,
    measurements: Sequence[PairMeasurement],
    clock_of_source: Mapping[str, str],
) -> str:
    """Say what is missing, citing the best of the measurements that were refused."""
    home = next((c for c in solution.components if clock in c), (clock,))
    refused = [
        m
        for m in measurements
        if not m.accepted
        and (clock_of_source.get(m.source) == clock or clock_of_source.get(m.target) == clock)
        and clock_of_source.get(m.source) != clock_of_source.get(m.target)
    ]

    def rank(m: PairMeasurement) -> tuple[bool, bool, bool, float]:
        other = m.target if clock_of_source.get(m.source) == clock else m.source
        other_clock = clock_of_source.get(other)
        is_tied = solution.reference is not None and any(
            solution.reference in c and other_clock in c for c in solution.components
        )
        is_own = name in (m.source, m.target)
        return (not is_tied, not is_own, m.offset_s is None, m.offset_std_s or 1e9)

    if refused:
        best = min(refused, key=rank)
        mine, other = best.source, best.target
        if clock_of_source.get(mine) != clock:
            mine, other = other, mine
        more = len(refused) - 1
        also = f" ({word_count(more, 'other attempt')} failed too)" if more else ""
        whose = "its" if mine == name else f"the {word_method(best.method)} of {mine}"
        subject = f"its {word_method(best.method)}" if whose == "its" else whose
        return (
            f"{name} cannot be judged: {subject} could not be matched to {other}: {best.why}{also}"
        )
    others = [c for c in home if c != clock]
    if others and solution.reference is not None:
        return (
            f"{name} cannot be judged: it is tied to {', '.join(others)}, but nothing ties them to "
            f"{solution.reference}"
        )
    only = [m for m in measurements if m.accepted and name in (m.source, m.target)]
    if only:
        methods = ", ".join(dict.fromkeys(word_method(m.method) for m in only))
        return (
            f"{name} cannot be judged: {methods} alone says nothing without a baseline in the "
            "policy"
        )
    return f"{name} cannot be judged: no measurement ties it to another source"
