"""Audit one column of timestamps without any content, and put it into words (design 3.5)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from syncaudit.detectors.stamps.clock import (
    MIN_SCATTER_S,
    ClockFit,
    Rhythm,
    fit_clock,
    mean_waiting,
    rhythm_of,
    robust_jitter,
)
from syncaudit.detectors.stamps.grid import (
    SETTLED,
    Grid,
    are_in_bursts,
    float32_tick_ns,
    intervals,
    nominal_rate,
    number_samples,
    resolution_ns,
    rounding_s,
)
from syncaudit.detectors.stamps.ledger import Ledger, keep_ledger
from syncaudit.dsp.robust import median, quantiles
from syncaudit.model import ReasonCode, StampAudit, StampRemark
from syncaudit.model.arrays import Floats, Ints
from syncaudit.model.units import MAX_SPAN_S, seconds_after

# An interval is a gap if it is at least one and a half usual ones, as for regular stamps,
GAP = 1.5
# and if it exceeds what the other long ones make likely, relative to the usual interval and in
# absolute terms, with this false-alarm probability,
FALSE_ALARM = 1e-3
# by more than rounding explains when intervals take only a few values.
CLEARLY = 1.05
# A backward step shortens an interval by at least this share of the usual one.
SHORT = 0.3
MOST_STEPS = 64

# Every bus and every operating system has one-sided delays below this.
WORTH_A_WORD_S = 5e-4


def audit_stamps(
    time_ns: Ints, *, n_expected: int | None = None, pts_s: Floats | None = None
) -> StampAudit:
    """Audit the stamps of one source on their own.

    Samples are numbered first, leaving room for missing ones (`grid`); lasting jumps that
    are not a whole number of periods are clock steps (`steps`); the rest is jitter about a
    straight-line clock, fitted by the lower hull if delays are one-sided and by robust least
    squares otherwise (`clock`, with references).

    Parameters
    ----------
    time_ns : ndarray of int64, shape (n,)
        Stamps in file order; any order and any values.
    n_expected : int, optional
        Frames that the container holds.
    pts_s : ndarray, shape (m,), optional
        Presentation times of the container in seconds.

    Returns
    -------
    StampAudit
        Counts and figures. Jitter below the rounding of the stamps is reported as zero, and the
        resolution is given in the remarks.

    Raises
    ------
    TypeError
        If the stamps are not integers.
    ValueError
        If they are not one column.

    Notes
    -----
    A gap is an interval longer than the clock explains by 1.5 periods or more; its missing
    samples are counted only where the jump is a whole number of periods to within the jitter or
    a twentieth of a period. Any other jump is a step of its full size: stamps alone cannot
    distinguish a stepped clock from a device that restarted with another phase.
    """
    stamps = np.asarray(time_ns)
    if stamps.ndim != 1:
        raise ValueError(f"time_ns must have shape (n,), got {stamps.shape}")
    if stamps.size and stamps.dtype.kind not in "iu":
        raise TypeError(f"time_ns must be integer nanoseconds, got {stamps.dtype}")
    stamps = stamps.astype(np.int64, copy=False)
    n = int(stamps.size)
    remarks = _count_remarks(n, n_expected)
    if n < 2:
        return StampAudit(samples=n, remarks=tuple(remarks))
    steps_s = intervals(stamps)
    base = order_of(steps_s)
    remarks += order_remarks(stamps, steps_s, base)
    if n == 2:
        return replace(base, remarks=tuple(remarks))
    grid = number_samples(steps_s)
    if grid is None:
        text = "the timestamps never increase, so they have no rate"
        remarks.append(StampRemark(code=ReasonCode.RATE, text=text))
        return replace(base, remarks=tuple(remarks))
    audit = _with_ends(_audit_grid(stamps, grid, steps_s, base, remarks), steps_s)
    if pts_s is not None:
        remarks += _container_remarks(np.asarray(pts_s, dtype=np.float64), n, audit.rate_hz)
    return replace(audit, remarks=tuple(remarks))


def order_of(steps_s: Floats) -> StampAudit:
    """Return the audit of stamps that are checked for order only.

    `steps_s`, shape (n - 1,): intervals; at least one.
    """
    is_ordered = float(steps_s.min()) > 0.0
    return StampAudit(
        samples=steps_s.size + 1,
        duplicates=0 if is_ordered else int(np.count_nonzero(steps_s == 0.0)),
        backwards=0 if is_ordered else int(np.count_nonzero(steps_s < 0.0)),
        max_gap_s=float(steps_s.max()),
    )


def _audit_grid(
    stamps: Ints, grid: Grid, steps_s: Floats, base: StampAudit, remarks: list[StampRemark]
) -> StampAudit:
    """Return the figures of numbered stamps; anything odd is added to `remarks`."""
    # One wildly wrong stamp must not cost the others their nanoseconds: zero is a typical stamp.
    in_order = stamps if not base.backwards else np.sort(stamps)
    times = seconds_after(stamps, int(in_order[stamps.size // 2]))
    tick_ns = resolution_ns(stamps)
    tick_s = rounding_s(tick_ns, steps_s)
    ledger = keep_ledger(grid, steps_s, times, tick_s)
    index = ledger.index
    clean = times.copy() if ledger.steps else times
    for interval, size in ledger.steps:
        clean[interval + 1 :] -= size
    jumps = [interval for interval, _ in ledger.steps]
    # Surplus samples share an index: the clock is fitted through one stamp each.
    if ledger.doubled:
        once = np.concatenate(([True], np.diff(index) > 0))
        fit = fit_clock(index[once], clean[once], resolution_s=tick_s)
        jumps = [int(np.count_nonzero(once[: interval + 1])) - 1 for interval in jumps]
    else:
        fit = fit_clock(index, clean, resolution_s=tick_s, line=ledger.line)
    residual = fit.residual_s - median(fit.residual_s)
    jitter = robust_jitter(residual, tick_s)
    rhythm = Rhythm()
    is_odd = grid.is_bunched or ledger.steps or ledger.missing or ledger.doubled
    if is_odd or jitter > MIN_SCATTER_S:
        rhythm = rhythm_of(steps_s, fit.residual_s, tick_s=tick_s, jumps=jumps)
    if fit.period_s <= 0.0 or not rhythm.is_regular:
        audit, remark = _audit_irregular(stamps, rhythm, steps_s, base)
        remarks.append(remark)
        return audit
    waiting_s = mean_waiting(fit.residual_s) if fit.method == "hull" else None
    # Samples that share the first or the last timestamp leave as much time without any.
    longest_s = base.max_gap_s or 0.0
    audit = replace(
        base,
        rate_hz=1.0 / fit.period_s,
        jitter_s=jitter if rhythm.jitter_s is None else rhythm.jitter_s,
        jitter_max_s=float(np.abs(residual).max()),
        buffering_s=waiting_s if rhythm.jitter_s is None else rhythm.waiting_s,
        clock_fit=fit.method,
        gaps=ledger.gaps,
        missing=ledger.missing,
        doubled=ledger.doubled,
        lost_s=longest_s - fit.period_s if longest_s >= 1.5 * fit.period_s else 0.0,
        steps=tuple((int(stamps[i + 1]), size) for i, size in ledger.steps),
        is_synthetic=False,
    )
    is_in_bursts = grid.is_bunched and are_in_bursts(steps_s, fit.period_s)
    remarks += _figure_remarks(audit, ledger, fit, tick_s, is_in_bursts=is_in_bursts)
    nominal = _nominal(stamps, audit, tick_ns)
    if nominal is None:
        return audit
    remarks.append(_synthetic_remark(audit.samples, nominal, tick_s))
    return replace(audit, is_synthetic=True)


def _with_ends(audit: StampAudit, steps_s: Floats) -> StampAudit:
    """Count samples that repeat the first or the last timestamp as a gap.

    Elsewhere timestamps that are stuck leave an interval as long; at an end nothing follows. One
    sample more than share a timestamp elsewhere may be a surplus one.
    """
    moving = np.flatnonzero(steps_s)
    repeats = np.diff(moving, prepend=-1, append=steps_s.size) - 1
    n_stuck = int(repeats[[0, -1]].max())
    if audit.rate_hz is None or n_stuck <= 1 + repeats[1:-1].max(initial=0):
        return audit
    silent_s, lost_s = (n_stuck + 1) / audit.rate_hz, n_stuck / audit.rate_hz
    if silent_s <= (audit.max_gap_s or 0.0):
        return audit
    return replace(audit, max_gap_s=silent_s, lost_s=lost_s)


def _nominal(stamps: Ints, audit: StampAudit, tick_ns: int) -> float | None:
    if audit.missing or audit.backwards or audit.duplicates or audit.steps or audit.doubled:
        return None
    if audit.rate_hz is None or float(stamps[-1]) - float(stamps[0]) > MAX_SPAN_S * 1e9:
        return None
    return nominal_rate(
        stamps - stamps[0], audit.rate_hz, tick_ns, float_tick_ns=float32_tick_ns(stamps)
    )


def _audit_irregular(
    stamps: Ints, rhythm: Rhythm, steps_s: Floats, base: StampAudit
) -> tuple[StampAudit, StampRemark]:
    """Audit stamps whose intervals have no common period, and describe that.

    Intervals are compared with those around them. A forward jump is a late sample here, not a step
    of the clock: a delayed loop continues from where it is.

    `stamps`, shape (n,): in file order. `rhythm`: of these intervals. `steps_s`, shape (n - 1,):
    intervals; at least one is positive. `base`: counts of duplicates and steps back.
    """
    usual_s = rhythm.usual_s
    if usual_s is None:
        usual_s = np.full(steps_s.size, median(steps_s[steps_s > 0.0]))
    beyond_s = steps_s - usual_s
    is_gap = (usual_s > 0.0) & (steps_s >= GAP * usual_s)
    for lengths_s in (steps_s, beyond_s):
        is_gap &= lengths_s > CLEARLY * _natural(lengths_s)
    longest = int(np.argmax(np.where(is_gap, beyond_s, -np.inf) if is_gap.any() else steps_s))
    spent_s = float(np.sum(np.abs(steps_s[~is_gap])))
    rate_hz = int(np.count_nonzero(~is_gap)) / spent_s if spent_s > 0.0 else None
    audit = replace(
        base,
        rate_hz=rate_hz,
        jitter_s=rhythm.jitter_s,
        buffering_s=rhythm.waiting_s,
        gaps=int(np.count_nonzero(is_gap)),
        missing=int(np.sum(np.rint(steps_s[is_gap] / usual_s[is_gap]) - 1.0)),
        max_gap_s=float(steps_s[longest]),
        lost_s=float(beyond_s[longest]) if is_gap.any() else 0.0,
        steps=tuple((int(stamps[i + 1]), size_s) for i, size_s in _steps_back(steps_s, usual_s)),
        is_irregular=True,
    )
    return audit, _irregular_remark(steps_s[~is_gap & (steps_s > 0.0)], usual_s)


def _natural(lengths_s: Floats) -> float:
    """Return how long the longest interval may be by chance.

    The tail beyond the upper tenth is modelled as exponential, with its scale from the median so
    that gaps do not count: the longest of m exceeds ``scale * log(m / p)`` with probability p.
    Independent samples have exponential intervals; other devices have shorter tails.
    """
    ordered_s = np.sort(lengths_s)
    n_tail = -(-ordered_s.size // 10)
    edge_s = float(ordered_s[-n_tail])
    scale_s = (median(ordered_s[-n_tail:]) - edge_s) / math.log(2.0)
    return max(0.0, edge_s + scale_s * math.log(n_tail / FALSE_ALARM))


def _steps_back(steps_s: Floats, usual_s: Floats) -> list[tuple[int, float]]:
    """Return (interval, size) of backward steps: a sample can be late, but not early.

    A late stamp, or several delayed ones, also make short intervals, but right after a long one,
    which they compensate.
    """
    is_short = steps_s < (1.0 - SHORT) * usual_s
    for missing_s in (usual_s - steps_s, median(steps_s) - steps_s):
        is_short &= missing_s > CLEARLY * _natural(missing_s)
    beyond_s = steps_s - usual_s
    is_odd = np.abs(beyond_s) > 0.5 * SHORT * usual_s
    found = []
    for i in np.flatnonzero(is_short)[:MOST_STEPS].tolist():
        first, stop = i, i + 1
        while first > 0 and is_odd[first - 1] and i - first < SETTLED:
            first -= 1
        while stop < is_odd.size and is_odd[stop] and stop - i <= SETTLED:
            stop += 1
        if float(np.sum(beyond_s[first:stop])) < 0.5 * float(beyond_s[i]):
            found.append((i, float(beyond_s[i])))
    return found


def _count_remarks(n: int, n_expected: int | None) -> list[StampRemark]:
    """Describe a difference between the number of stamps and the container's frame count."""
    if n_expected is None or n_expected == n:
        return []
    more = "more" if n > n_expected else "fewer"
    text = (
        f"{n} timestamps for {n_expected} frames in the container: "
        f"{abs(n - n_expected)} {more} timestamps than frames"
    )
    return [StampRemark(code=ReasonCode.LENGTH_MISMATCH, text=text)]


