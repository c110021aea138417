"""Audit the stamps of a source without any content (design 3.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.stamp_clock import ClockFit, fit_clock
from syncaudit.detectors.stamp_counter import nominal_rate, resolution_ns
from syncaudit.detectors.stamp_grid import Grid, number_samples
from syncaudit.detectors.stamp_steps import LevelStep, find_level_steps
from syncaudit.model import (
    AudioStream,
    CameraStream,
    EventStream,
    SignalStream,
    SourceKind,
    StampAudit,
    Stream,
    TranscriptStream,
)

__all__ = ["audit_stamps", "audit_stream"]

# Smallest step reported, in periods: below, exposure control and scheduling look the same.
MIN_STEP_PERIODS = 0.02
MIN_STEP_S = 1e-4
# A jump this near a whole number of periods is dropped samples, not a step (in periods).
WHOLE_PERIODS = 0.05
# Bunched stamps whose jitter exceeds this many periods and grows with the distance like a walk
# have no regular clock behind them.
IRREGULAR_PERIODS = 0.5
# More than 30 days between first and last stamp are a wrong unit or an unset stamp.
MAX_SPAN_NS = 30 * 86_400 * 10**9


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
        resolution stands in the warnings.

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
    n = int(stamps.size)
    warnings = _count_warnings(n, n_expected)
    if n < 2:
        return StampAudit(samples=n, warnings=tuple(warnings))
    steps_s = _intervals(stamps)
    base = StampAudit(
        samples=n,
        duplicates=int(np.count_nonzero(steps_s == 0.0)),
        backwards=int(np.count_nonzero(steps_s < 0.0)),
        max_gap_s=float(np.max(steps_s)),
    )
    _order_warnings(stamps, steps_s, base, warnings)
    grid = number_samples(steps_s) if n > 2 else None
    if grid is None:
        if n > 2:
            warnings.append("the stamps never move forward, so they hold no rate")
        return replace(base, warnings=tuple(warnings))
    return _audit_grid(stamps, grid, steps_s, base, warnings, pts_s)


def _audit_grid(
    stamps: NDArray[np.int64],
    grid: Grid,
    steps_s: NDArray[np.float64],
    base: StampAudit,
    warnings: list[str],
    pts_s: NDArray[np.float64] | None,
) -> StampAudit:
    period = grid.period_s
    # A huge stray stamp must not cost the others their nanoseconds: zero is a typical stamp.
    times = _since(stamps, int(np.sort(stamps)[stamps.size // 2]))
    tick_ns = resolution_ns(stamps)
    tick_s = _tick(tick_ns, steps_s)
    ledger = _ledger(grid, steps_s, times, tick_s)
    index = np.concatenate(([0], np.cumsum(ledger.extra + 1)))
    clean = times.copy()
    for interval, size in ledger.steps:
        clean[interval + 1 :] -= size
    # Surplus samples share an index: the clock is fitted through one stamp each.
    once = np.concatenate(([True], np.diff(index) > 0))
    fit = fit_clock(index[once], clean[once], resolution_s=tick_s)
    residual = fit.residual_s - float(np.median(fit.residual_s))
    jitter = _jitter(residual, tick_s)
    is_walk = grid.is_bunched and jitter > IRREGULAR_PERIODS * period and _is_walk(residual)
    if fit.period_s <= 0.0 or is_walk:
        return _irregular(steps_s, base, warnings)
    audit = replace(
        base,
        rate_hz=1.0 / fit.period_s,
        jitter_s=jitter,
        jitter_max_s=float(np.max(np.abs(residual))),
        buffering_s=float(np.mean(fit.residual_s)) if fit.method == "hull" else None,
        clock_fit=fit.method,
        gaps=ledger.gaps,
        missing=ledger.missing,
        doubled=ledger.doubled,
        steps=tuple((int(stamps[i + 1]), size) for i, size in ledger.steps),
        is_synthetic=False,
    )
    warnings += _figure_warnings(audit, ledger, fit, tick_s, grid)
    nominal = _nominal(stamps, audit, tick_ns)
    if nominal is not None:
        audit = replace(audit, is_synthetic=True)
        warnings.append(
            f"all {audit.samples} stamps lie exactly on index / {nominal:.6g} Hz: they were made "
            "up afterwards, and synthetic stamps prove nothing"
            + (f" (as far as their rounding to {_ms(tick_s)} shows)" if tick_s >= 1e-4 else "")
        )
    if pts_s is not None:
        warnings += _pts_warnings(np.asarray(pts_s, dtype=np.float64), audit)
    return replace(audit, warnings=tuple(warnings))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Ledger:
    """What each odd interval was booked as."""

    extra: NDArray[np.int64]
    steps: tuple[tuple[int, float], ...]
    gaps: int
    missing: int
    doubled: int


def _ledger(
    grid: Grid, steps_s: NDArray[np.float64], times: NDArray[np.float64], tick_s: float
) -> _Ledger:
    period = grid.period_s
    extra = grid.extra.copy()
    stepped: dict[int, float] = {}
    # A step back cannot be missing samples; surplus samples explain it only as far as there are
    # short intervals to have come from.
    doubled = 0
    for i in np.flatnonzero(extra < 0).tolist():
        if extra[i] == -1 and 0.0 <= steps_s[i] < 0.5 * period:
            doubled += 1
        else:
            stepped[i] = float(extra[i]) * period
            extra[i] = 0
    numbered = times.copy()
    for i, size in stepped.items():
        numbered[i + 1 :] -= size
    index = np.concatenate(([0], np.cumsum(extra + 1)))
    floor = max(MIN_STEP_PERIODS * period, MIN_STEP_S, 1.5 * tick_s)
    found = find_level_steps(index, numbered, min_size_s=floor)
    for step in found:
        _book(step, extra, stepped, period)
    stepped = {i: size for i, size in stepped.items() if abs(size) >= floor}
    is_gap = extra > 0
    for i, size in stepped.items():
        if size > 1.5 * period:
            is_gap[i] = True
    return _Ledger(
        extra=extra,
        steps=tuple(sorted(stepped.items())),
        gaps=int(np.count_nonzero(is_gap)),
        missing=int(np.sum(np.maximum(extra, 0))),
        doubled=doubled,
    )


def _book(
    step: LevelStep, extra: NDArray[np.int64], stepped: dict[int, float], period: float
) -> None:
    """Enter a jump as missing samples or as a step of its whole size."""
    near = range(max(0, step.interval - 2), min(extra.size, step.interval + 3))
    at = max(near, key=lambda i: (extra[i] > 0 or i in stepped, i == step.interval))
    if not (extra[at] > 0 or at in stepped):
        at = step.interval
    whole = int(extra[at])
    size = step.size_s + whole * period + stepped.get(at, 0.0)
    jump = size / period
    # The rate may differ across a long gap: 50 ppm of it are not a phase of their own.
    slack = max(WHOLE_PERIODS, 3.0 * step.std_s / period) + 5e-5 * abs(jump)
    if jump > 0.5 and abs(jump - round(jump)) < slack:
        extra[at] = round(jump)
        stepped.pop(at, None)
        return
    extra[at] = 0
    stepped[at] = size


def _intervals(stamps: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return differences in seconds; exact as integers wherever int64 holds them."""
    with np.errstate(over="ignore"):
        exact = np.diff(stamps)
    rough = np.diff(stamps.astype(np.float64))
    return np.asarray(np.where(np.abs(rough) < 9.0e18, exact.astype(np.float64), rough) * 1e-9)


