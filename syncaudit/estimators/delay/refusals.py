"""Refuse unreliable delays: the tests that turn a number into "unobservable"."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from scipy.ndimage import uniform_filter1d

from syncaudit.dsp.robust import hac_covariance
from syncaudit.estimators.delay.fit import DelayFit
from syncaudit.model.arrays import Floats

# Log-likelihood by which the best lobe must beat the second (design 3.2).
MIN_LIKELIHOOD_GAP = 8.0
# Plus this many standard deviations of the effect of the target's noise on the second.
MAX_LOBE_Z = 4.0
# What a lobe leaves unexplained is not noise alone but reflects how exactly the two sensors agree:
# to no less than `MIN_LEFT`. A second lobe that leaves less than `MAX_LEFT` is as good as the first
# unless it leaves this many times as much.
MAX_LEFT, MIN_LEFT = 0.02, 0.005
MIN_TIMES_LEFT = 2.0
# 2BT C / (1 - C): output signal-to-noise ratio below which correlation peaks are chance
# (Weiss & Weinstein, "Fundamental limitations in passive time delay estimation", 1983).
MIN_OUTPUT_SNR = 50.0
# Slow and fast motion may differ by this many standard errors, and by this much in any case.
MAX_BAND_Z = 3.5
MAX_FILTER_Z = 4.0
BAND_FLOOR_S = 0.002
# Increments that slow motion is averaged over.
BAND_ROWS = 6
# A drift is reported when it is this significant.
DRIFT_Z = 3.5
# Quartz stays within 200 ppm; frames counted at 30 Hz that come at 29.97 Hz are off by 1,000 ppm,
# and anything timed by an RC oscillator, such as the output of cheap sensors, by 1 to 2 %. No clock
# is worse.
MAX_DRIFT_PPM = 20_000.0

# Gains, source over target, that result from angles in degrees.
_OF_DEGREES = {180.0 / math.pi: "the source", math.pi / 180.0: "the target"}
# Lenses whose field of view is assumed are known to within a factor of two.
_SAME_UNIT = 2.0


def why_ambiguous(
    best: float, runner_up: float, correlation_factor: float, n_values: int
) -> str | None:
    """Return why the search has no clear winner, or None.

    The noise of the target differs from lag to lag. Where the second lobe explains a share of the
    n values, chance alone changes its log-likelihood by up to that share of ``sqrt(n / 2)``; weak
    lobes share their noise with the best one and change less, by the square of the share.

    Parameters
    ----------
    best, runner_up : float
        Log-likelihood gain of the two best lobes.
    correlation_factor : float
        Correlated residuals count for less: the gap is divided by it.
    n_values : int
        Values that the log-likelihood sums over.
    """
    gap = (best - runner_up) / correlation_factor
    share = -np.expm1(-2.0 * max(0.0, runner_up) / n_values)
    least = min(MAX_LEFT, MIN_TIMES_LEFT * max(MIN_LEFT, np.exp(-2.0 * max(0.0, best) / n_values)))
    needed = MIN_LIKELIHOOD_GAP + MAX_LOBE_Z * share**2 * np.sqrt(0.5 * n_values)
    if gap < needed:
        why = f"score {gap:.1f}; at least {needed:.0f} is needed"
    elif 1.0 - share < least:
        why = f"it explains {100.0 * share:.1f} % of the motion, which is nearly periodic"
    else:
        return None
    return f"another delay fits almost as well ({why})"


def why_too_weak(fit: DelayFit) -> str | None:
    """Return why the common signal is too weak, or None."""
    snr = fit.n_rows * fit.explained / max(1e-12, 1.0 - fit.explained) / fit.correlation_factor
    if snr >= MIN_OUTPUT_SNR:
        return None
    return (
        f"too little common motion: the target explains {100.0 * fit.explained:.0f} % of the "
        f"variation (signal-to-noise {snr:.0f}, at least {MIN_OUTPUT_SNR:g})"
    )


def why_gain_is_off(
    gain: float, *, expected: tuple[float, ...], lowest: float, highest: float
) -> str | None:
    """Return why the size of the motion does not fit, or None."""
    if any(lowest <= gain / unit <= highest for unit in expected):
        return None
    return (
        f"gain {gain:.3g} is outside [{lowest:g}, {highest:g}] of the expected "
        f"{' or '.join(f'{unit:.3g}' for unit in expected)}: the two do not measure the same "
        f"motion (stabilised image, gimbal, wrong unit or another quantity){_unit_hint(gain)}"
    )


def _unit_hint(gain: float) -> str:
    """Return a hint if the gain is near that of degrees taken for radians, else nothing."""
    for unit, which in _OF_DEGREES.items():
        if unit / _SAME_UNIT < gain < unit * _SAME_UNIT:
            return (
                f". Angles of {which} in degrees would give a gain of {unit:.3g}: if so, "
                'state it in the manifest, such as "units": {"gyro": "deg/s"}'
            )
    return ""


def why_no_clock(figures: Mapping[str, float], *, most_ppm: float) -> str | None:
    """Return why the drift in `figures`, if fitted, cannot be that of a clock, or None.

    `most_ppm`: rate error of the worst clocks of this kind.
    """
    drift_ppm, std_ppm = figures.get("drift_ppm", 0.0), figures.get("drift_std_ppm", 0.0)
    if abs(drift_ppm) <= max(most_ppm, DRIFT_Z * std_ppm):
        return None
    return (
        f"the delay changes by {drift_ppm:+.0f} ± {std_ppm:.0f} ppm, and no clock is off by more "
        f"than {most_ppm:.0f} ppm: the match is not one motion, or the timestamps are synthetic"
    )


def band_disagreement(fit: DelayFit, *, systematic_std_s: float = 0.0) -> str | None:
    """Return how slow and fast motion disagree about the delay, or None.

    The residuals are split along time into a moving average over six increments and the rest;
    each part alone corrects the delay by a linear step. A true delay is the same in both; that of a
    filter or of a different physical quantity is not. `systematic_std_s`: known effect of filters
    inside a sensor.
    """
    parts = []
    weights = fit.weights
    slow = slow_motion(np.stack([fit.sensitivity, fit.residuals]), weights)
    for sensitivity, residuals in (slow, (fit.sensitivity - slow[0], fit.residuals - slow[1])):
        information = float(np.sum(weights * sensitivity**2))
        if information <= 0.0:
            return None
        scores = np.sum(weights * sensitivity * residuals, axis=1)[:, None]
        n_lags = BAND_ROWS + int(1.5 * fit.n_rows ** (1.0 / 3.0))
        variance = float(hac_covariance(scores, n_lags=n_lags)[0, 0]) / information**2
        parts.append((float(scores.sum()) / information, variance))
    (slow_s, slow_var), (fast_s, fast_var) = parts
    difference_s = slow_s - fast_s
    std_s = np.sqrt(slow_var + fast_var)
    floor_s = max(BAND_FLOOR_S, MAX_FILTER_Z * systematic_std_s)
    if abs(difference_s) <= max(MAX_BAND_Z * std_s, floor_s):
        return None
    return (
        f"slow and fast motion disagree by {1e3 * difference_s:.1f} ± {1e3 * std_s:.1f} ms: "
        "the two do not measure the same motion"
    )


def slow_motion(sides: Floats, weights: Floats) -> Floats:
    """Return moving averages over `BAND_ROWS` increments; the remainder is fast motion.

    Rows are weighted, because those that the fit rejects would blur their neighbours.

    Parameters
    ----------
    sides : ndarray, shape (k, n, m)
        Values, averaged along the second axis.
    weights : ndarray, shape (n, m)
        Of the fit.
    """
    weights = np.maximum(weights, 1e-12 * weights.max())
    slow = uniform_filter1d(weights * sides, BAND_ROWS, axis=1, mode="nearest")
    return slow / uniform_filter1d(weights, BAND_ROWS, axis=0, mode="nearest")