def order_remarks(stamps: Ints, steps_s: Floats, base: StampAudit) -> tuple[StampRemark, ...]:
    """Describe problems of order and span."""
    out: list[StampRemark] = []
    if base.backwards:
        at = int(np.argmin(steps_s))
        text = (
            f"timestamps go back {base.backwards} times, at most by {_in_ms(-float(steps_s[at]))} "
            f"after sample {at}"
        )
        out.append(StampRemark(code=ReasonCode.BACKWARDS, text=text, is_figure=True))
    if base.duplicates:
        at = int(np.argmax(steps_s == 0.0))
        text = f"{base.duplicates} timestamps equal the one before, the first after sample {at}"
        out.append(StampRemark(code=ReasonCode.DUPLICATE, text=text, is_figure=True))
    span_ns = int(stamps.max()) - int(stamps.min())
    if span_ns > MAX_SPAN_S * 1e9:
        text = (
            f"timestamps span {span_ns / 8.64e13:.3g} days: a wrong unit, or timestamps that "
            "were never set"
        )
        out.append(StampRemark(code=ReasonCode.RATE, text=text, is_defect=True))
    return tuple(out)


def _figure_remarks(
    audit: StampAudit, ledger: Ledger, fit: ClockFit, tick_s: float, *, is_in_bursts: bool
) -> list[StampRemark]:
    """Describe what is wrong with the figures of an audit."""
    out: list[StampRemark] = []

    def say(code: ReasonCode, text: str, *, is_figure: bool) -> None:
        out.append(StampRemark(code=code, text=text, is_figure=is_figure))

    rate = audit.rate_hz or 0.0
    if audit.missing:
        say(
            ReasonCode.MISSING_FRAMES,
            f"{audit.missing} samples missing in {audit.gaps} gaps, the longest interval "
            f"{_in_ms(audit.max_gap_s or 0.0)} at a period of {_in_ms(fit.period_s)}",
            is_figure=True,
        )
    if audit.doubled:
        say(
            ReasonCode.DUPLICATE,
            f"{audit.doubled} more samples than the clock has periods",
            is_figure=True,
        )
    for (at_ns, size), (interval, _) in zip(audit.steps, ledger.steps, strict=True):
        way = "forward" if size > 0.0 else "back"
        say(
            ReasonCode.STEP,
            f"the clock jumps {way} by {_in_ms(abs(size))} at {at_ns} ns (after sample "
            f"{interval}): {abs(size) / fit.period_s:.2f} periods, so samples were not dropped",
            is_figure=True,
        )
    if tick_s >= 1e-5:
        say(
            ReasonCode.JITTER,
            f"timestamps are rounded to {_in_ms(tick_s)}: smaller jitter cannot be seen",
            is_figure=False,
        )
    if is_in_bursts:
        say(
            ReasonCode.JITTER,
            "timestamps come in bursts: single intervals do not show the period of "
            f"{_in_ms(fit.period_s)} ({rate:.4g} Hz over the whole recording)",
            is_figure=False,
        )
    if audit.buffering_s is not None and audit.buffering_s >= WORTH_A_WORD_S:
        say(
            ReasonCode.JITTER,
            f"delays are one-sided: timestamps are {_in_ms(audit.buffering_s)} late on average, "
            "as when taken on arrival after a buffer",
            is_figure=True,
        )
    return out