def _since(stamps: NDArray[np.int64], zero_ns: int) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        exact = stamps - np.int64(zero_ns)
    rough = stamps.astype(np.float64) - float(zero_ns)
    return np.asarray(np.where(np.abs(rough) < 9.0e18, exact.astype(np.float64), rough) * 1e-9)


def _tick(tick_ns: int, steps_s: NDArray[np.float64]) -> float:
    """Return the rounding in seconds; none where all intervals are alike or it is too coarse."""
    positive = steps_s[steps_s > 0.0]
    if positive.size == 0 or float(np.ptp(positive)) < 0.5e-9:
        return 0.0
    tick = tick_ns * 1e-9
    # Whole periods (dropped frames of an exact clock) are no rounding.
    ratio = positive / float(np.min(positive))
    if float(np.max(np.abs(ratio - np.rint(ratio)))) < 1e-9:
        return 0.0
    return tick


def _jitter(residual: NDArray[np.float64], tick_s: float) -> float:
    """Return the robust deviation without the part that rounding alone makes (0.37 ticks)."""
    jitter = 1.4826 * float(np.median(np.abs(residual)))
    if tick_s > 0.0:
        low, high = np.quantile(residual, [0.02, 0.98])
        if high - low <= 1.1 * tick_s:
            return 0.0
    return float(np.sqrt(max(0.0, jitter**2 - (1.4826 * 0.25 * tick_s) ** 2)))


