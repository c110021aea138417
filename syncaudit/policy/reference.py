"""Judge the reference itself, which consensus may find wrong, and whose step a step was."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from statistics import median

from syncaudit.formatting import word_correction, word_duration, word_measure, word_names
from syncaudit.model import ClockEstimate, ClockJump, ClockSolution, Finding, ReasonCode
from syncaudit.policy.case import Case, Equivalence, Findings, compare, defect, doubt, is_undecided


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
    few or of one kind: what one computer loses, it loses for all of them.
    """
    solution = case.solution
    if not solution.jumps or solution.step_suspects:
        return solution.step_suspects
    home = next((c for c in solution.components if {*solution.jumps} <= {*c}), ())
    agreeing = [clock for clock in home if clock not in solution.jumps]
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
    """Return the sources that a clock stamps."""
    return [name for name, other in case.clocks.items() if other == clock]


def _standing(case: Case, name: str, jump: ClockJump) -> Equivalence:
    return compare(jump.step_s, jump.step_std_s, case.limits[name].offset_s, case.z)