def _irregular_remark(steps_s: Floats, usual_s: Floats) -> StampRemark:
    """Describe stamps that do not come from a regular clock.

    `steps_s`, shape (m,): positive intervals that are not gaps. `usual_s`, shape (n,): usual
    interval at each place.
    """
    shortest_s, longest_s = (
        quantiles(steps_s, [0.01, 0.99]) if steps_s.size else [float(usual_s.min())] * 2
    )
    text = (
        f"no regular clock fits the timestamps (intervals of {_in_ms(shortest_s)} to "
        f"{_in_ms(longest_s)}): variable rate, software-timed sampling, samples lost among "
        "jittering ones, or several sources in one column"
    )
    return StampRemark(code=ReasonCode.RATE, text=text)


def _synthetic_remark(n: int, nominal_hz: float, tick_s: float) -> StampRemark:
    """Describe stamps that were generated as index / rate."""
    rounding = f" (as far as their rounding to {_in_ms(tick_s)} shows)" if tick_s >= 1e-4 else ""
    text = (
        f"all {n} timestamps equal index / {nominal_hz:.6g} Hz exactly: synthetic timestamps "
        f"prove nothing{rounding}"
    )
    return StampRemark(code=ReasonCode.RATE, text=text)


def unit_remarks(audit: StampAudit, fastest_hz: float) -> tuple[StampRemark, ...]:
    """Describe a rate that no device of the kind has: stamps in a unit other than nanoseconds."""
    rate = audit.rate_hz
    if rate is None or rate <= fastest_hz:
        return ()
    # Of the usual units, the finest that gives a rate a device of the kind could have.
    unit, name = ("us", "microseconds") if rate * 1e-3 <= fastest_hz else ("ms", "milliseconds")
    as_such = rate * (1e-3 if unit == "us" else 1e-6)
    text = (
        f"the timestamps give a rate of {rate:.3g} Hz: they look like {name}, not nanoseconds "
        f'({as_such:.3g} Hz then). State the unit in the manifest, "units": {{"stamps": '
        f'"{unit}"}}, or export them in ns'
    )
    return (StampRemark(code=ReasonCode.RATE, text=text, is_defect=True),)


