"""Judge methods that contain physics of the vehicle against a baseline, never against zero."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from syncaudit.formatting import word_duration, word_measure
from syncaudit.model import (
    ClockEstimate,
    ClockSolution,
    Finding,
    PairMeasurement,
    ReasonCode,
    SourceKind,
)
from syncaudit.policy.check_result import defect
from syncaudit.policy.equivalence import Equivalence, compare
from syncaudit.policy.limits import Policy
from syncaudit.policy.unobservable import word_method

__all__ = ["Baselined", "judge_baselines"]

# Steering and wheel speed are read from the vehicle's bus, commands from the robot's; a camera
# that is held against them is the likelier to be late.
_VEHICLE_KINDS = ("can", "state")


@dataclass(frozen=True, slots=True, kw_only=True)
class Baselined:
    """Findings of measurements far from their baseline, and sources that a baseline vouches for."""

    findings: tuple[Finding, ...] = ()
    verified: frozenset[str] = frozenset()


def judge_baselines(
    policy: Policy,
    solution: ClockSolution,
    measurements: Sequence[PairMeasurement],
    *,
    kinds: Mapping[str, str],
    clock_of_source: Mapping[str, str],
    tolerance_s: Mapping[str, float],
    z: float,
) -> Baselined:
    """Return what baselines tell.

    What the solution knows of the two clocks is taken off first, so that a clock that is off is
    not told twice. A source whose clock nothing else ties down is vouched for by its baseline.

    Parameters
    ----------
    policy : Policy
        With its baselines.
    solution : ClockSolution
        All clocks.
    measurements : sequence of PairMeasurement
        All of the clip.
    kinds, clock_of_source : mapping of str to str
        Kind and clock of every source.
    tolerance_s : mapping of str to float
        Offset limit of every source.
    z : float
        Standard errors of the confidence interval.
    """
    findings: list[Finding] = []
    verified: set[str] = set()
    for m in measurements:
        baseline = policy.baseline_of(m)
        if not m.accepted or not policy.is_baseline_only(m) or baseline is None:
            continue
        limit = baseline.tolerance_s or max(
            tolerance_s.get(m.source, 0.0), tolerance_s.get(m.target, 0.0)
        )
        ends = [_observed(solution, clock_of_source.get(name)) for name in (m.source, m.target)]
        known_s, known_std_s = 0.0, 0.0
        if ends[0] is not None and ends[1] is not None:
            known_s = (ends[0].offset_s or 0.0) - (ends[1].offset_s or 0.0)
            known_std_s = math.hypot(ends[0].offset_std_s or 0.0, ends[1].offset_std_s or 0.0)
        rest_s = (m.offset_s or 0.0) - known_s - baseline.offset_s
        std_s = math.hypot(m.offset_std_s or 0.0, known_std_s)
        standing = compare(rest_s, std_s, limit, z)
        if standing is Equivalence.INSIDE:
            verified.update(
                name for name, end in zip((m.source, m.target), ends, strict=True) if end is None
            )
        elif standing is Equivalence.OUTSIDE:
            blamed = m.source if kinds.get(m.source) == SourceKind.CAMERA else m.target
            if kinds.get(m.target) not in _VEHICLE_KINDS:
                blamed = m.source
            text = (
                f"{word_method(m.method)} between {m.source} and {m.target} is "
                f"{word_measure(rest_s, std_s)} away from its baseline of "
                f"{word_duration(baseline.offset_s)}; limit {word_duration(limit)}"
            )
            findings.append(defect(ReasonCode.OFFSET, blamed, text, value=rest_s, limit=limit))
    return Baselined(findings=tuple(findings), verified=frozenset(verified))


def _observed(solution: ClockSolution, clock: str | None) -> ClockEstimate | None:
    estimate = solution.clocks.get(clock or "")
    return estimate if estimate is not None and estimate.is_observable else None
