"""Judge the clock of one source: offset at any instant of the clip, drift and step.

Where a clock could not be judged, the reason is explained.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from syncaudit.formatting import (
    rounded,
    word_correction,
    word_count,
    word_drift,
    word_duration,
    word_measure,
)
from syncaudit.model import ClockEstimate, Finding, PairMeasurement, ReasonCode, Verdict
from syncaudit.policy.case import (
    CheckResult,
    ClockCase,
    Course,
    Equivalence,
    compare,
    course_of,
    rejected,
    seconds_to_step,
    worst,
)

# Uncertainty of the instant below what its figure shows is not reported.
LEAST_STD_S = 0.05

# Crystals of any make stay within 100 ppm; none reaches twice that.
_QUARTZ_PPM = 200.0
# Share of a frame period within which a size is a whole number of periods, however small its error.
_SAME_PERIOD = 0.02
# Share of a frame period within which an offset of a counter is called a whole number of them.
_NEAR_PERIOD = 0.25


def judge_clock(case: ClockCase) -> CheckResult:
    """Return the result on one source from its clock's estimate."""
    solution, span_s = case.solution, case.span_s
    estimate = solution.clocks.get(case.clock)
    if estimate is None or not estimate.is_observable or estimate.offset_s is None:
        return unmeasured(case.name, _why_unobservable(case))
    if case.is_reference and estimate.n_measurements == 0:
        return _judge_companions(case)
    course = course_of(
        estimate,
        at_ns=solution.at_ns,
        span_s=span_s,
        prior_ppm=0.0 if case.is_reference else case.prior_ppm,
    )
    moment = _word_moment(estimate, solution.at_ns, span_s, case.start_s)
    results = [
        _judge_offset(case, estimate, course, moment),
        _judge_drift(case, estimate),
        _judge_step(case, estimate, moment),
    ]
    defects: dict[ReasonCode, Finding] = {}
    for finding in (finding for result in results for finding in result.defects):
        defects.setdefault(finding.code, finding)
    verdicts = {result.verdict for result in results}
    return CheckResult(
        verdict=next(
            v for v in (Verdict.REJECT, Verdict.UNVERIFIED, Verdict.PASS) if v in verdicts
        ),
        defects=tuple(defects.values()),
        gaps=tuple(finding for result in results for finding in result.gaps),
        warnings=tuple(
            finding
            for result in results
            for finding in result.warnings
            if finding.code not in defects
        ),
    )


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
        return unmeasured(name, _why_unobservable(case))
    m = same[0]
    other = m.target if m.source == name else m.source
    return _unknown(
        name,
        f"{name} and {other} share a clock but are "
        f"{word_measure(m.offset_s or 0.0, m.offset_std_s)} apart ({word_method(m.method)}); "
        f"limit {word_duration(limits.offset_s)}",
        limit=limits.offset_s,
    )


def _judge_drift(case: ClockCase, estimate: ClockEstimate) -> CheckResult:
    """Return the result on a drift by itself, and a warning if no oscillator drifts that much."""
    name, limit, z = case.name, case.limits.drift_ppm, case.z
    if limit is None or case.is_reference:
        return CheckResult(verdict=Verdict.PASS, warnings=_beyond_quartz(case))
    if estimate.drift_ppm is None or estimate.drift_std_ppm is None:
        return _unknown(
            name,
            f"the drift of {name} could not be measured, but the policy limits it to {limit:g} "
            "ppm: use a longer clip or more clips of the recording",
            limit=limit,
        )
    drift = word_drift(estimate.drift_ppm, estimate.drift_std_ppm)
    standing = compare(estimate.drift_ppm, estimate.drift_std_ppm, limit, z)
    if standing is Equivalence.INSIDE:
        return CheckResult(verdict=Verdict.PASS)
    if standing is Equivalence.INCONCLUSIVE:
        return _unknown(
            name,
            f"{name} drifts {drift}, too uncertain for the limit of {limit:g} ppm",
            limit=limit,
        )
    message = f"{name} drifts {drift}; limit {limit:g} ppm"
    return rejected(ReasonCode.DRIFT, name, message, value=estimate.drift_ppm, limit=limit)


