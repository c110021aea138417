"""Running integral of a sampled signal, evaluated at any instant without resampling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline, PPoly

__all__ = ["RunningIntegral", "integrate_samples", "interpolate_angle"]

Floats = NDArray[np.float64]

# An interval this many median periods long is a gap: nothing is interpolated across it.
GAP_PERIODS = 4.5


@dataclass(frozen=True, slots=True, eq=False)
class RunningIntegral:
    """Antiderivative of a signal and the signal itself, per channel.

    Parameters
    ----------
    integral, rate : PPoly
        Curves of all d channels; `rate` is the derivative of `integral`.
    n_channels : int
        d.
    start_s, stop_s : float
        Range in which the curves hold.
    gap_start_s, gap_stop_s : ndarray, shape (g,)
        Gaps without samples; an increment that touches one is not covered.
    period_s : float
        Median sample period.
    """

    integral: PPoly
    rate: PPoly
    n_channels: int
    start_s: float
    stop_s: float
    gap_start_s: Floats
    gap_stop_s: Floats
    period_s: float

    def at(self, times_s: Floats) -> Floats:
        """Return the integral at `times_s`, shape ``times_s.shape + (n_channels,)``."""
        return np.asarray(self.integral(times_s))

    def rate_at(self, times_s: Floats) -> Floats:
        """Return the signal at `times_s`, shape ``times_s.shape + (n_channels,)``."""
        return np.asarray(self.rate(times_s))

    def covers(self, start_s: Floats, stop_s: Floats) -> NDArray[np.bool_]:
        """Tell which intervals lie inside the range and touch no gap."""
        inside: NDArray[np.bool_] = (start_s >= self.start_s) & (stop_s <= self.stop_s)
        if self.gap_start_s.size:
            # The first gap that ends after the interval's start must begin after its stop.
            first = np.searchsorted(self.gap_stop_s, start_s, side="right")
            begins = np.append(self.gap_start_s, np.inf)[first]
            inside &= begins >= stop_s
        return inside


def integrate_samples(times_s: Floats, values: Floats, *, is_smooth: bool) -> RunningIntegral:
    """Integrate samples over time.

    Parameters
    ----------
    times_s : ndarray, shape (n,)
        Strictly increasing, n >= 4.
    values : ndarray, shape (n, d)
        Samples.
    is_smooth : bool
        True for evenly sampled sensors (cubic spline, exact for band-limited motion); False for
        bunched or quantised signals (piecewise linear: a spline would overshoot).

    Returns
    -------
    RunningIntegral
        Zero at the first sample.

    Raises
    ------
    ValueError
        If fewer than four samples are given.
    """
    if times_s.size < 4:
        raise ValueError(f"an integral needs at least 4 samples, got {times_s.size}")
    rate = _curve(times_s, values, is_smooth=is_smooth)
    gap_start_s, gap_stop_s, period_s = _gaps(times_s, is_even=is_smooth)
    return RunningIntegral(
        integral=rate.antiderivative(),
        rate=rate,
        n_channels=values.shape[1],
        start_s=float(times_s[0]),
        stop_s=float(times_s[-1]),
        gap_start_s=gap_start_s,
        gap_stop_s=gap_stop_s,
        period_s=period_s,
    )


def interpolate_angle(
    times_s: Floats,
    angles: Floats,
    *,
    is_smooth: bool = True,
    gaps_s: tuple[Floats, Floats] | None = None,
) -> RunningIntegral:
    """Interpolate a signal that is an integral already (an angle, a speed).

    Parameters
    ----------
    times_s : ndarray, shape (n,)
        Strictly increasing.
    angles : ndarray, shape (n, d)
        Values of the integral.
    is_smooth : bool
        As in `integrate_samples`.
    gaps_s : tuple of ndarray, optional
        Starts and stops of gaps, where the caller knows them.

    Returns
    -------
    RunningIntegral
        With `angles` as its integral.

    Raises
    ------
    ValueError
        If fewer than four samples are given.
    """
    if angles.shape[0] < 4:
        raise ValueError(f"an interpolation needs at least 4 samples, got {angles.shape[0]}")
    integral = _curve(times_s, angles, is_smooth=is_smooth)
    gap_start_s, gap_stop_s, period_s = _gaps(times_s, is_even=is_smooth)
    if gaps_s is not None:
        gap_start_s, gap_stop_s = gaps_s
    return RunningIntegral(
        integral=integral,
        rate=integral.derivative(),
        n_channels=angles.shape[1],
        start_s=float(times_s[0]),
        stop_s=float(times_s[-1]),
        gap_start_s=gap_start_s,
        gap_stop_s=gap_stop_s,
        period_s=period_s,
    )


def _curve(times_s: Floats, values: Floats, *, is_smooth: bool) -> PPoly:
    """Return the curve through the samples: cubic, or straight from one to the next."""
    if is_smooth:
        return CubicSpline(times_s, values)
    slopes = np.diff(values, axis=0) / np.diff(times_s)[:, None]
    return PPoly(np.stack([slopes, values[:-1]]), times_s)


def _gaps(times_s: Floats, *, is_even: bool) -> tuple[Floats, Floats, float]:
    intervals = np.diff(times_s)
    period_s = float(np.median(intervals))
    # Bunched stamps have a tiny median; the mean keeps their pauses from being called gaps.
    usual_s = max(period_s, float(np.mean(intervals)) * 0.5)
    if not is_even:
        # Bunches of up to nine: a tenth of the intervals are pauses, and no gap is so frequent.
        usual_s = max(usual_s, float(np.quantile(intervals, 0.9)) / 3.0)
    is_gap = intervals > GAP_PERIODS * usual_s
    return times_s[:-1][is_gap], times_s[1:][is_gap], period_s
