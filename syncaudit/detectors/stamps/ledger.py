"""Classify every jump of timestamps as missing samples, surplus samples or a clock step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syncaudit.detectors.stamps.clock import centred
from syncaudit.detectors.stamps.grid import Grid, numbers
from syncaudit.detectors.stamps.steps import LevelStep, find_level_steps, refine_steps
from syncaudit.dsp.robust import robust_line
from syncaudit.model.arrays import Floats, Ints
from syncaudit.model.time import MAX_SPAN_S

# Smallest step reported, in periods: exposure control and scheduling cause smaller ones.
MIN_STEP_PERIODS = 0.02
MIN_STEP_S = 1e-4
# A jump this close to a whole number of periods is dropped samples, not a step (in periods).
WHOLE_PERIODS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ledger:
    """How each odd interval was classified."""

    extra: Ints  # shape (n - 1,): periods missing in each interval (negative: surplus samples)
    steps: tuple[tuple[int, float], ...]  # interval and size in seconds of every clock step
    # Counts.
    gaps: int
    missing: int
    doubled: int
    # `robust_line` through the stamps by sample number, if no interval is odd: the clock fit reuses
    # it.
    line: tuple[float, float] | None = None

    @property
    def index(self) -> Ints:
        """Number of every sample, shape (n,)."""
        return numbers(self.extra)


def keep_ledger(grid: Grid, steps_s: Floats, times: Floats, tick_s: float) -> Ledger:
    """Distinguish missing and surplus samples from steps of the clock.

    `grid`: first numbering. `steps_s`, shape (n - 1,): intervals. `times`, shape (n,): stamps in
    seconds. `tick_s`: rounding of the stamps.
    """
    period = grid.period_s
    extra = grid.extra.copy()
    stepped: dict[int, float] = {}
    # A backward step cannot be missing samples; surplus samples explain it only if there are enough
    # short intervals. Nor is a leap to another epoch, longer than any recording.
    for i in np.flatnonzero((extra < 0) | (extra > MAX_SPAN_S / period)).tolist():
        if extra[i] != -1 or not 0.0 <= steps_s[i] < 0.5 * period:
            stepped[i] = float(extra[i]) * period
            extra[i] = 0
    numbered = times.copy() if stepped else times
    for i, size in stepped.items():
        numbered[i + 1 :] -= size
    index = numbers(extra)
    floor = _least_step_s(period, tick_s)
    line = robust_line(centred(index), numbered)
    found = find_level_steps(index, numbered, min_size_s=floor, line=line)
    is_plain = not found and not stepped
    for step in found:
        _book(step, extra, stepped, period)
    # Whole periods, multiplied, would multiply the error of the period.
    sized = refine_steps(
        numbers(extra),
        times,
        [LevelStep(interval=i, size_s=size, std_s=0.0) for i, size in sorted(stepped.items())],
    )
    stepped = {step.interval: step.size_s for step in sized if abs(step.size_s) >= floor}
    is_gap = extra > 0
    for i, size in stepped.items():
        if size > 1.5 * period:
            is_gap[i] = True
    return Ledger(
        extra=extra,
        steps=tuple(sorted(stepped.items())),
        gaps=int(np.count_nonzero(is_gap)),
        missing=int(extra[extra > 0].sum()),
        doubled=int(np.count_nonzero(extra < 0)),  # those not reclassified as steps
        line=line if is_plain else None,
    )


def _least_step_s(period_s: float, tick_s: float) -> float:
    """Return the size below which no step is reported."""
    return max(MIN_STEP_PERIODS * period_s, MIN_STEP_S, 1.5 * tick_s)


def _book(step: LevelStep, extra: Ints, stepped: dict[int, float], period: float) -> None:
    """Record a jump as missing samples or as a step of its full size."""
    near = range(max(0, step.interval - 2), min(extra.size, step.interval + 3))
    at = max(near, key=lambda i: (extra[i] > 0 or i in stepped, i == step.interval))
    if not (extra[at] > 0 or at in stepped):
        at = step.interval
    whole = int(extra[at])
    booked = whole != 0 or at in stepped
    size = step.size_s + whole * period + stepped.get(at, 0.0)
    jump = size / period
    # The rate may differ across a long gap: 50 ppm of it are not a phase change.
    slack = max(WHOLE_PERIODS, 3.0 * step.std_s / period) + 5e-5 * abs(jump)
    if jump > 0.5 and abs(jump - round(jump)) < slack and size <= MAX_SPAN_S:
        extra[at] = round(jump)
        stepped.pop(at, None)
        return
    extra[at] = 0
    if booked and abs(jump) < slack:
        stepped.pop(at, None)  # undo periods that were misclassified
    else:
        stepped[at] = size
