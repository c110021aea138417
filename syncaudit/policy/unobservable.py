"""Say why a clock could not be judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from syncaudit.model import ClockSolution, PairMeasurement, ReasonCode, Verdict
from syncaudit.model.wording import word_count
from syncaudit.policy.opinion import Opinion, remark

__all__ = ["unknown", "why_unobservable", "word_method"]


def word_method(method: str) -> str:
    """Return a method's name for people: ``yaw rate``."""
    words = {
        "lateral_accel": "lateral acceleration",
        "long_accel": "forward acceleration",
        "flash": "flashes",
    }
    return words.get(method, method.replace("_", " "))


def unknown(name: str, message: str, *, limit: float | None = None) -> Opinion:
    """Return the opinion that nothing can be said of a source, and why."""
    return Opinion(
        verdict=Verdict.UNVERIFIED,
        gaps=(remark(ReasonCode.UNOBSERVABLE, name, message, limit=limit),),
    )


def why_unobservable(
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
