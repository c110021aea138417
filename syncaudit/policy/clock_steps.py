"""Judge whose step it was: clocks that may have stepped instead, and a reference that did."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from syncaudit.formatting import word_duration, word_measure, word_names
from syncaudit.model import ClockJump, ReasonCode
from syncaudit.policy.case import Case, Findings, defect, doubt, is_undecided
from syncaudit.policy.equivalence import Equivalence, compare


def check_steps(case: Case) -> Findings:
    """Return findings about steps whose clock is not known, or is the stated reference.

    A clock that may have stepped instead of the one that is blamed cannot pass, unless the manifest
    states that it is right. A stated reference that stepped cannot pass either, although all others
    step relative to it.
    """
    solution = case.solution
    stated = solution.reference if solution.is_reference_stated else None
    doubted = doubted_steps(case)
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


def doubted_steps(case: Case) -> Mapping[str, ClockJump]:
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


def is_by_steps(case: Case, clocks: Collection[str]) -> bool:
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
