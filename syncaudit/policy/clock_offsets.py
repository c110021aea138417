"""Judge the offset of a clock at any instant of a clip."""

from __future__ import annotations

from collections.abc import Sequence

from syncaudit.formatting import (
    word_correction,
    word_count,
    word_drift,
    word_duration,
    word_measure,
)
from syncaudit.model import ClockEstimate, ReasonCode, Verdict
from syncaudit.policy.case import CheckResult, ClockCase, defect
from syncaudit.policy.equivalence import Course, Equivalence, compare, worst
from syncaudit.policy.unobservable import unknown

__all__ = ["judge_offset", "word_slip"]

# Share of a frame period that no error bar need be smaller than, to call it a whole period.
_SAME_PERIOD = 0.02
# Share of a frame period within which an offset of a counter is called a whole number of them.
_NEAR_PERIOD = 0.25


def judge_offset(
    case: ClockCase, estimate: ClockEstimate, course: Sequence[Course], moment: str
) -> CheckResult:
    """Judge the offset at every instant; say which of offset, drift and step takes it out."""
    name, limit, z, period_s = case.name, case.limits.offset_s, case.z, case.period_s
    standings = [compare(point.value_s, point.std_s, limit, z) for point in course]
    overall = worst(standings)
    if overall is Equivalence.INSIDE:
        return CheckResult(verdict=Verdict.PASS)
    if overall is Equivalence.INCONCLUSIVE:
        return unknown(name, _too_uncertain(name, estimate, course, limit, z), limit=limit)
    jump = word_measure(estimate.step_s or 0.0, estimate.step_std_s)
    slip = word_slip(estimate.step_s or 0.0, estimate.step_std_s or 0.0, period_s, z)
    beyond_step = [s for p, s in zip(course, standings, strict=True) if p.is_stepped]
    half = "from then on" if estimate.is_step_past else "before"
    if (
        standings[0] is Equivalence.OUTSIDE
        and beyond_step
        and set(beyond_step) == {Equivalence.INSIDE}
    ):
        # Good on the other side: the step alone is to blame.
        point, code = course[0], ReasonCode.STEP
        figure = word_correction(point.value_s, point.std_s)
        message = (
            f"{name} jumps {jump} {moment} and is {figure} {half}; "
            f"limit {word_duration(limit)}{slip}"
        )
    elif standings[0] is Equivalence.OUTSIDE:
        point, code = course[0], ReasonCode.OFFSET
        figure = word_correction(point.value_s, point.std_s)
        # Too far off on both sides: of which one the figure is.
        intended_s = case.expected_offset_s
        beyond = f" beyond the intended {word_duration(intended_s)}" if intended_s else ""
        told = f" {half}, as its clock jumps {moment}" if beyond_step else ""
        message = (
            f"{name} is {figure}{beyond}{told}; limit {word_duration(limit)}"
            f"{_word_hidden(point.value_s, period_s) if case.is_counted else ''}"
            f"{'' if case.is_counted else word_slip(point.value_s, point.std_s, period_s, z)}"
        )
    else:
        outside = [p for p, s in zip(course, standings, strict=True) if s is Equivalence.OUTSIDE]
        plain = [p for p in outside if not p.is_stepped]
        point = max(plain or outside, key=lambda p: abs(p.value_s))
        is_early = estimate.is_step_past if point.is_stepped else point.after_s < 0.0
        when = "at the start" if is_early else "at the end"
        figure = word_correction(point.value_s, point.std_s)
        where = f"{figure} {when} of the clip; limit {word_duration(limit)}"
        if plain:
            code = ReasonCode.DRIFT
            drift = word_drift(estimate.drift_ppm or 0.0, estimate.drift_std_ppm)
            message = f"{name} drifts {drift}: {where}"
        else:
            code = ReasonCode.STEP
            message = f"{name} jumps {jump} {moment} and is {where}{slip}"
    return CheckResult(
        verdict=Verdict.REJECT,
        defects=(defect(code, name, message, value=point.value_s, limit=limit),),
    )


def _too_uncertain(
    name: str, estimate: ClockEstimate, course: Sequence[Course], limit: float, z: float
) -> str:
    middle = course[0]
    measured = word_correction(middle.value_s, middle.std_s)
    if compare(middle.value_s, middle.std_s, limit, z) is Equivalence.INSIDE:
        if any(
            point.is_stepped
            for point in course
            if compare(point.value_s, point.std_s, limit, z) is Equivalence.INCONCLUSIVE
        ):
            jump = word_measure(estimate.step_s or 0.0, estimate.step_std_s)
            return (
                f"{name} is {measured}, but its jump by {jump} may take it past the limit of "
                f"{word_duration(limit)}"
            )
        if estimate.drift_ppm is None:
            drift = "a drift that the clip cannot exclude"
        else:
            drift = f"its drift of {word_drift(estimate.drift_ppm, estimate.drift_std_ppm)}"
        return (
            f"{name} is {measured} in the middle of the clip, but {drift} may take "
            f"it past the limit of {word_duration(limit)} at an end: a longer clip would tell"
        )
    needed_s = abs(limit - abs(middle.value_s)) / z
    return (
        f"{name} is {measured}, too uncertain for the limit of {word_duration(limit)}: a standard "
        f"error below {word_duration(needed_s)} would tell"
    )


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
        f": exactly {word_count(n, 'frame period')}, likely {word_count(n, 'frame')} {what} and "
        "the rest renumbered"
    )


def _word_hidden(size_s: float, period_s: float | None) -> str:
    """Say that an offset hides behind stamps that count, in frames where it is about whole."""
    hidden = "which stamps that count cannot show"
    if period_s is None or not period_s > 0.0:
        return f", {hidden}"
    n = round(abs(size_s) / period_s)
    if n < 1 or abs(abs(size_s) - n * period_s) > _NEAR_PERIOD * period_s:
        return f", {hidden}"
    return f": about {word_count(n, 'frame period')}, {hidden}"
