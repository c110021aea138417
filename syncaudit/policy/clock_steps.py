"""Judge whose step it was: clocks that may have stepped instead, and a reference that did."""

from __future__ import annotations

from collections.abc import Sequence

from syncaudit.formatting import word_duration, word_measure, word_names
from syncaudit.model import ClockJump, Finding, ReasonCode
from syncaudit.policy.case import Case, Findings, defect
from syncaudit.policy.equivalence import Equivalence, compare


def check_steps(case: Case) -> Findings:
    """Return findings about steps whose clock is not known, or is the stated reference.

    A clock that may have stepped instead of the one that is blamed cannot pass, unless the manifest
    states that it is right. A stated reference that stepped is told, as well as all others, which
    step relative to it.
    """
    solution = case.solution
    stated = solution.reference if solution.is_reference_stated else None
    suspects = {
        name: jump
        for clock, jump in solution.step_suspects.items()
        if clock != stated
        for name in _sources(case, clock)
        if _standing(case, name, jump) is not Equivalence.INSIDE
    }
    findings = []
    if suspects:
        blamed = [name for clock in solution.jumps for name in _sources(case, clock)]
        text = (
            f"nothing shows which clock jumped, {word_names(blamed)} or "
            f"{word_names([*suspects])}: {word_names(blamed)} was blamed"
        )
        findings.append(Finding.warning(ReasonCode.STEP, next(iter(suspects)), text))
    jump = None if stated is None else solution.jumps.get(stated)
    if stated is not None and jump is not None and not solution.step_suspects:
        for name in _sources(case, stated):
            if _standing(case, name, jump) is Equivalence.OUTSIDE:
                limit = case.limits[name].offset_s
                text = (
                    f"{name}, the stated reference, jumps "
                    f"{word_measure(jump.step_s, jump.step_std_s)} against the consensus of the "
                    f"others; more likely it is wrong itself; limit {word_duration(limit)}"
                )
                findings.append(defect(ReasonCode.STEP, name, text, value=jump.step_s, limit=limit))
    return Findings(findings=findings, doubtful=frozenset(suspects))


def _sources(case: Case, clock: str) -> Sequence[str]:
    """Return the sources that a clock stamps."""
    return [name for name, other in case.clocks.items() if other == clock]


def _standing(case: Case, name: str, jump: ClockJump) -> Equivalence:
    return compare(jump.step_s, jump.step_std_s, case.limits[name].offset_s, case.z)