def _is_walk(residual: NDArray[np.float64]) -> bool:
    """Tell whether differences grow with their distance, as sums of free intervals do."""
    n = residual.size
    if n < 64:
        return False
    short, long = max(1, n // 128), n // 8
    near = float(np.median(np.abs(residual[short:] - residual[:-short])))
    far = float(np.median(np.abs(residual[long:] - residual[:-long])))
    return far > 2.0 * near


def _nominal(stamps: NDArray[np.int64], audit: StampAudit, tick_ns: int) -> float | None:
    if audit.missing or audit.backwards or audit.duplicates or audit.steps or audit.doubled:
        return None
    if audit.rate_hz is None or float(stamps[-1]) - float(stamps[0]) > MAX_SPAN_NS:
        return None
    return nominal_rate(stamps - stamps[0], audit.rate_hz, tick_ns)


def _irregular(steps_s: NDArray[np.float64], base: StampAudit, warnings: list[str]) -> StampAudit:
    positive = steps_s[steps_s > 0.0]
    mean = float(np.sum(np.abs(steps_s))) / steps_s.size
    middle = float(np.median(positive))
    warnings.append(
        f"no regular clock fits the stamps (intervals of {_ms(float(positive.min()))} to "
        f"{_ms(float(positive.max()))}, median {_ms(middle)}): variable rate, or stamps of several "
        "sources in one column"
    )
    return replace(
        base,
        rate_hz=1.0 / mean if mean > 0.0 else None,
        warnings=tuple(warnings),
    )


def _count_warnings(n: int, n_expected: int | None) -> list[str]:
    if n_expected is None or n_expected == n:
        return []
    more = "more" if n > n_expected else "fewer"
    return [
        f"{n} stamps for {n_expected} frames in the container: "
        f"{abs(n - n_expected)} {more} stamps than frames"
    ]


def _order_warnings(
    stamps: NDArray[np.int64],
    steps_s: NDArray[np.float64],
    base: StampAudit,
    warnings: list[str],
) -> None:
    if base.backwards:
        at = int(np.argmin(steps_s))
        warnings.append(
            f"stamps step back {base.backwards} times, at most by {_ms(-float(steps_s[at]))} "
            f"after sample {at}"
        )
    if base.duplicates:
        at = int(np.argmax(steps_s == 0.0))
        warnings.append(f"{base.duplicates} stamps equal the one before, first after sample {at}")
    if int(np.max(stamps)) - int(np.min(stamps)) > MAX_SPAN_NS:
        warnings.append(
            f"stamps span {(int(np.max(stamps)) - int(np.min(stamps))) / 8.64e13:.3g} days: a "
            "wrong unit, or stamps that were never set"
        )


def _figure_warnings(
    audit: StampAudit, ledger: _Ledger, fit: ClockFit, tick_s: float, grid: Grid
) -> list[str]:
    out: list[str] = []
    rate = audit.rate_hz or 0.0
    if audit.missing:
        out.append(
            f"{audit.missing} samples missing in {audit.gaps} gaps, the longest interval "
            f"{_ms(audit.max_gap_s or 0.0)} at a period of {_ms(fit.period_s)}"
        )
    if audit.doubled:
        out.append(f"{audit.doubled} samples more than the clock has periods")
    for (at_ns, size), (interval, _) in zip(audit.steps, ledger.steps, strict=True):
        late = "forward" if size > 0.0 else "back"
        out.append(
            f"the clock jumps {late} by {_ms(abs(size))} at {at_ns} ns (after sample {interval}), "
            f"which is {abs(size) / fit.period_s:.2f} periods and so no dropped samples"
        )
    if tick_s >= 1e-5:
        out.append(f"stamps are rounded to {_ms(tick_s)}: smaller jitter cannot be seen")
    if grid.is_bunched:
        out.append(
            f"stamps bunch: single intervals do not show the period of {_ms(fit.period_s)} "
            f"({rate:.4g} Hz over the whole recording)"
        )
    if audit.buffering_s is not None:
        out.append(
            f"delays are one-sided: stamps come {_ms(audit.buffering_s)} after the clock's floor "
            "on average, which looks like receive stamps behind a buffer"
        )
    return out


def _pts_warnings(pts: NDArray[np.float64], audit: StampAudit) -> list[str]:
    gaps = np.diff(np.sort(pts[np.isfinite(pts)]))
    gaps = gaps[gaps > 0.0]
    if gaps.size < 2 or audit.rate_hz is None:
        return []
    rate = gaps.size / float(np.sum(gaps))
    # Dropped frames lower both; 1 % and 2 frames' worth of difference are beyond any crystal.
    span = audit.samples / audit.rate_hz
    if abs(rate - audit.rate_hz) <= max(0.01 * audit.rate_hz, 2.0 / span):
        return []
    return [
        f"the container plays {rate:.5g} frames a second, the stamps say {audit.rate_hz:.5g} Hz: "
        "its presentation times are no capture times"
    ]


def _ms(seconds: float) -> str:
    if seconds >= 10.0:
        return f"{seconds:.4g} s"
    return f"{seconds * 1e3:.4g} ms" if seconds >= 1e-4 else f"{seconds * 1e6:.3g} us"


def audit_stream(stream: Stream) -> StampAudit:
    """Audit a stream as its kind demands.

    Parameters
    ----------
    stream : Stream
        Any stream. Cameras are held against their container; the channels of a CAN bus or a
        robot state are audited one by one and merged (worst figures, rate of the fastest);
        audio is judged by its anchors; events and transcripts have no rate, only order.

    Returns
    -------
    StampAudit
        `samples` counts all stamps of the stream.
    """
    if isinstance(stream, CameraStream):
        return audit_stamps(
            stream.time_ns, n_expected=stream.n_frames_container, pts_s=stream.pts_s
        )
    if isinstance(stream, AudioStream):
        return _audit_audio(stream)
    if isinstance(stream, EventStream | TranscriptStream):
        return _order_only(stream)
    if isinstance(stream, SignalStream) and stream.kind is not SourceKind.IMU:
        distinct = _distinct(stream)
        if distinct:
            return _merge(stream, distinct)
    return audit_stamps(stream.time_ns)


def _distinct(stream: SignalStream) -> list[tuple[str, NDArray[np.int64]]]:
    """Return the channels' stamps, each message once however many signals it carries."""
    out: list[tuple[str, NDArray[np.int64]]] = []
    for channel in stream.channels:
        if not any(np.array_equal(channel.time_ns, seen) for _, seen in out):
            out.append((channel.name, channel.time_ns))
    return out


def _merge(stream: SignalStream, channels: Sequence[tuple[str, NDArray[np.int64]]]) -> StampAudit:
    audits = [(name, audit_stamps(stamps)) for name, stamps in channels]
    if len(audits) == 1:
        return replace(audits[0][1], samples=int(stream.time_ns.size))
    each = [audit for _, audit in audits]
    fastest = max(each, key=lambda a: a.rate_hz or 0.0)
    worst = max(each, key=lambda a: a.jitter_s if a.jitter_s is not None else -1.0)
    return StampAudit(
        samples=int(stream.time_ns.size),
        rate_hz=fastest.rate_hz,
        jitter_s=worst.jitter_s,
        jitter_max_s=_most([a.jitter_max_s for a in each]),
        buffering_s=_most([a.buffering_s for a in each]),
        clock_fit=worst.clock_fit,
        gaps=sum(a.gaps for a in each),
        duplicates=sum(a.duplicates for a in each),
        backwards=sum(a.backwards for a in each),
        missing=sum(a.missing for a in each),
        doubled=sum(a.doubled for a in each),
        max_gap_s=_most([a.max_gap_s for a in each]),
        steps=tuple(sorted(step for a in each for step in a.steps)),
        is_synthetic=all(a.is_synthetic for a in each),
        warnings=tuple(f"{name}: {text}" for name, a in audits for text in a.warnings),
    )


def _most(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return max(known) if known else None


def _order_only(stream: Stream) -> StampAudit:
    n = int(stream.time_ns.size)
    if n < 2:
        return StampAudit(samples=n)
    steps_s = _intervals(stream.time_ns)
    audit = StampAudit(
        samples=n,
        duplicates=int(np.count_nonzero(steps_s == 0.0)),
        backwards=int(np.count_nonzero(steps_s < 0.0)),
        max_gap_s=float(np.max(steps_s)),
    )
    warnings: list[str] = []
    _order_warnings(stream.time_ns, steps_s, audit, warnings)
    return replace(audit, warnings=tuple(warnings))


def _audit_audio(stream: AudioStream) -> StampAudit:
    """Audit a stamp table of sound: the sample count is the index, so nothing can be missing."""
    n = int(stream.samples.size)
    if stream.time_ns.size < 3 or stream.anchor_samples.size != stream.time_ns.size:
        return StampAudit(samples=n, rate_hz=stream.rate_hz if stream.rate_hz > 0.0 else None)
    base = _order_only(stream)
    stamps = stream.time_ns
    times = _since(stamps, int(np.sort(stamps)[stamps.size // 2]))
    index = stream.anchor_samples
    order = np.argsort(index, kind="stable")
    index, times, stamps = index[order], times[order], stamps[order]
    tick_s = _tick(resolution_ns(stamps), _intervals(stamps))
    warnings = list(base.warnings)
    if np.any(np.diff(index) <= 0):
        warnings.append("the stamp table names a sample more than once")
        return replace(base, samples=n, rate_hz=stream.rate_hz, warnings=tuple(warnings))
    floor = max(MIN_STEP_S, 1.5 * tick_s)
    steps = find_level_steps(index, times, min_size_s=floor)
    clean = times.copy()
    for step in steps:
        clean[step.interval + 1 :] -= step.size_s
        warnings.append(
            f"the clock of the stamps jumps by {step.size_s * 1e3:.4g} ms against the sample count "
            f"at sample {int(index[step.interval + 1])}"
        )
    fit = fit_clock(index, clean, resolution_s=tick_s)
    residual = fit.residual_s - float(np.median(fit.residual_s))
    if fit.period_s <= 0.0:
        warnings.append("the stamps do not advance with the sample count")
        return replace(base, samples=n, rate_hz=None, warnings=tuple(warnings))
    return replace(
        base,
        samples=n,
        rate_hz=1.0 / fit.period_s,
        jitter_s=_jitter(residual, tick_s),
        jitter_max_s=float(np.max(np.abs(residual))),
        buffering_s=float(np.mean(fit.residual_s)) if fit.method == "hull" else None,
        clock_fit=fit.method,
        steps=tuple((int(stamps[s.interval + 1]), s.size_s) for s in steps),
        warnings=tuple(warnings),
    )