def _beyond_quartz(case: ClockCase) -> tuple[Finding, ...]:
    """Warn of a drift that no oscillator has, even where the offset stays inside its limit.

    Drifts are relative. They are counted from the median clock, of several the most certain one: if
    the reference alone runs at another rate, all others drift against it.
    """
    name, reference, clocks = case.name, case.solution.reference, case.solution.clocks
    rates = {
        clock: (each.drift_ppm, each.drift_std_ppm)
        for clock, each in clocks.items()
        if each.drift_ppm is not None and each.drift_std_ppm is not None
    }
    if case.clock not in rates:
        return ()

    def away(base: str) -> tuple[float, bool]:
        own, std = rates[base]
        return std + sum(abs(rate - own) for rate, _ in rates.values()), base != reference

    base = min(rates, key=away)
    (own, own_std), (usual, usual_std) = rates[case.clock], rates[base]
    drift, std = own - usual, math.hypot(own_std, usual_std)
    if abs(drift) - 2.0 * case.z * std <= _QUARTZ_PPM:
        return ()
    against = "" if base == reference else f" against {base}"
    text = (
        f"{name} drifts {word_drift(drift, std)}{against}, more than quartz does: its timestamps "
        "may be synthetic (nominal rate), or frames are lost now and then"
    )
    return (Finding.warning(ReasonCode.DRIFT, name, text, value=drift),)


def _judge_step(case: ClockCase, estimate: ClockEstimate, moment: str) -> CheckResult:
    """Return the result on the size of a step by itself."""
    name, limit, z = case.name, case.limits.step_s, case.z
    if limit is None or estimate.step_s is None:
        return CheckResult(verdict=Verdict.PASS)
    if compare(estimate.step_s, estimate.step_std_s or 0.0, limit, z) is not Equivalence.OUTSIDE:
        return CheckResult(verdict=Verdict.PASS)
    message = (
        f"{name} jumps {word_measure(estimate.step_s, estimate.step_std_s)} {moment}; limit "
        f"{word_duration(limit)}"
        f"{_word_slip(case, estimate.step_s, estimate.step_std_s or 0.0)}"
    )
    return rejected(ReasonCode.STEP, name, message, value=estimate.step_s, limit=limit)


def _word_moment(estimate: ClockEstimate, at_ns: int, span_s: float, start_s: float) -> str:
    """Format when a clock steps, counted from the start of the clip."""
    if estimate.step_at_ns is None:
        return "inside the clip"
    after_s = start_s + 0.5 * span_s + seconds_to_step(estimate, at_ns=at_ns, span_s=span_s)
    if estimate.step_at_std_s < LEAST_STD_S:
        return f"at {after_s:.1f} s"
    return f"at {' ± '.join(rounded(after_s, estimate.step_at_std_s))} s"


