"""Explain why a clock could not be judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from syncaudit.formatting import word_count
from syncaudit.model import Finding, PairMeasurement, ReasonCode, Verdict
from syncaudit.policy.case import CheckResult, ClockCase


def word_method(method: str) -> str:
    """Return a method's name for display: ``yaw rate``."""
    words = {
        "lateral_accel": "lateral acceleration",
        "long_accel": "forward acceleration",
        "flash": "flashes",
    }
    return words.get(method, method.replace("_", " "))


def unknown(name: str, message: str, *, limit: float | None = None) -> CheckResult:
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
    return replace(unknown(name, f"{name} cannot be judged: {known}"), why_unmeasured=why)


def why_unobservable(case: ClockCase) -> str | None:
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
