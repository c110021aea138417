"""Classify every jump of timestamps as missing samples, surplus samples or a clock step.

A jump is sudden, lasting, and relative to the timestamps' own rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from syncaudit.detectors.stamps.clock import centred
from syncaudit.detectors.stamps.grid import Grid, numbers
from syncaudit.dsp.robust import median, median_of_five, robust_line, spread
from syncaudit.model.arrays import Floats, Ints
from syncaudit.model.units import MAX_SPAN_S

# Smallest step reported, in periods: exposure control and scheduling cause smaller ones.
MIN_STEP_PERIODS = 0.02
MIN_STEP_S = 1e-4
# A jump this close to a whole number of periods is dropped samples, not a step (in periods).
WHOLE_PERIODS = 0.05

# A step must exceed the scatter of such differences elsewhere by this factor. The search looks
# at n / window independent places: 6 robust sigma leave a false-alarm rate below 1e-4 at 1e5
# places of Gaussian scatter, with a margin for wander that is not white.
SIGNIFICANCE = 6.0
MAX_STEPS = 64
MIN_SAMPLES = 24
# With fewer stamps there is no scatter to compare with.
FEWEST = 6


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
    sized = _refine_steps(
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelStep:
    """One lasting jump."""

    interval: int  # the jump lies between samples `interval` and `interval + 1`
    # Size and its one-sigma error.
    size_s: float
    std_s: float


def find_level_steps(
    index: Ints, times_s: Floats, *, min_size_s: float, line: tuple[float, float] | None = None
) -> list[LevelStep]:
    """Return the jumps of ``times - clock(index)`` that are sudden and last.

    At every place, the mean of a window after it minus that of a window before it is compared
    with the robust scatter of the same difference over the whole recording, so that coloured
    jitter and slow wander raise their own threshold. Peaks are verified with medians and with a
    window a quarter as long (a change of rate or wander would shrink there, a step does not),
    removed, and the search is repeated. A moving-window form of change-point analysis
    (MOSUM; Eichinger, Kirch, "A MOSUM procedure for the estimation of multiple random change
    points", Bernoulli 2018, doi:10.3150/16-BEJ887). Steps closer together than the window
    (at most 64 samples) merge.

    Parameters
    ----------
    index : ndarray of int64, shape (n,)
        Sample numbers.
    times_s : ndarray, shape (n,)
        Stamps in seconds.
    min_size_s : float
        Smaller jumps are not reported.
    line : tuple of float, optional
        `robust_line` through these same stamps, if already computed.
    """
    n = times_s.size
    if n < MIN_SAMPLES:
        return []
    window = _window(n)
    x = centred(index)
    work = times_s.copy()
    found: dict[int, tuple[float, float]] = {}
    for _ in range(4):
        slope, level = robust_line(x, work) if line is None else line
        line = None  # fitted to the stamps as given
        # Spikes of one or two stamps are not steps.
        residual = median_of_five(work - slope * x - level)
        new = _one_pass(residual, window, min_size_s)
        if not new or len(found) + len(new) > MAX_STEPS:
            break
        for step in new:
            at = _sharpest(work - slope * x, step.interval)
            old = found.get(at, (0.0, 0.0))[0]
            found[at] = (old + step.size_s, step.std_s)
            work[at + 1 :] -= step.size_s
    steps = [LevelStep(interval=at, size_s=v[0], std_s=v[1]) for at, v in sorted(found.items())]
    sized = _refine_steps(index, times_s, steps)
    return [s for s in sized if abs(s.size_s) >= max(min_size_s, 5.0 * s.std_s)]


def find_lone_steps(index: Ints, times_s: Floats, *, min_size_s: float) -> list[LevelStep]:
    """Return jumps among few stamps: intervals far from what the others predict.

    `index`, shape (n,): sample numbers, increasing. `times_s`, shape (n,): stamps in seconds.
    `min_size_s`: smaller jumps are not reported.
    """
    if times_s.size < FEWEST:
        return []
    samples, intervals_s = np.diff(index), np.diff(times_s)
    off_s = intervals_s - median(intervals_s / samples) * samples
    std_s = spread(off_s, 0.0)
    # Student's t of a few intervals: the scatter is uncertain by a third.
    least_s = max(min_size_s, 2.0 * SIGNIFICANCE * std_s)
    padded_s = np.concatenate(([0.0], off_s, [0.0]))
    # One wrong stamp creates two such intervals, which cancel.
    lasting_s = np.minimum(
        np.abs(padded_s[1:-1] + padded_s[:-2]), np.abs(padded_s[1:-1] + padded_s[2:])
    )
    found = np.flatnonzero((np.abs(off_s) > least_s) & (lasting_s > 0.5 * np.abs(off_s)))
    return [LevelStep(interval=i, size_s=float(off_s[i]), std_s=std_s) for i in found.tolist()]


def _jumps(residual: Floats, window: int) -> Floats:
    """Return the mean of a window after every place minus that before it, along the last axis."""
    n = residual.shape[-1]
    sums = np.zeros((*residual.shape[:-1], n + 1))
    np.add.accumulate(residual, axis=-1, out=sums[..., 1:])
    jump: Floats = sums[..., 2 * window :] - 2.0 * sums[..., window : n - window + 1]
    jump += sums[..., : n - 2 * window + 1]
    jump /= window
    return jump


def _window(n: int) -> int:
    """Return how many of n samples are averaged on either side of a jump."""
    return min(max(n // 6, 6), 64)


def _refine_steps(index: Ints, times: Floats, steps: list[LevelStep]) -> list[LevelStep]:
    """Measure the sizes again, against a slope unaffected by steps.

    `index`, shape (n,): sample numbers. `times`, shape (n,): stamps in seconds. `steps`: ordered by
    interval. Those smaller than half of the jitter are left out.
    """
    if not steps:
        return steps
    x, reach = centred(index), 4 * _window(times.size)
    edges = [0, *(s.interval + 1 for s in steps), times.size]
    slopes, weights = [], []
    for a, b in pairwise(edges):
        if b - a > 2:
            slopes.append(robust_line(x[a:b], times[a:b])[0])
            weights.append(float(b - a) ** 3)
    if not slopes:
        return steps
    slope = float(np.average(slopes, weights=weights))
    out: list[LevelStep] = []
    for step, start, stop in zip(steps, edges, edges[2:], strict=False):
        at = step.interval + 1
        before = slice(max(start, at - reach), at)
        after = slice(at, min(stop, at + reach))
        level = [times[part] - slope * x[part] for part in (before, after)]
        size = median(level[1]) - median(level[0])
        spreads = [spread(values) for values in level]
        std = max(1.2533 * s / v.size**0.5 for s, v in zip(spreads, level, strict=True))
        # A jump of less than half the jitter could not be verified by a person.
        if abs(size) >= 0.5 * max(spreads):
            out.append(LevelStep(interval=step.interval, size_s=size, std_s=2.0**0.5 * std))
    return out


def _one_pass(residual: Floats, window: int, min_size: float) -> list[LevelStep]:
    n = residual.size
    jump = _jumps(residual, window)
    # No jump is farther from the median, and no limit is lower.
    if float(jump.max()) - float(jump.min()) <= 0.7 * min_size:
        return []
    centre = median(jump)
    noise = spread(residual[1:] - residual[:-1], 0.0) / np.sqrt(2.0)
    std = max(spread(jump, centre), noise * float(np.sqrt(2.0 / window)))
    height = np.abs(jump - centre)
    # The scatter itself is estimated from n / window places only.
    least = SIGNIFICANCE * (1.0 + 6.0 * window / n) * std
    limit = max(least, 0.7 * min_size)
    steps: list[LevelStep] = []
    if not np.any(height > limit):
        return steps
    order = np.flatnonzero(height > limit)
    order = order[np.argsort(-height[order], kind="stable")]
    taken: list[int] = []
    short = max(3, window // 4)
    for j in order[:200_000].tolist():
        if any(abs(j - other) < 2 * window for other in taken):
            continue
        taken.append(j)
        at = j + window  # first sample after the jump
        after, before = residual[at : at + window], residual[at - window : at]
        size = median(after) - median(before) - centre
        near = median(after[:short]) - median(before[-short:]) - centre / 4.0
        if abs(size) < max(least, min_size) or near / size < 0.55:
            continue
        steps.append(LevelStep(interval=at - 1, size_s=size, std_s=std))
        if len(steps) >= MAX_STEPS:
            break
    return steps


def _sharpest(detrended: Floats, interval: int) -> int:
    """Move a step to the split that leaves the least scatter on both sides."""
    low, high = max(0, interval - 8), min(detrended.size, interval + 10)
    part = detrended[low:high]
    cost = [
        float(
            np.sum(np.abs(part[:j] - median(part[:j])))
            + np.sum(np.abs(part[j:] - median(part[j:])))
        )
        for j in range(1, part.size)
    ]
    return low + int(np.argmin(cost))
