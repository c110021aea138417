"""Compare a figure that has a standard error with a limit: inside, outside or inconclusive.

A three-way equivalence test (two one-sided tests, D. J. Schuirmann, 1987): the whole confidence
interval must lie inside the limit to pass, and outside of it to be rejected. A figure that is too
uncertain is neither: silence is never a pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist

from syncaudit.model import ClockEstimate

# Quartz is good to 100 ppm whatever its temperature; a drift estimate that is less certain than
# that and not distinguishable from zero, or no estimate at all, constrains it less.
QUARTZ_PPM = 100.0


class Equivalence(StrEnum):
    """Position of a figure relative to its limit."""

    INSIDE = "inside"
    INCONCLUSIVE = "open"
    OUTSIDE = "outside"


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Correction of a clock at one instant of the clip."""

    after_s: float  # seconds after the middle of the clip
    value_s: float
    std_s: float
    is_stepped: bool = False  # whether a step of the clock is part of it


def quantile(confidence: float) -> float:
    """Return the standard errors that a two-sided interval reaches: 1.96 for 0.95."""
    return NormalDist().inv_cdf(0.5 + 0.5 * confidence)


def compare(value: float, std: float, limit: float, z: float) -> Equivalence:
    """Return the position of ``|value| ± z * std`` relative to the limit."""
    if abs(value) + z * std <= limit:
        return Equivalence.INSIDE
    return Equivalence.OUTSIDE if abs(value) - z * std > limit else Equivalence.INCONCLUSIVE


def worst(standings: Iterable[Equivalence]) -> Equivalence:
    """Return the worst of several standings; inconclusive if there are none."""
    found = set(standings)
    for standing in (Equivalence.OUTSIDE, Equivalence.INCONCLUSIVE, Equivalence.INSIDE):
        if standing in found:
            return standing
    return Equivalence.INCONCLUSIVE


def seconds_to_step(clock: ClockEstimate, *, at_ns: int, span_s: float) -> float:
    """Return when a clock steps, in seconds after the instant at which its offset holds.

    By the clock's own timestamps, which the clip's window is stated in; only those of a clock of
    another epoch are converted to reference time first.
    """
    own_s = ((clock.step_at_ns or 0) - at_ns) * 1e-9
    return own_s if abs(own_s) <= span_s else own_s + (clock.offset_s or 0.0)


def course_of(
    clock: ClockEstimate, *, at_ns: int, span_s: float, prior_ppm: float = QUARTZ_PPM
) -> list[Course]:
    """Return the corrections of an observable clock where they are extreme: middle, ends, a step.

    A clip does not confirm what it cannot exclude: if no drift was measured, a plausible one, up to
    `prior_ppm` (0 for the reference itself), widens the corrections at the ends. `at_ns` is the
    middle of the clip, where its offset holds; `span_s` its length.
    """
    offset_s, std_s = clock.offset_s or 0.0, clock.offset_std_s or 0.0
    drift, drift_std = _drift(clock, prior_ppm)
    half_s = 0.5 * span_s
    instants = [(0.0, False)]
    if half_s > 0.0 and (drift or drift_std):
        instants += [(-half_s, False), (half_s, False)]
    step_s, step_std_s = 0.0, 0.0
    if clock.step_s is not None and clock.step_at_ns is not None:
        step_after_s = seconds_to_step(clock, at_ns=at_ns, span_s=span_s)
        if abs(step_after_s) < max(half_s, 1e-3):
            step_s, step_std_s = clock.step_s, clock.step_std_s or 0.0
            sign = -1.0 if clock.is_step_past else 1.0
            # The other side of the step begins there and extends to its end of the clip.
            instants = [p for p in instants if sign * p[0] <= 0.0]
            instants += [(step_after_s, True), (sign * half_s, True)]
            step_s *= sign
    return [
        Course(
            after_s=after_s,
            value_s=offset_s + drift * after_s + (step_s if is_stepped else 0.0),
            std_s=math.hypot(
                math.hypot(std_s, drift_std * after_s), step_std_s if is_stepped else 0.0
            ),
            is_stepped=is_stepped,
        )
        for after_s, is_stepped in instants
    ]


def _drift(clock: ClockEstimate, prior_ppm: float) -> tuple[float, float]:
    """Return drift and standard error, shrunk towards plausible values if poorly known."""
    if clock.drift_ppm is None:
        return 0.0, 0.5e-6 * prior_ppm  # the largest is two standard deviations
    drift, std = clock.drift_ppm, clock.drift_std_ppm or 0.0
    if std > prior_ppm > 0.0 and abs(drift) < 2.0 * std:
        share = prior_ppm**2 / (prior_ppm**2 + std**2)
        return 1e-6 * drift * share, 1e-6 * std * math.sqrt(share)
    return 1e-6 * drift, 1e-6 * std
