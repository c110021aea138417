"""Judge measurements that contradict each other around loops of clocks, or their baseline.

The reference itself may be what is wrong, or the owner of a step.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from statistics import median

from syncaudit.formatting import word_correction, word_duration, word_measure, word_names
from syncaudit.model import (
    ClockEstimate,
    ClockJump,
    ClockSolution,
    EdgeResidual,
    Finding,
    LoopClosure,
    PairMeasurement,
    ReasonCode,
    SourceKind,
)
from syncaudit.policy.case import Case, Equivalence, Findings, compare, defect, doubt, is_undecided
from syncaudit.policy.clocks import word_method, word_refusal

# A loop that fails to close by fewer standard errors may do so by chance.
_SIGNIFICANT = 4.0
# Steering and wheel speed are read from the vehicle's bus, commands from the robot's; a camera
# compared with them is the more likely to be late.
_VEHICLE_KINDS = ("can", "state")

_Group = tuple[Sequence[int], float, str]


def check_contradictions(case: Case) -> Findings:
    """Return findings about contradictory measurements, and the sources left in doubt.

    A measurement that alone is to blame was left out by the solver: a warning. If it cannot be
    determined which one is wrong, the data contradict themselves: by more than the widest
    tolerance of the sources concerned it rejects the clip, by less it is a warning (the standard
    errors of the solution have grown by it).
    """
    solution, measurements = case.solution, case.measurements
    findings: list[Finding] = []
    doubtful: set[str] = set()
    open_edges: dict[int, EdgeResidual] = {}
    for edge in solution.edges:
        if edge.is_outlier:
            findings.append(_outlier(edge, measurements[edge.index]))
        elif edge.is_contradicted:
            open_edges[edge.index] = edge
    for members, size_s, text in _groups(
        solution.loops, open_edges, measurements, case.record.span_s
    ):
        sources = list(
            dict.fromkeys(
                name for i in members for name in (measurements[i].source, measurements[i].target)
            )
        )
        limit = case.widest_limit_s(*sources)
        if abs(size_s) > limit:
            doubtful.update(sources)
            make = defect
        else:
            make = Finding.warning
        message = f"{text}; limit {word_duration(limit)}"
        findings.append(make(ReasonCode.INCONSISTENT, None, message, value=size_s, limit=limit))
    return Findings(findings=findings, doubtful=frozenset(doubtful))


def check_departures(case: Case) -> Findings:
    """Return a doubt for every source whose clock departs from another in a part of the clip.

    Frames were lost or a clock stepped there, too near an end or too briefly to be measured, so the
    pair was refused. One of its two clocks is wrong: the other one is known by its agreement with
    more sources of other kinds. Sources of one kind pass through one computer and may share the
    fault, so that they do not clear each other.
    """
    departed: list[tuple[str, str, PairMeasurement]] = []
    alike: set[str] = set()
    others: dict[str, set[str]] = defaultdict(set)
    for m in case.measurements:
        ends = (case.clocks[m.source], case.clocks[m.target])
        if m.is_baseline_only:
            continue
        if "departs_by_s" in m.diagnostics:
            departed += [(*ends, m), (*ends[::-1], m)]
        elif not m.accepted or ends[0] == ends[1]:
            continue
        elif case.kinds[m.source] == case.kinds[m.target]:
            alike.update(ends)
        else:
            for one, other in (ends, ends[::-1]):
                others[one].add(other)
    doubted: dict[str, PairMeasurement] = {}
    for clock, other, m in departed:
        if len(others[clock]) <= len(others[other]):
            doubted.setdefault(clock, m)
    findings = []
    for name, clock in case.clocks.items():
        if clock not in doubted:
            continue
        text = f"{name} cannot be judged: {word_refusal(name, case.clocks, doubted[clock])}"
        if clock in alike and not others[clock]:
            text += ". It agrees only with sources of its own kind, which may share the fault"
        findings.append(doubt(ReasonCode.UNOBSERVABLE, name, text))
    return Findings(findings=findings)


def _outlier(edge: EdgeResidual, m: PairMeasurement) -> Finding:
    return Finding.warning(
        ReasonCode.INCONSISTENT,
        m.source,
        f"{word_method(m.method)} between {m.source} and {m.target} contradicts all other "
        f"measurements by {word_duration(abs(edge.residual_s))} and was left out",
        value=edge.residual_s,
    )


def _groups(
    loops: Sequence[LoopClosure],
    open_edges: Mapping[int, EdgeResidual],
    measurements: Sequence[PairMeasurement],
    span_s: float,
) -> list[_Group]:
    """Return one group per contradiction: the worst loop that shows it, or the bare edge."""
    groups: list[_Group] = []
    left = dict(open_edges)
    for loop in sorted(loops, key=lambda loop: -abs(loop.closure_s)):
        members = [i for i in loop.measurements if i in open_edges]
        if abs(loop.z) <= _SIGNIFICANT or not any(i in left for i in members):
            continue
        for i in members:
            left.pop(i, None)
        groups.append((members, loop.closure_s, _word_loop(loop, measurements)))
    for index, edge in left.items():
        m = measurements[index]
        drift_s = 0.5e-6 * span_s * abs(edge.drift_residual_ppm or 0.0)
        what = "the drift" if drift_s > abs(edge.residual_s) else word_method(m.method)
        size_s = max(abs(edge.residual_s), drift_s)
        text = (
            f"{what} between {m.source} and {m.target} contradicts other measurements by "
            f"{word_duration(size_s)}, and nothing shows which is wrong"
        )
        groups.append(([index], size_s, text))
    return groups


def _word_loop(loop: LoopClosure, measurements: Sequence[PairMeasurement]) -> str:
    around = [measurements[i] for i in loop.measurements]
    if len(loop.clocks) == 1:
        m = around[0]
        return (
            f"{m.source} and {m.target} name the same clock '{loop.clocks[0]}', but "
            f"{word_method(m.method)} finds them "
            f"{word_measure(loop.closure_s, loop.closure_std_s)} apart"
        )
    if len(loop.clocks) == 2 and len(around) == 2:
        a, b = loop.clocks
        methods = " and ".join(word_method(m.method) for m in around)
        return (
            f"{methods} between {a} and {b} contradict each other by "
            f"{word_measure(loop.closure_s, loop.closure_std_s)}, and nothing shows which is wrong"
        )
    names = " - ".join((*loop.clocks, loop.clocks[0]))
    return (
        f"the measurements around {names} contradict each other by "
        f"{word_measure(loop.closure_s, loop.closure_std_s)}, and nothing shows which is wrong"
    )


def check_baselines(case: Case) -> Findings:
    """Return findings of measurements far from their baseline, and sources confirmed by one.

    The solution's offset between the two clocks is subtracted first, so that a clock that is off
    is not reported twice. A source whose clock nothing else constrains is confirmed by its
    baseline.
    """
    findings: list[Finding] = []
    verified: set[str] = set()
    for m in case.measurements:
        baseline = case.policy.baseline_of(m)
        if not m.accepted or not case.policy.is_baseline_only(m) or baseline is None:
            continue
        limit = baseline.tolerance_s or case.widest_limit_s(m.source, m.target)
        ends = [case.clock(name) for name in (m.source, m.target)]
        known_s, known_std_s = 0.0, 0.0
        if ends[0] is not None and ends[1] is not None:
            known_s = (ends[0].offset_s or 0.0) - (ends[1].offset_s or 0.0)
            known_std_s = math.hypot(ends[0].offset_std_s or 0.0, ends[1].offset_std_s or 0.0)
        rest_s = (m.offset_s or 0.0) - known_s - baseline.offset_s
        std_s = math.hypot(m.offset_std_s or 0.0, known_std_s)
        standing = compare(rest_s, std_s, limit, case.z)
        if standing is Equivalence.INSIDE:
            verified.update(
                name for name, end in zip((m.source, m.target), ends, strict=True) if end is None
            )
        elif standing is Equivalence.OUTSIDE:
            blamed = m.source if case.kinds.get(m.source) == SourceKind.CAMERA else m.target
            if case.kinds.get(m.target) not in _VEHICLE_KINDS:
                blamed = m.source
            text = (
                f"{word_method(m.method)} between {m.source} and {m.target} is "
                f"{word_measure(rest_s, std_s)} away from its baseline of "
                f"{word_duration(baseline.offset_s)}; limit {word_duration(limit)}"
            )
            findings.append(defect(ReasonCode.OFFSET, blamed, text, value=rest_s, limit=limit))
    return Findings(findings=findings, verified=frozenset(verified))


def check_reference(case: Case) -> Findings:
    """Return findings where the reference is in doubt.

    A stated reference that consensus would correct cannot pass.
    """
    solution, reference = case.solution, case.solution.reference
    if reference is None or not solution.suspects:
        return Findings()
    is_told = _is_by_steps(case, solution.suspects) and (
        bool(_doubted_steps(case)) or reference in solution.suspects
    )
    tolerance_s = case.policy.clock_tolerances(case.clip)
    sources = [name for name, clock in case.clocks.items() if clock == reference]
    if solution.is_reference_stated and reference in solution.suspects:
        finding = _stated_suspect(solution, reference, tolerance_s, case.z)
        if finding is None and is_told:
            return Findings()
        if finding is None:
            text = (
                f"{reference}, the stated reference, may itself be wrong: consensus would "
                "correct it rather than the others"
            )
            found = [doubt(ReasonCode.OFFSET, source, text) for source in sources]
            return Findings(findings=found)
        text, value = finding
        limit = tolerance_s.get(reference)
        return Findings(
            findings=[
                defect(ReasonCode.OFFSET, source, text, value=value, limit=limit)
                for source in sources
            ]
        )
    home = next((c for c in solution.components if reference in c), ())
    agreeing = [clock for clock in home if clock not in solution.suspects]
    if is_told or solution.is_reference_stated:
        return Findings()
    if is_undecided(agreeing, solution.suspects, case.kinds_of_clocks()):
        text = (
            f"nothing shows which side is wrong, {word_names(agreeing)} or "
            f"{word_names(solution.suspects)}: {reference} was trusted"
        )
        if len(agreeing) > len(solution.suspects):
            text += ". Sources of one kind may share an error if one computer timestamps them all"
        first = sources[0] if sources else None
        return Findings(findings=[Finding.warning(ReasonCode.OFFSET, first, text)])
    return Findings()


def _stated_suspect(
    solution: ClockSolution, reference: str, tolerance_s: Mapping[str, float], z: float
) -> tuple[str, float] | None:
    """Return sentence and offset if at least two others agree, and all of these contradict it."""
    others = {
        name: clock
        for name, clock in solution.clocks.items()
        if name != reference and clock.offset_s is not None and clock.offset_std_s is not None
    }
    if len(others) < 2:
        return None
    middle_s = median(_offset(clock) for clock in others.values())
    agreeing = {
        name: clock
        for name, clock in others.items()
        if compare(_offset(clock) - middle_s, _std(clock), tolerance_s.get(name, 0.0), z)
        is not Equivalence.OUTSIDE
    }
    disagreeing = all(
        compare(_offset(clock), _std(clock), tolerance_s.get(name, 0.0), z) is Equivalence.OUTSIDE
        for name, clock in agreeing.items()
    )
    if len(agreeing) < 2 or 2 * len(agreeing) <= len(others) or not disagreeing:
        return None
    value_s = -median(_offset(clock) for clock in agreeing.values())
    std_s = median(_std(clock) for clock in agreeing.values())
    text = (
        f"{reference}, the stated reference, is {word_correction(value_s, std_s)} against the "
        f"consensus of {len(agreeing)} others; more likely it is wrong itself"
    )
    return text, value_s


def _offset(clock: ClockEstimate) -> float:
    return clock.offset_s or 0.0


def _std(clock: ClockEstimate) -> float:
    return clock.offset_std_s or 0.0


def check_steps(case: Case) -> Findings:
    """Return findings about steps whose clock is not known, or is the stated reference.

    A clock that may have stepped instead of the one that is blamed cannot pass, unless the manifest
    states that it is right. A stated reference that stepped cannot pass either, although all others
    step relative to it.
    """
    solution = case.solution
    stated = solution.reference if solution.is_reference_stated else None
    doubted = _doubted_steps(case)
    steps = {clock: jump for clock, jump in doubted.items() if clock != stated}
    if stated is not None and stated in solution.jumps:
        steps[stated] = solution.jumps[stated]
    standings = {
        name: (jump, _standing(case, name, jump))
        for clock, jump in steps.items()
        for name in _sources(case, clock)
    }
    blamed = [name for clock in solution.jumps for name in _sources(case, clock)]
    others = [name for name in standings if name not in blamed]
    findings = []
    for name, (jump, standing) in standings.items():
        if standing is Equivalence.INSIDE:
            continue
        limit = case.limits[name].offset_s
        if doubted:
            make = doubt
            text = (
                f"nothing shows which clock jumped, {word_names(blamed)} or "
                f"{word_names(others)}: {word_names(blamed)} was blamed"
            )
        else:
            make = defect if standing is Equivalence.OUTSIDE else doubt
            text = (
                f"{name}, the stated reference, jumps "
                f"{word_measure(jump.step_s, jump.step_std_s)} against the consensus of the "
                f"others; more likely it is wrong itself; limit {word_duration(limit)}"
            )
        findings.append(make(ReasonCode.STEP, name, text, value=jump.step_s, limit=limit))
    return Findings(findings=findings)


def _doubted_steps(case: Case) -> Mapping[str, ClockJump]:
    """Return the steps of clocks that may have stepped instead of those that are blamed.

    Besides those that the measurements leave open, these are all clocks that agree, if they are too
    few or of one kind: what one computer loses, it loses for all of them. A clock whose only
    measurements are with the blamed ones, and show no step, does not agree. None if the blamed ones
    show their steps themselves.
    """
    solution = case.solution
    if not solution.jumps or solution.step_suspects:
        return solution.step_suspects
    if all(jump.is_own for jump in solution.jumps.values()):
        return {}
    ties = [
        ({case.clocks[m.source], case.clocks[m.target]}, m.step_s)
        for m in case.measurements
        if m.accepted and not m.is_baseline_only
    ]
    vouching = {
        clock
        for ends, step_s in ties
        if step_s is not None or ends.isdisjoint(solution.jumps)
        for clock in ends
    }
    home = next((c for c in solution.components if {*solution.jumps} <= {*c}), ())
    agreeing = [clock for clock in home if clock in vouching and clock not in solution.jumps]
    if not is_undecided(agreeing, solution.jumps, case.kinds_of_clocks()):
        return {}
    largest = max(solution.jumps.values(), key=lambda jump: abs(jump.step_s))
    return dict.fromkeys(agreeing, largest)


def _is_by_steps(case: Case, clocks: Collection[str]) -> bool:
    """Return whether all of some clocks stepped beyond a limit, which `check_steps` reports."""
    return all(
        clock in case.solution.jumps
        and any(
            _standing(case, name, case.solution.jumps[clock]) is not Equivalence.INSIDE
            for name in _sources(case, clock)
        )
        for clock in clocks
    )


def _sources(case: Case, clock: str) -> Sequence[str]:
    return [name for name, other in case.clocks.items() if other == clock]


def _standing(case: Case, name: str, jump: ClockJump) -> Equivalence:
    return compare(jump.step_s, jump.step_std_s, case.limits[name].offset_s, case.z)
