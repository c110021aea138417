"""Judge methods that contain physics of the vehicle against a baseline, never against zero."""

from __future__ import annotations

import math

from syncaudit.formatting import word_duration, word_measure
from syncaudit.model import Finding, ReasonCode, SourceKind
from syncaudit.policy.case import Case, Findings
from syncaudit.policy.check_result import defect
from syncaudit.policy.equivalence import Equivalence, compare
from syncaudit.policy.unobservable import word_method

__all__ = ["check_baselines"]

# Steering and wheel speed are read from the vehicle's bus, commands from the robot's; a camera
# that is held against them is the likelier to be late.
_VEHICLE_KINDS = ("can", "state")


def check_baselines(case: Case) -> Findings:
    """Return findings of measurements far from their baseline, and sources that one vouches for.

    What the solution knows of the two clocks is taken off first, so that a clock that is off is
    not told twice. A source whose clock nothing else ties down is vouched for by its baseline.
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