def _container_remarks(pts_s: Floats, n: int, rate_hz: float | None) -> list[StampRemark]:
    """Describe a container that plays at a different rate from its `n` stamps.

    `pts_s`, shape (m,): presentation times in any order; non-finite values are ignored.
    `rate_hz`: rate of the stamps.
    """
    ordered = np.sort(pts_s[np.isfinite(pts_s)])
    gaps = ordered[1:] - ordered[:-1]
    gaps = gaps[gaps > 0.0]
    if gaps.size < 2 or rate_hz is None:
        return []
    plays_hz = gaps.size / float(np.add.reduce(gaps))
    # Dropped frames lower both rates; no crystal explains a difference of 1 % and 2 frames' worth.
    span = n / rate_hz
    if abs(plays_hz - rate_hz) <= max(0.01 * rate_hz, 2.0 / span):
        return []
    text = (
        f"the container plays {plays_hz:.5g} frames a second, its timestamps {rate_hz:.5g}: its "
        "presentation times are not capture times"
    )
    return [StampRemark(code=ReasonCode.RATE, text=text)]


def _in_ms(seconds: float) -> str:
    """Format a span in the unit that reads best."""
    if seconds >= 10.0:
        return f"{seconds:.4g} s"
    return f"{seconds * 1e3:.4g} ms" if seconds >= 1e-4 else f"{seconds * 1e6:.3g} us"
