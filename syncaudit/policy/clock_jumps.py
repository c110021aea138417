"""Judge how far a clock jumps, and say when."""

from __future__ import annotations

from syncaudit.model import ClockEstimate, ReasonCode, Verdict
from syncaudit.model.wording import rounded, word_duration, word_measure
from syncaudit.policy.check_result import CheckResult, defect
from syncaudit.policy.equivalence import Equivalence, compare, seconds_to_step
from syncaudit.policy.frame_words import word_slip
from syncaudit.policy.limits import Limits

__all__ = ["judge_step", "word_moment"]

# Errors of the instant below what its figure shows go without saying.
LEAST_STD_S = 0.05


def judge_step(
    name: str,
    estimate: ClockEstimate,
    limits: Limits,
    z: float,
    period_s: float | None,
    moment: str,
) -> CheckResult:
    """Return the opinion on the size of a jump by itself."""
    limit = limits.step_s
    if limit is None or estimate.step_s is None:
        return CheckResult(verdict=Verdict.PASS)
    if compare(estimate.step_s, estimate.step_std_s or 0.0, limit, z) is not Equivalence.OUTSIDE:
        return CheckResult(verdict=Verdict.PASS)
    message = (
        f"{name} jumps {word_measure(estimate.step_s, estimate.step_std_s)} {moment}; limit "
        f"{word_duration(limit)}"
        f"{word_slip(estimate.step_s, estimate.step_std_s or 0.0, period_s, z)}"
    )
    return CheckResult(
        verdict=Verdict.REJECT,
        defects=(defect(ReasonCode.STEP, name, message, value=estimate.step_s, limit=limit),),
    )


def word_moment(estimate: ClockEstimate, at_ns: int, span_s: float) -> str:
    """Say when a clock jumps, counted from the start of the clip."""
    if estimate.step_at_ns is None:
        return "inside the clip"
    after_s = seconds_to_step(estimate, at_ns=at_ns, span_s=span_s) + 0.5 * span_s
    if estimate.step_at_std_s < LEAST_STD_S:
        return f"at {after_s:.1f} s"
    return f"at {' ± '.join(rounded(after_s, estimate.step_at_std_s))} s"