def _judge_offset(
    case: ClockCase, estimate: ClockEstimate, course: Sequence[Course], moment: str
) -> CheckResult:
    """Judge the offset at every instant; find which of offset, drift and step exceeds the limit."""
    name, limit, z = case.name, case.limits.offset_s, case.z
    standings = [compare(point.value_s, point.std_s, limit, z) for point in course]
    overall = worst(standings)
    if overall is Equivalence.INSIDE:
        return CheckResult(verdict=Verdict.PASS)
    if overall is Equivalence.INCONCLUSIVE:
        return _unknown(name, _too_uncertain(name, estimate, course, limit, z), limit=limit)
    jump = word_measure(estimate.step_s or 0.0, estimate.step_std_s)
    slip = _word_slip(case, estimate.step_s or 0.0, estimate.step_std_s or 0.0)
    beyond_step = [s for p, s in zip(course, standings, strict=True) if p.is_stepped]
    half = "from then on" if estimate.is_step_past else "before"
    if (
        standings[0] is Equivalence.OUTSIDE
        and beyond_step
        and set(beyond_step) == {Equivalence.INSIDE}
    ):
        # Within the limit on the other side: the step alone is to blame.
        point, code = course[0], ReasonCode.STEP
        figure = word_correction(point.value_s, point.std_s)
        message = (
            f"{name} jumps {jump} {moment} and is {figure} {half}; "
            f"limit {word_duration(limit)}{slip}"
        )
    elif standings[0] is Equivalence.OUTSIDE:
        point, code = course[0], ReasonCode.OFFSET
        figure = word_correction(point.value_s, point.std_s)
        # Outside on both sides: state which side the figure is for.
        intended_s = case.expected_offset_s
        beyond = f" beyond the intended {word_duration(intended_s)}" if intended_s else ""
        moment_text = f" {half}, as its clock jumps {moment}" if beyond_step else ""
        message = (
            f"{name} is {figure}{beyond}{moment_text}; limit {word_duration(limit)}"
            f"{_word_hidden(point.value_s, case.period_s) if case.is_counted else ''}"
            f"{'' if case.is_counted else _word_slip(case, point.value_s, point.std_s)}"
        )
    else:
        outside = [p for p, s in zip(course, standings, strict=True) if s is Equivalence.OUTSIDE]
        plain = [p for p in outside if not p.is_stepped]
        point = max(plain or outside, key=lambda p: abs(p.value_s))
        is_early = estimate.is_step_past if point.is_stepped else point.after_s < 0.0
        when = "at the start" if is_early else "at the end"
        figure = word_correction(point.value_s, point.std_s)
        where = f"{figure} {when} of the clip; limit {word_duration(limit)}"
        if plain:
            code = ReasonCode.DRIFT
            drift = word_drift(estimate.drift_ppm or 0.0, estimate.drift_std_ppm)
            message = f"{name} drifts {drift}: {where}"
        else:
            code = ReasonCode.STEP
            message = f"{name} jumps {jump} {moment} and is {where}{slip}"
    return rejected(code, name, message, value=point.value_s, limit=limit)


def _too_uncertain(
    name: str, estimate: ClockEstimate, course: Sequence[Course], limit: float, z: float
) -> str:
    middle = course[0]
    measured = word_correction(middle.value_s, middle.std_s)
    if compare(middle.value_s, middle.std_s, limit, z) is Equivalence.INSIDE:
        if any(
            point.is_stepped
            for point in course
            if compare(point.value_s, point.std_s, limit, z) is Equivalence.INCONCLUSIVE
        ):
            jump = word_measure(estimate.step_s or 0.0, estimate.step_std_s)
            return (
                f"{name} is {measured}, but its jump by {jump} may take it past the limit of "
                f"{word_duration(limit)}"
            )
        if estimate.drift_ppm is None:
            drift = "a drift that the clip cannot exclude"
        else:
            drift = f"its drift of {word_drift(estimate.drift_ppm, estimate.drift_std_ppm)}"
        return (
            f"{name} is {measured} in the middle of the clip, but {drift} may take it past the "
            f"limit of {word_duration(limit)} at one end: use a longer clip"
        )
    needed_s = abs(limit - abs(middle.value_s)) / z
    return (
        f"{name} is {measured}, too uncertain for the limit of {word_duration(limit)}: a "
        f"standard error below {word_duration(needed_s)} is needed"
    )


def _word_slip(case: ClockCase, size_s: float, std_s: float) -> str:
    """Report that a size is a whole number of frame periods, if it is known precisely enough.

    A chance hit is one in five at worst: the interval must be shorter than a tenth of the period
    to either side. What is longer than the clip is rather another epoch: whole seconds, and so
    whole periods, by itself.
    """
    period_s, interval_s = case.period_s, case.z * std_s
    if period_s is None or not period_s > 0.0 or interval_s > 0.1 * period_s:
        return ""
    n = round(abs(size_s) / period_s)
    if n < 1 or abs(size_s) > case.span_s:
        return ""
    if abs(abs(size_s) - n * period_s) > max(interval_s, _SAME_PERIOD * period_s):
        return ""
    what = "lost" if size_s > 0.0 else "doubled"
    return (
        f": exactly {word_count(n, 'frame period')}, likely {word_count(n, 'frame')} {what} and "
        "the rest renumbered"
    )


