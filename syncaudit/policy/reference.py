"""Judge the reference itself: consensus may find that it is the one that is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from syncaudit.formatting import word_correction, word_names
from syncaudit.model import ClockEstimate, ClockSolution, Finding, ReasonCode
from syncaudit.policy.case import Case, Findings, defect, doubt, is_undecided
from syncaudit.policy.clock_steps import doubted_steps, is_by_steps
from syncaudit.policy.equivalence import Equivalence, compare


def check_reference(case: Case) -> Findings:
    """Return findings where the reference is in doubt.

    A stated reference that consensus would correct cannot pass.
    """
    solution, reference = case.solution, case.solution.reference
    if reference is None or not solution.suspects:
        return Findings()
    is_told = is_by_steps(case, solution.suspects) and (
        bool(doubted_steps(case)) or reference in solution.suspects
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
