"""Running integral of a sampled signal, evaluated at any instant without resampling."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicSpline, PPoly
from scipy.ndimage import uniform_filter1d

from syncaudit.dsp.robust import median
from syncaudit.model.arrays import Bools, Floats

# An interval longer than this many median periods is a gap: no interpolation across it.
GAP_PERIODS = 4.5
# Share of the intervals that are pauses between bunches; gaps are less frequent.
MIN_PAUSES = 0.01
# Steps of the grid on which averages are taken; odd, so that nothing is shifted.
SMOOTH_STEPS = 9


@dataclass(frozen=True, slots=True, eq=False)
class RunningIntegral:
    """Antiderivative of a signal, per channel."""

    integral: PPoly  # curves of all d channels
    n_channels: int  # d
    # Range in which the curves hold.
    start_s: float
    stop_s: float
    # shape (g,): gaps without samples; an increment that touches one is not covered
    gap_start_s: Floats
    gap_stop_s: Floats
    period_s: float  # median sample period
    # shape (d,), optional: how strongly each channel may couple to the other side, relative to the
    # first (one sigma; inf: without limit). None: all without limit.
    coupling_std: Floats | None = None
    # Channels that are the signal itself; the remaining ones are only disturbances. None: all.
    n_signals: int | None = None

    def at(self, times_s: Floats) -> Floats:
        """Return the integral at `times_s`, shape ``times_s.shape + (n_channels,)``."""
        return np.asarray(self.integral(times_s))

    def angles_at(self, times_s: Floats) -> Floats:
        """Return the integral at times of shape (n,), shape (n, n_channels).

        Horner's rule, channels first: long rows are faster.
        """
        piece = np.searchsorted(self.integral.x[1:-1], times_s, side="right")
        since_s = times_s - self.integral.x[piece]
        value, *lower = self.integral.c.take(piece, axis=1).swapaxes(1, 2).copy()
        for coefficients in lower:
            value *= since_s
            value += coefficients
        angles: Floats = value.T
        return angles

    def with_rate_at(self, times_s: Floats) -> tuple[Floats, Floats]:
        """Return the integral and the signal at times of shape (n,), shape (n, n_channels) each."""
        return self.at(times_s), np.asarray(self.integral(times_s, 1))

    def mixed(self, mixing: Floats) -> RunningIntegral:
        """Return the integral of r mixtures of these channels, with mixing of shape (d, r)."""
        return replace(
            self,
            integral=PPoly(self.integral.c @ mixing, self.integral.x),
            n_channels=mixing.shape[1],
            coupling_std=None,
            n_signals=None,
        )

    def covers(self, start_s: Floats, stop_s: Floats) -> Bools:
        """Return which intervals lie inside the range and touch no gap."""
        inside: Bools = (start_s >= self.start_s) & (stop_s <= self.stop_s)
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
    curve = _curve(times_s, values, is_smooth=is_smooth).antiderivative()
    return _through(curve, times_s, is_smooth=is_smooth)


def interpolate_angle(
    times_s: Floats, angles: Floats, *, is_smooth: bool = True
) -> RunningIntegral:
    """Interpolate a signal that is already an integral (an angle, a speed).

    As for `integrate_samples`, with values of the integral instead of samples.
    """
    if angles.shape[0] < 4:
        raise ValueError(f"an interpolation needs at least 4 samples, got {angles.shape[0]}")
    return _through(_curve(times_s, angles, is_smooth=is_smooth), times_s, is_smooth=is_smooth)


def smooth_angle(
    times_s: Floats, angles: Floats, *, width_s: float, gaps_s: tuple[Floats, Floats]
) -> RunningIntegral:
    """Draw a smooth curve near a noisy signal that is already an integral.

    A curve through the samples would carry their full noise at each of them and half of it in
    between, and whatever is matched to it would be biased towards the half. So straight lines from
    sample to sample are averaged three times over `width_s` (nearly a Gaussian; Wells, "Efficient
    synthesis of Gaussian filters by cascaded uniform filters", IEEE Trans. PAMI 8, 1986,
    doi:10.1109/TPAMI.1986.4767776): there is no phase shift, motion of frequency f is damped by
    ``sinc(f width)^3``, and the noise is the same everywhere.

    Parameters
    ----------
    times_s : ndarray, shape (n,)
        Strictly increasing, n >= 4.
    angles : ndarray, shape (n, d)
        Values of the integral.
    width_s : float
        Width of one average, at least the spacing of the samples.
    gaps_s : tuple of ndarray
        Starts and stops of gaps, which get wider by one and a half widths, as do the ends.

    Raises
    ------
    ValueError
        If the samples span less than four widths.
    """
    span_s = float(times_s[-1] - times_s[0])
    if span_s < 4.0 * width_s:
        raise ValueError(f"{span_s:.3g} s are too short for averages of {width_s:.3g} s")
    step_s = width_s / SMOOTH_STEPS
    grid_s = times_s[0] + step_s * np.arange(int(span_s / step_s) + 1)
    curve = np.stack([np.interp(grid_s, times_s, column) for column in angles.T], axis=1)
    for _ in range(3):
        curve = uniform_filter1d(curve, SMOOTH_STEPS, axis=0, mode="nearest")
    reach_s = 1.5 * width_s
    return RunningIntegral(
        integral=_curve(grid_s, curve, is_smooth=True),
        n_channels=angles.shape[1],
        start_s=float(grid_s[0]) + reach_s,
        stop_s=float(grid_s[-1]) - reach_s,
        gap_start_s=gaps_s[0] - reach_s,
        gap_stop_s=gaps_s[1] + reach_s,
        period_s=median(np.diff(times_s)),
    )


def _curve(times_s: Floats, values: Floats, *, is_smooth: bool) -> PPoly:
    """Return the curve through the samples: cubic, or linear from one to the next."""
    if is_smooth:
        return CubicSpline(times_s, values)
    slopes = np.diff(values, axis=0) / np.diff(times_s)[:, None]
    return PPoly(np.stack([slopes, values[:-1]]), times_s)


def _through(curve: PPoly, times_s: Floats, *, is_smooth: bool) -> RunningIntegral:
    """Return the integral of a curve through samples, with their gaps."""
    intervals = np.diff(times_s)
    period_s = median(intervals)
    # Bunched stamps have a tiny median; the mean keeps their pauses from being taken for gaps.
    usual_s = max(period_s, float(np.mean(intervals)) * 0.5)
    if not is_smooth:
        # The pauses between bunches, in which most of the time passes, are no gaps if frequent.
        ordered = np.sort(intervals)
        pause_s = ordered[np.searchsorted(np.cumsum(ordered), 0.5 * float(ordered.sum()))]
        if float(np.mean(intervals > 0.5 * pause_s)) > MIN_PAUSES:
            usual_s = max(usual_s, float(pause_s))
    is_gap = intervals > GAP_PERIODS * usual_s
    return RunningIntegral(
        integral=curve,
        n_channels=curve.c.shape[2],
        start_s=float(times_s[0]),
        stop_s=float(times_s[-1]),
        gap_start_s=times_s[:-1][is_gap],
        gap_stop_s=times_s[1:][is_gap],
        period_s=period_s,
    )
