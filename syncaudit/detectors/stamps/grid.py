"""Find the sampling period of timestamps and number the samples, allowing for missing ones.

Timestamps that were generated afterwards as index / rate are recognised.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from syncaudit.dsp.robust import median, quantiles, spread
from syncaudit.model.arrays import Floats, Ints
from syncaudit.model.units import difference_ns

# An interval within this share of the period is regular.
NEAR_PERIOD = 0.3
# Intervals that differ by less than this share of the shortest are all regular: neither bunched
# (`BUNCHED` of the period, with the 1.4826 of a robust spread) nor odd by `NEAR_PERIOD`.
EQUAL_INTERVALS = 0.09
# Relative robust spread of the intervals above which single intervals are meaningless (bunching).
BUNCHED = 0.15
# Share of intervals below half a period, above which stamps come in bursts: half of them or more do
# in bursts of two or more, fewer than this if stamps jitter by up to a fifth of a period.
BURST_SHARE = 0.05
# Minimum length of a regular run for the phase of the clock to be read from it.
SOLID_RUN = 5
# Samples on either side from which the phase is read.
PHASE_WINDOW = 15

# Share of intervals below half a period up to which a clock can be followed. Gaussian jitter of a
# sixth of a period and exponential delays of as much reach it; beyond, samples change places.
MOST_SHORT = 0.02
# Mean cosine of the phases between samples: such jitter gives 0.3, changing rates on average 0.
MIN_AGREEMENT = 0.25
# Part of a sample's error by which the phase of the clock follows it.
LOOP_GAIN = 0.1

# A shortfall within this many intervals of a gap is offset against it.
SETTLED = 8
# Samples at either end where too few others confirm a backward step.
EDGE = 8

_FILM = (24.0, 30.0, 48.0, 60.0, 120.0, 240.0)
_WHOLE = (
    *range(1, 33),
    *(36, 40, 45, 48, 50, 60, 64, 72, 75, 80, 90, 100, 104, 120, 125, 128, 144, 150, 160, 180),
    *(200, 208, 240, 250, 256, 300, 360, 400, 416, 480, 500, 512, 600, 800, 960, 1000, 1024),
    *(2000, 2048, 4000, 8000),
)
# Round rates that software generates stamps with; n * 1000 / 1001 are the television rates.
NOMINAL_RATES_HZ: tuple[float, ...] = tuple(
    sorted(
        {
            *(float(f) for f in _WHOLE),
            *(f * 1000.0 / 1001.0 for f in _FILM),
            *(7.5, 12.5, 14.985, 23.976, 23.98, 29.97, 59.94, 119.88),
        }
    )
)
_COARSEST_NS = 100_000_000
# This many stamps nearly always show that a column has no coarse tick, at little cost.
_HEAD = 16
# Container clocks whose tick is not a decimal fraction.
_TICKS_S = (1.0 / 90_000.0, 1.0 / 15_360.0, 1.0 / 12_800.0, 1.0 / 12_288.0, 1.0 / 600.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grid:
    """Integer numbering of stamps."""

    period_s: float  # sampling period
    # shape (n - 1,): periods to insert in each interval beyond one (missing samples); negative
    # where the stamps fall behind their count
    extra: Ints
    # Whether single intervals are too irregular to be rounded (USB batches, bursts).
    is_bunched: bool

    @property
    def index(self) -> Ints:
        """Number of every sample, shape (n,)."""
        return numbers(self.extra)


def numbers(extra: Ints) -> Ints:
    """Return the number of every sample, shape (n,), from the extra periods between samples."""
    out = np.zeros(extra.size + 1, dtype=np.int64)
    np.add.accumulate(extra + 1, out=out[1:])
    return out


def rough_period(intervals_s: Floats) -> tuple[float, bool]:
    """Return the sampling period and whether the stamps are bunched.

    If intervals agree, the period is the mean of those near their median (it telescopes over
    runs, so rounding of the stamps does not matter). If they do not (a CAN message behind a
    USB adapter: 0.1 to 29 ms around 12 ms), neither median nor mode of the intervals is the
    period, but the median of long differences ``(t[i + m] - t[i]) / m`` is: it averages out
    bunching and is robust to rare gaps.

    `intervals_s`, shape (n - 1,): differences of neighbouring stamps.

    Returns
    -------
    period_s : float
        Period; 0 if no interval is positive.
    is_bunched : bool
        Whether the long differences were needed.
    """
    positive = intervals_s[intervals_s > 0.0]
    if positive.size == 0:
        return 0.0, False
    period = median(positive)
    if spread(positive, period) < BUNCHED * period:
        for _ in range(3):
            near = positive[np.abs(positive - period) < NEAR_PERIOD * period]
            if near.size == 0:
                break
            period = float(np.mean(near))
        if not _is_burst(positive, period):
            return period, False
    step = int(np.clip(intervals_s.size // 4, 1, 64))
    times = np.concatenate(([0.0], np.cumsum(intervals_s)))
    long = (times[step:] - times[:-step]) / step
    long = long[long > 0.0]
    return (median(long) if long.size else period), True


def _is_burst(positive: Floats, period: float) -> bool:
    """Return whether the agreeing intervals are those within bursts (a FIFO read in one go)."""
    n_pauses = int(np.count_nonzero(positive > 3.0 * period))
    return period < 0.2 * float(np.mean(positive)) and n_pauses > 0.01 * positive.size


def are_in_bursts(intervals_s: Floats, period_s: float) -> bool:
    """Return whether stamps come in bursts, rather than jitter."""
    return float(np.mean(intervals_s < 0.5 * period_s)) > BURST_SHARE


def number_samples(intervals_s: Floats) -> Grid | None:
    """Assign every sample a number such that each step in number is one period.

    A run of regular intervals keeps its phase; between two runs the difference of their phases
    (medians over up to 15 samples each, so that one late stamp changes nothing) is rounded to whole
    periods. Intervals inside the disturbance then receive the missing periods, the longest first.

    `intervals_s`, shape (n - 1,): differences of neighbouring stamps in file order, any sign. None
    if none is positive.
    """
    least, most = float(intervals_s.min()), float(intervals_s.max())
    if most - least < EQUAL_INTERVALS * least:
        # Same result as the general method below, in three passes.
        extra = np.zeros(intervals_s.size, dtype=np.int64)
        return Grid(period_s=float(np.mean(intervals_s)), extra=extra, is_bunched=False)
    period, is_bunched = rough_period(intervals_s)
    if period <= 0.0:
        return None
    if is_bunched:
        tracked = _tracked(intervals_s)
        period, extra = tracked or (period, _large_gaps(intervals_s, period))
        return Grid(period_s=period, extra=_settled(extra), is_bunched=True)
    extra = _between_runs(intervals_s, period)
    # A long gap multiplies the error of the period: refine it once over the numbered samples.
    if extra.size and int(np.max(np.abs(extra))) > 20:
        near = np.abs(intervals_s - period) < NEAR_PERIOD * period
        if np.any(near):
            period = float(np.mean(intervals_s[near]))
            extra = _between_runs(intervals_s, period)
    return Grid(period_s=period, extra=_settled(extra), is_bunched=False)


def _settled(extra: Ints) -> Ints:
    """Cancel periods that are taken back soon after they were added: late stamps, not lost samples.

    At the very ends a shortfall cannot be distinguished from one outlier; it is dropped.
    """
    back = np.flatnonzero(extra < 0)
    for j in back.tolist()[:100_000]:
        for i in sorted(
            range(max(0, j - SETTLED), min(extra.size, j + SETTLED + 1)), key=lambda i: abs(i - j)
        ):
            if extra[j] >= 0:
                break
            if extra[i] > 0:
                pay = min(int(extra[i]), -int(extra[j]))
                extra[i] -= pay
                extra[j] += pay
        if j < EDGE or j >= extra.size - EDGE:
            extra[j] = max(0, extra[j])
    return extra


def _tracked(intervals: Floats) -> tuple[float, Ints] | None:
    """Follow the clock of samples that jitter too much for single intervals to be numbered.

    Every sample gets the number of the nearest tick of a clock whose phase and period follow the
    stamps (a phase-locked loop of second order, critically damped). The period is first the mean of
    the intervals nearest to it. None where many intervals are shorter than half of it, or most of
    the time lies in longer ones, as in bursts, or where the phases of samples a few intervals apart
    hardly agree (Rayleigh), as where the rate changes.

    Returns
    -------
    period_s : float
        Sampling period.
    extra : ndarray of int64, shape (n - 1,)
        As for `Grid`.
    """
    period = median(intervals[intervals > 0.0])
    for _ in range(3):
        near = intervals[np.abs(intervals - period) < 0.5 * period]
        period = float(np.mean(near)) if near.size else period
    is_short = intervals < 0.5 * period
    if float(np.mean(is_short)) > MOST_SHORT or period < 0.5 * float(np.mean(intervals)):
        return None
    times = np.cumsum(intervals)
    phases = 2.0 * np.pi * (times[SETTLED:] - times[:-SETTLED]) / period
    if not phases.size or float(np.mean(np.cos(phases))) < MIN_AGREEMENT:
        return None
    first_s = period
    since_tick_s = 0.0
    ticks = []
    for interval in intervals.tolist():
        since_tick_s += interval
        n_ticks = round(since_tick_s / period)
        since_tick_s -= n_ticks * period
        ticks.append(n_ticks)
        period += 0.25 * LOOP_GAIN**2 * since_tick_s
        period = min(max(period, 0.95 * first_s), 1.05 * first_s)
        since_tick_s *= 1.0 - LOOP_GAIN
    return first_s, np.array(ticks, dtype=np.int64) - 1


def _large_gaps(intervals: Floats, period: float) -> Ints:
    """Count only gaps that bunching cannot explain; the rest is left to the step search."""
    excess = intervals - period
    # Pauses between bursts can be as frequent as one in a hundred intervals; they are not gaps.
    common = 1.5 * quantiles(np.abs(excess), [0.992])[0]
    is_gap = np.abs(excess) > max(8.0 * spread(intervals), 3.0 * period, common)
    late_s = np.cumsum(excess)
    for i in np.flatnonzero(is_gap & (excess > 0.0)).tolist():
        # Samples that waited are handed over right after the pause: the delay is made up.
        n_waiting = 2 * int(min(excess[i] / period, excess.size)) + SETTLED
        ahead_s = late_s[i + 1 : i + 1 + n_waiting]
        is_gap[i] = ahead_s.size == 0 or float(ahead_s.min()) > late_s[i] - 0.5 * excess[i]
    return np.where(is_gap, _whole(excess / period), 0)


def _whole(value: Floats) -> Ints:
    # 2^52: rounding larger values is meaningless, and int64 must not overflow in sums.
    return np.rint(np.clip(value, -4.5e15, 4.5e15)).astype(np.int64)


def _between_runs(intervals: Floats, period: float) -> Ints:
    ratio = intervals / period
    extra = np.zeros(intervals.size, dtype=np.int64)
    is_odd = np.abs(ratio - 1.0) >= NEAR_PERIOD
    odd = np.flatnonzero(is_odd)
    if odd.size == 0:
        return extra
    if odd.size > 0.25 * intervals.size:
        # Too fragmented for runs: round every interval on its own.
        extra[:] = np.maximum(_whole(ratio), 1) - 1
        back = ratio < 0.5
        extra[back] = _whole(ratio[back]) - 1
        return extra
    # A single interval of whole periods between regular ones: the common drop, without a loop.
    alone = np.diff(odd, prepend=-2 * SOLID_RUN, append=odd[-1] + 2 * SOLID_RUN) > 1
    lone = odd[alone[:-1] & alone[1:] & (np.abs(ratio[odd] - np.rint(ratio[odd])) < 0.15)]
    lone = lone[(ratio[lone] > 1.5) & (ratio[lone] < 20.0)]
    lone = lone[(lone > 0) & (lone < intervals.size - 1)]
    # Its neighbours must not compensate (a late stamp): the sum must be whole periods too.
    around = ratio[lone - 1] + ratio[lone] + ratio[lone + 1]
    lone = lone[np.abs(around - np.rint(around)) < 0.15]
    extra[lone] = _whole(ratio[lone]) - 1
    is_odd[lone] = False
    ratio = ratio - extra
    odd = np.flatnonzero(is_odd)
    if odd.size == 0:
        return extra
    # Disturbances: odd intervals separated by fewer than SOLID_RUN regular ones.
    cut = np.flatnonzero(np.diff(odd) > SOLID_RUN) + 1
    first = odd[np.concatenate(([0], cut))]
    last = odd[np.concatenate((cut - 1, [odd.size - 1]))]
    for i, (a, b) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        start = max(0 if i == 0 else int(last[i - 1]) + 1, a - PHASE_WINDOW)
        stop = min(
            intervals.size if i + 1 == first.size else int(first[i + 1]), b + 1 + PHASE_WINDOW
        )
        before = _phase(ratio[start:a][::-1])  # behind sample a, in periods
        after = _phase(ratio[b + 1 : stop])  # ahead of sample b + 1
        jump = sum(ratio[a : b + 1].tolist()) - (b + 1 - a) + after + before
        whole = round(min(4.5e15, max(-4.5e15, jump)))
        if whole:
            _hand_out(extra[a : b + 1], ratio[a : b + 1], whole)
    return extra


def _phase(ratios: Floats) -> float:
    """Return the median excess of a run over its first sample, walking away from it."""
    walk = [0.0, *accumulate(r - 1.0 for r in ratios.tolist())]
    return float(statistics.median(walk))


def _hand_out(extra: Ints, ratio: Floats, whole: int) -> None:
    """Distribute `whole` periods over the intervals that need them most."""
    order = np.argsort(-(ratio - 1.0) * np.sign(whole), kind="stable")
    rest = abs(whole)
    sign = 1 if whole > 0 else -1
    for j in order.tolist():
        want = max(0, int(np.rint(min(4.5e15, sign * (ratio[j] - 1.0)))))
        take = min(rest, want)
        extra[j] += sign * take
        rest -= take
        if rest == 0:
            return
    extra[order[0]] += sign * rest


def intervals(stamps: Ints) -> Floats:
    """Return differences in seconds, exact as integers wherever int64 can hold them."""
    return difference_ns(stamps[1:], stamps[:-1]) * 1e-9


def resolution_ns(time_ns: Ints) -> int:
    """Return the largest power of ten in ns, up to 0.1 s, that divides all intervals."""
    if time_ns.size < 2:
        return 1
    steps_ns = time_ns[1:] - time_ns[:-1]
    common = int(np.gcd.reduce(steps_ns[:_HEAD]))
    if common % 10 or not np.count_nonzero(steps_ns):
        return 1
    tick = _COARSEST_NS
    while common % tick:
        tick //= 10
    while tick > 1 and np.count_nonzero(steps_ns % tick):
        tick //= 10
    return tick


def float32_tick_ns(time_ns: Ints) -> int:
    """Return the coarsest float32 step in seconds that explains all stamps, or 0 if none does.

    Robot data sets often store stamps this way. The step is 60 ns at 0.5 s and 7.6 us at 100 s.
    """
    ends = (time_ns.item(0), time_ns.item(-1)) if time_ns.size else ()
    for end in ends:  # the ends alone usually decide
        if round(float(np.float32(end * 1e-9)) * 1e9) != float(end):
            return 0
    singles = (time_ns * 1e-9).astype(np.float32)
    if not np.array_equal(np.rint(singles.astype(np.float64) * 1e9), time_ns.astype(np.float64)):
        return 0
    return int(np.ceil(float(np.max(np.spacing(np.abs(singles)), initial=0.0)) * 1e9))


def nominal_rate(
    since_ns: Ints, rate_hz: float, tick_ns: int, *, float_tick_ns: int = 0
) -> float | None:
    """Return the round rate whose multiples match all stamps exactly, or None.

    Two conditions: the stamps follow ``start + index / nominal`` to within their rounding, and
    nothing is missing (generated stamps have no gaps). The stamps of a hardware-triggered camera
    also lie on a line, but its crystal is off by parts per million: over 20 s, 1 ppm is 20 us,
    which only rounding to milliseconds would hide.

    `since_ns`, shape (n,): stamps after the first, in ns. `rate_hz`: rate found. `tick_ns`:
    resolution of the stamps. `float_tick_ns`: from `float32_tick_ns`.
    """
    n = since_ns.size
    # Stamps rounded to milliseconds are inconclusive over short spans.
    if n < 10 or (tick_ns >= 1_000_000 and n < 60):
        return None
    first = bisect_left(NOMINAL_RATES_HZ, 0.998 * rate_hz)
    stop = bisect_right(NOMINAL_RATES_HZ, 1.002 * rate_hz)
    near = [f for f in NOMINAL_RATES_HZ[first:stop] if abs(f - rate_hz) < 1e-3 * f]
    near.sort(key=lambda f: abs(f - rate_hz))
    for f in near:
        if _fits(since_ns, f, tick_ns, float_tick_ns):
            return f
    return None


def _fits(since_ns: Ints, close: float, tick_ns: int, float_tick_ns: int) -> bool:
    n = since_ns.size
    period_ns = 1e9 / close
    # Every stamp, the first included, is rounded to the tick: the width is at most one tick, plus
    # 2 ns for generated stamps that were rounded once more on the way. If the interval is a
    # multiple of a coarse tick, nothing is rounded at all.
    ticks = period_ns / tick_ns
    tick = 0.0 if abs(ticks - round(ticks)) < 1e-9 else float(tick_ns)
    widest_ns = max(tick, float_tick_ns) + 2.0
    # n / rate in whole nanoseconds: no float error for 1e6 samples (2^53 ns are 104 days).
    residual = since_ns - np.arange(n, dtype=np.float64) * period_ns
    width = float(residual.max()) - float(residual.min())
    if width <= widest_ns:
        return True
    others = _TICKS_S if tick_ns == 1 else ()
    return any(width <= other * 1e9 + 2.0 and _is_on(since_ns, other) for other in others)


def _is_on(since_ns: Ints, tick_s: float) -> bool:
    """Return whether all stamps lie on multiples of a tick, to a nanosecond."""
    ticks = since_ns / (tick_s * 1e9)
    return float(np.abs(ticks - np.rint(ticks)).max()) * tick_s * 1e9 <= 1.0


def rounding_s(tick_ns: int, steps_s: Floats) -> float:
    """Return the rounding in seconds; 0 if all intervals are equal or it is too coarse."""
    least, most = float(steps_s.min()), float(steps_s.max())
    if least <= 0.0:
        steps_s = steps_s[steps_s > 0.0]
        if steps_s.size == 0:
            return 0.0
        least = float(steps_s.min())
    if most < 1.5 * least:
        # All intervals are closest to one whole period.
        is_even = most - least < 0.5e-9 or most / least - 1.0 < 1e-9
        return 0.0 if is_even else tick_ns * 1e-9
    if most - least < 0.5e-9:
        return 0.0
    # Whole periods (dropped frames of an exact clock) are not rounding.
    ratio = steps_s / least
    off = float(np.abs(ratio - np.rint(ratio)).max())
    return 0.0 if off < 1e-9 else tick_ns * 1e-9
