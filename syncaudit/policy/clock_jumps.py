"""Judge how far a clock jumps, and word it: a whole number of frame periods is a lost frame."""

from __future__ import annotations

from syncaudit.model import ClockEstimate, ReasonCode, Verdict
from syncaudit.model.wording import word_count, word_duration, word_measure
from syncaudit.policy.equivalence import Standing, compare, seconds_to_step
from syncaudit.policy.limits import Limits
from syncaudit.policy.opinion import Opinion, defect

__all__ = ["judge_step", "word_moment", "word_slip"]

# Share of a frame period that no error bar need be smaller than, to call it a whole period.
_SAME_PERIOD = 0.02


def judge_step(
    name: str,
    estimate: ClockEstimate,
    limits: Limits,
    z: float,
    period_s: float | None,
    moment: str,
) -> Opinion:
    """Return the opinion on the size of a jump by itself."""
    limit = limits.step_s
    if limit is None or estimate.step_s is None:
        return Opinion(verdict=Verdict.PASS)
    if compare(estimate.step_s, estimate.step_std_s or 0.0, limit, z) is not Standing.OUTSIDE:
        return Opinion(verdict=Verdict.PASS)
    message = (
        f"{name} jumps by {word_measure(estimate.step_s, estimate.step_std_s)} {moment}; limit "
        f"{word_duration(limit)}"
        f"{word_slip(estimate.step_s, estimate.step_std_s or 0.0, period_s, z)}"
    )
    return Opinion(
        verdict=Verdict.REJECT,
        defects=(defect(ReasonCode.STEP, name, message, value=estimate.step_s, limit=limit),),
    )


def word_moment(estimate: ClockEstimate, at_ns: int, span_s: float) -> str:
    """Say when a clock jumps, after the start of the clip."""
    if estimate.step_at_ns is None:
        return "inside the clip"
    after_s = seconds_to_step(estimate, at_ns=at_ns, span_s=span_s) + 0.5 * span_s
    return f"{after_s:.1f} s after the clip's start"


def word_slip(size_s: float, std_s: float, period_s: float | None, z: float) -> str:
    """Say that a size is a whole number of frame periods, where it is known well enough to tell.

    A chance hit is one in five at worst: the interval must be shorter than a tenth of the period
    to either side.
    """
    if period_s is None or not period_s > 0.0 or z * std_s > 0.1 * period_s:
        return ""
    n = round(abs(size_s) / period_s)
    if n < 1 or abs(abs(size_s) - n * period_s) > max(z * std_s, _SAME_PERIOD * period_s):
        return ""
    what = "lost" if size_s > 0.0 else "doubled"
    return (
        f": exactly {word_count(n, 'frame period')}, as if {word_count(n, 'frame')} had been "
        f"{what} while the stamps ran on"
    )
