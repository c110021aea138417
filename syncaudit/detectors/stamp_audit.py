"""Audit the stamps of one column without any content (design 3.5)."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.stamp_clock import fit_clock, robust_jitter
from syncaudit.detectors.stamp_counter import (
    float32_tick_ns,
    nominal_rate,
    resolution_ns,
    rounding_s,
)
from syncaudit.detectors.stamp_grid import Grid, intervals, number_samples, seconds_after
from syncaudit.detectors.stamp_ledger import keep_ledger
from syncaudit.detectors.stamp_order import order_of
from syncaudit.detectors.stamp_words import (
    container_remarks,
    count_remarks,
    figure_remarks,
    in_ms,
    order_remarks,
)
from syncaudit.dsp.medians import median
from syncaudit.model import ReasonCode, StampAudit, StampRemark
from syncaudit.model.time import MAX_SPAN_S

__all__ = ["audit_stamps"]

# Bunched stamps whose jitter exceeds this many periods and grows with the distance like a walk
# have no regular clock behind them.
IRREGULAR_PERIODS = 0.5

# Columns of so many stamps are remembered by their pattern: the cameras of a clip, and clip after
# clip, as often as not share the one that an encoder made up. 64 of them are 4 MB at the most.
FEW = 4096
# Differences of stamps closer together than this do not overflow.
_SPAN_NS = 2**62


def audit_stamps(
    time_ns: NDArray[np.int64],
    *,
    n_expected: int | None = None,
    pts_s: NDArray[np.float64] | None = None,
) -> StampAudit:
    """Say what the stamps of one source tell by themselves.

    Samples are numbered first, leaving room for missing ones (`stamp_grid`); lasting jumps that
    are no whole number of periods are clock steps (`stamp_steps`); the rest is jitter about a
    straight clock, fitted by the lower hull where delays are one-sided and by robust least
    squares where they are not (`stamp_clock`, with the sources).

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
        Counts and figures. Jitter below the rounding of the stamps reads zero, and the
        resolution stands in the remarks.

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
    a twentieth of a period. Any other jump is a step of its whole size: the stamps alone cannot
    tell a stepped clock from a device that restarted with another phase.
    """
    stamps = np.asarray(time_ns)
    if stamps.ndim != 1:
        raise ValueError(f"time_ns must have shape (n,), got {stamps.shape}")
    if stamps.size and stamps.dtype.kind not in "iu":
        raise TypeError(f"time_ns must be integer nanoseconds, got {stamps.dtype}")
    stamps = stamps.astype(np.int64)
    if 1 < stamps.size <= FEW and int(stamps.max()) - int(stamps.min()) < _SPAN_NS:
        audit = _audit_pattern(
            (stamps - stamps[0]).tobytes(),
            n_expected,
            None if pts_s is None else np.asarray(pts_s, dtype=np.float64).tobytes(),
            float32_tick_ns(stamps),
        )
        if not audit.steps:  # which have their place in time
            return audit
    return _audit(stamps, n_expected, pts_s, float32_tick_ns(stamps))


@lru_cache(maxsize=64)
def _audit_pattern(
    since: bytes, n_expected: int | None, pts: bytes | None, float_tick_ns: int
) -> StampAudit:
    """Audit stamps by what they are after the first one; `steps` and their words count from it."""
    pts_s = None if pts is None else np.frombuffer(pts, dtype=np.float64)
    return _audit(np.frombuffer(since, dtype=np.int64), n_expected, pts_s, float_tick_ns)


def _audit(
    stamps: NDArray[np.int64],
    n_expected: int | None,
    pts_s: NDArray[np.float64] | None,
    float_tick_ns: int,
) -> StampAudit:
    n = int(stamps.size)
    remarks = count_remarks(n, n_expected)
    if n < 2:
        return StampAudit(samples=n, remarks=tuple(remarks))
    steps_s = intervals(stamps)
    base = order_of(steps_s)
    remarks += order_remarks(stamps, steps_s, base)
    grid = number_samples(steps_s) if n > 2 else None
    if grid is None:
        if n > 2:
            remarks.append(
                StampRemark(
                    code=ReasonCode.RATE,
                    text="the stamps never move forward, so they hold no rate",
                )
            )
        return replace(base, remarks=tuple(remarks))
    return _audit_grid(stamps, grid, steps_s, base, remarks, pts_s, float_tick_ns)


def _audit_grid(
    stamps: NDArray[np.int64],
    grid: Grid,
    steps_s: NDArray[np.float64],
    base: StampAudit,
    remarks: list[StampRemark],
    pts_s: NDArray[np.float64] | None,
    float_tick_ns: int,
) -> StampAudit:
    period = grid.period_s
    # A huge stray stamp must not cost the others their nanoseconds: zero is a typical stamp.
    in_order = stamps if not base.backwards else np.sort(stamps)
    times = seconds_after(stamps, int(in_order[stamps.size // 2]))
    tick_ns = resolution_ns(stamps)
    tick_s = rounding_s(tick_ns, steps_s)
    ledger = keep_ledger(grid, steps_s, times, tick_s)
    index = ledger.index
    clean = times.copy() if ledger.steps else times
    for interval, size in ledger.steps:
        clean[interval + 1 :] -= size
    # Surplus samples share an index: the clock is fitted through one stamp each.
    if ledger.doubled:
        once = np.concatenate(([True], np.diff(index) > 0))
        fit = fit_clock(index[once], clean[once], resolution_s=tick_s)
    else:
        fit = fit_clock(index, clean, resolution_s=tick_s, line=ledger.line)
    residual = fit.residual_s - median(fit.residual_s)
    jitter = robust_jitter(residual, tick_s)
    is_walk = grid.is_bunched and jitter > IRREGULAR_PERIODS * period and _is_walk(residual)
    if fit.period_s <= 0.0 or is_walk:
        return _irregular(steps_s, base, remarks)
    audit = replace(
        base,
        rate_hz=1.0 / fit.period_s,
        jitter_s=jitter,
        jitter_max_s=float(np.abs(residual).max()),
        buffering_s=float(np.mean(fit.residual_s)) if fit.method == "hull" else None,
        clock_fit=fit.method,
        gaps=ledger.gaps,
        missing=ledger.missing,
        doubled=ledger.doubled,
        steps=tuple((int(stamps[i + 1]), size) for i, size in ledger.steps),
        is_synthetic=False,
    )
    remarks += figure_remarks(audit, ledger, fit, tick_s, grid)
    nominal = _nominal(stamps, audit, tick_ns, float_tick_ns)
    if nominal is not None:
        audit = replace(audit, is_synthetic=True)
        rounding = f" (as far as their rounding to {in_ms(tick_s)} shows)" if tick_s >= 1e-4 else ""
        remarks.append(
            StampRemark(
                code=ReasonCode.RATE,
                text=f"all {audit.samples} stamps lie exactly on index / {nominal:.6g} Hz: they "
                f"were made up afterwards, and synthetic stamps prove nothing{rounding}",
            )
        )
    if pts_s is not None:
        remarks += container_remarks(np.asarray(pts_s, dtype=np.float64), audit)
    return replace(audit, remarks=tuple(remarks))


def _is_walk(residual: NDArray[np.float64]) -> bool:
    """Tell whether differences grow with their distance, as sums of free intervals do."""
    n = residual.size
    if n < 64:
        return False
    short, long = max(1, n // 128), n // 8
    near = median(np.abs(residual[short:] - residual[:-short]))
    far = median(np.abs(residual[long:] - residual[:-long]))
    return far > 2.0 * near


def _nominal(
    stamps: NDArray[np.int64], audit: StampAudit, tick_ns: int, float_tick_ns: int
) -> float | None:
    if audit.missing or audit.backwards or audit.duplicates or audit.steps or audit.doubled:
        return None
    if audit.rate_hz is None or float(stamps[-1]) - float(stamps[0]) > MAX_SPAN_S * 1e9:
        return None
    return nominal_rate(stamps - stamps[0], audit.rate_hz, tick_ns, float_tick_ns=float_tick_ns)


def _irregular(
    steps_s: NDArray[np.float64], base: StampAudit, remarks: list[StampRemark]
) -> StampAudit:
    positive = steps_s[steps_s > 0.0]
    mean = float(np.sum(np.abs(steps_s))) / steps_s.size
    middle = median(positive)
    remarks.append(
        StampRemark(
            code=ReasonCode.RATE,
            text=f"no regular clock fits the stamps (intervals of {in_ms(float(positive.min()))} "
            f"to {in_ms(float(positive.max()))}, median {in_ms(middle)}): variable rate, or "
            "stamps of several sources in one column",
        )
    )
    return replace(
        base,
        rate_hz=1.0 / mean if mean > 0.0 else None,
        remarks=tuple(remarks),
    )
