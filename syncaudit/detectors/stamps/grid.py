"""Find the sampling period of stamps and number the samples, leaving room for missing ones."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from syncaudit.dsp.robust import median, quantiles, spread
from syncaudit.model.arrays import Floats, Ints
from syncaudit.model.time import difference_ns

__all__ = [
    "ALIKE",
    "BUNCHED",
    "NEAR_PERIOD",
    "Grid",
    "intervals",
    "number_samples",
    "numbers",
    "rough_period",
]


# An interval within this share of the period is an ordinary one.
NEAR_PERIOD = 0.3
# Intervals that differ by less than this share of the shortest are all ordinary: neither bunched
# (`BUNCHED` of the period, with the 1.4826 of a robust spread) nor odd by `NEAR_PERIOD`.
ALIKE = 0.09
# Relative robust spread of the intervals above which single intervals say nothing (bunching).
BUNCHED = 0.15
# Samples of an ordinary run that are needed to read the phase of the clock from it.
SOLID_RUN = 5
# Samples on either side that the phase is read from.
PHASE_WINDOW = 15

# A shortfall within this many intervals of a gap is set off against it.
SETTLED = 8
# Samples at either end where a step back has too few witnesses.
EDGE = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grid:
    """Integer numbering of stamps.

    Parameters
    ----------
    period_s : float
        Sampling period.
    extra : ndarray of int64, shape (n - 1,)
        Periods to insert in each interval beyond one (missing samples); negative where the
        stamps fall behind their count.
    is_bunched : bool
        Whether single intervals are too ragged to be rounded (USB batches, bursts).
    """

    period_s: float
    extra: Ints
    is_bunched: bool

    @property
    def index(self) -> Ints:
        """Number of every sample, shape (n,)."""
        return numbers(self.extra)


def numbers(extra: Ints) -> Ints:
    """Return the number of every sample, shape (n,), from the periods beyond one between them."""
    out = np.zeros(extra.size + 1, dtype=np.int64)
    np.add.accumulate(extra + 1, out=out[1:])
    return out


def rough_period(intervals_s: Floats) -> tuple[float, bool]:
    """Return the sampling period and whether the stamps are bunched.

    Where intervals agree, the period is the mean of those near their median (it telescopes over
    runs, so rounding of the stamps does not matter). Where they do not (a CAN message behind a
    USB adapter: 0.1 to 29 ms around 12 ms), neither median nor mode of the intervals is the
    period; the median of long differences ``(t[i + m] - t[i]) / m`` is: it averages bunching
    and survives rare gaps.

    `intervals_s`, shape (n - 1,): differences of neighbouring stamps.

    Returns
    -------
    period_s : float
        Period; 0 where no interval is positive.
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
    """Return whether the agreeing intervals are those inside bursts (a FIFO read in one go)."""
    n_pauses = int(np.count_nonzero(positive > 3.0 * period))
    return period < 0.2 * float(np.mean(positive)) and n_pauses > 0.01 * positive.size


def number_samples(intervals_s: Floats) -> Grid | None:
    """Give every sample a number so that every index stands for one period.

    A run of ordinary intervals keeps its phase; between two runs the difference of their phases
    (medians over up to 15 samples each, so that one late stamp moves nothing) is rounded to whole
    periods. Intervals inside the disturbance then receive the missing periods, the longest first.

    `intervals_s`, shape (n - 1,): differences of neighbouring stamps in file order, any sign.

    Returns
    -------
    Grid or None
        None where there is no positive interval.
    """
    least, most = float(intervals_s.min()), float(intervals_s.max())
    if most - least < ALIKE * least:
        # What the long way below comes to, in three passes.
        extra = np.zeros(intervals_s.size, dtype=np.int64)
        return Grid(period_s=float(np.mean(intervals_s)), extra=extra, is_bunched=False)
    period, is_bunched = rough_period(intervals_s)
    if period <= 0.0:
        return None
    if is_bunched:
        extra = _settled(_large_gaps(intervals_s, period))
        return Grid(period_s=period, extra=extra, is_bunched=True)
    extra = _between_runs(intervals_s, period)
    # A long gap multiplies the error of the period: refine it once over the numbered samples.
    if extra.size and int(np.max(np.abs(extra))) > 20:
        near = np.abs(intervals_s - period) < NEAR_PERIOD * period
        if np.any(near):
            period = float(np.mean(intervals_s[near]))
            extra = _between_runs(intervals_s, period)
    return Grid(period_s=period, extra=_settled(extra), is_bunched=False)


def _settled(extra: Ints) -> Ints:
    """Set off periods taken back soon after they were given: late stamps, not lost samples.

    At the very ends a shortfall cannot be told from one outlier; it is dropped.
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


def _large_gaps(intervals: Floats, period: float) -> Ints:
    """Count only the gaps that no bunching explains; the rest is left to the step search."""
    excess = intervals - period
    # Pauses between bursts are as common as one in a hundred intervals; they are not gaps.
    common = 1.5 * quantiles(np.abs(excess), [0.992])[0]
    is_gap = np.abs(excess) > max(8.0 * spread(intervals), 3.0 * period, common)
    return np.where(is_gap, _whole(excess / period), 0)


def _whole(value: Floats) -> Ints:
    # 2^52: rounding beyond is meaningless, and int64 must not overflow in sums.
    return np.rint(np.clip(value, -4.5e15, 4.5e15)).astype(np.int64)


def _between_runs(intervals: Floats, period: float) -> Ints:
    ratio = intervals / period
    extra = np.zeros(intervals.size, dtype=np.int64)
    is_odd = np.abs(ratio - 1.0) >= NEAR_PERIOD
    odd = np.flatnonzero(is_odd)
    if odd.size == 0:
        return extra
    if odd.size > 0.25 * intervals.size:
        # Too broken for runs: round every interval by itself.
        extra[:] = np.maximum(_whole(ratio), 1) - 1
        back = ratio < 0.5
        extra[back] = _whole(ratio[back]) - 1
        return extra
    # A lone interval of whole periods between ordinary ones: the common drop, without a loop.
    alone = np.diff(odd, prepend=-2 * SOLID_RUN, append=odd[-1] + 2 * SOLID_RUN) > 1
    lone = odd[alone[:-1] & alone[1:] & (np.abs(ratio[odd] - np.rint(ratio[odd])) < 0.15)]
    lone = lone[(ratio[lone] > 1.5) & (ratio[lone] < 20.0)]
    lone = lone[(lone > 0) & (lone < intervals.size - 1)]
    # Its neighbours must not pay it back (a late stamp): together they are whole periods too.
    around = ratio[lone - 1] + ratio[lone] + ratio[lone + 1]
    lone = lone[np.abs(around - np.rint(around)) < 0.15]
    extra[lone] = _whole(ratio[lone]) - 1
    is_odd[lone] = False
    ratio = ratio - extra
    odd = np.flatnonzero(is_odd)
    if odd.size == 0:
        return extra
    # Disturbances: odd intervals with fewer than SOLID_RUN ordinary ones between them.
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
    """Give `whole` periods to the intervals that want them most."""
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
    """Return differences in seconds; exact as integers wherever int64 holds them."""
    return difference_ns(stamps[1:], stamps[:-1]) * 1e-9