def _word_hidden(size_s: float, period_s: float | None) -> str:
    """Report that counting timestamps hide an offset, in frames if it is about whole frames."""
    hidden = "which counted timestamps cannot show"
    if period_s is None or not period_s > 0.0:
        return f", {hidden}"
    n = round(abs(size_s) / period_s)
    if n < 1 or abs(abs(size_s) - n * period_s) > _NEAR_PERIOD * period_s:
        return f", {hidden}"
    return f": about {word_count(n, 'frame period')}, {hidden}"


def word_method(method: str) -> str:
    """Return a method's name for display: ``yaw rate``."""
    words = {
        "lateral_accel": "lateral acceleration",
        "long_accel": "forward acceleration",
        "flash": "flashes",
    }
    return words.get(method, method.replace("_", " "))


def _unknown(name: str, message: str, *, limit: float | None = None) -> CheckResult:
    """Return the result that a source is unverified, and why."""
    return CheckResult(
        verdict=Verdict.UNVERIFIED,
        gaps=(Finding.warning(ReasonCode.UNOBSERVABLE, name, message, limit=limit),),
    )


def unmeasured(name: str, why: str | None) -> CheckResult:
    """Return the result on a source that no measurement constrains.

    `why` is what was tried and refused; None if there was nothing to try.
    """
    known = why or "no measurement ties it to another source"
    return replace(_unknown(name, f"{name} cannot be judged: {known}"), why_unmeasured=why)


def _why_unobservable(case: ClockCase) -> str | None:
    """Explain what is missing, by the best refused measurement; None if there was none."""
    clock, solution = case.clock, case.solution
    best, n_refused = _telling(case)
    if best is not None:
        more = n_refused - 1
        also = f" ({word_count(more, 'other attempt')} failed too)" if more else ""
        return f"{word_refusal(case.name, case.clocks, best)}{also}"
    home = next((c for c in solution.components if clock in c), (clock,))
    others = [c for c in home if c != clock]
    if others and solution.reference is not None:
        return f"it is tied to {', '.join(others)}, but nothing ties them to {solution.reference}"
    only = [m for m in case.measurements if m.accepted and case.name in (m.source, m.target)]
    if only:
        methods = ", ".join(dict.fromkeys(word_method(m.method) for m in only))
        return f"{methods} can be judged only against a baseline in the policy"
    return None


def word_refusal(name: str, clocks: Mapping[str, str], pair: PairMeasurement) -> str:
    """Return why one measurement of a source, or of another with its clock, was refused.

    `clocks` are those of all sources.
    """
    mine, other = pair.source, pair.target
    if mine != name and (other == name or clocks.get(mine) != clocks[name]):
        mine, other = other, mine
    method = word_method(pair.method)
    subject = f"its {method}" if mine == name else f"the {method} of {mine}"
    return f"{subject} could not be matched to {other}: {pair.why}"


def _telling(case: ClockCase) -> tuple[PairMeasurement | None, int]:
    """Return the one refusal to report for a source, and how many there are.

    A pair with another clock comes before one with its own, the source itself before others with
    its clock, then the pair that came nearest to a measurement, and last one with a clock that is
    tied to the reference.
    """
    clock, clocks, solution = case.clock, case.clocks, case.solution
    refused = [
        m
        for m in case.measurements
        if not m.accepted and clock in (clocks.get(m.source), clocks.get(m.target))
    ]

    def rank(m: PairMeasurement) -> tuple[object, ...]:
        ends = clocks.get(m.source), clocks.get(m.target)
        other_clock = ends[1] if ends[0] == clock else ends[0]
        is_tied = solution.reference is not None and any(
            solution.reference in c and other_clock in c for c in solution.components
        )
        is_own = case.name in (m.source, m.target)
        return ends[0] != ends[1], is_own, m.nearness, is_tied, -(m.offset_std_s or 1e9)

    apart = [m for m in refused if rank(m)[0]]
    return max(refused, key=rank, default=None), len(apart or refused)
