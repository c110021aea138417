"""Recognise timestamps that were generated afterwards as index / rate."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np

from syncaudit.model.arrays import Floats, Ints

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
