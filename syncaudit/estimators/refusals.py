"""When not to believe a delay: the tests that turn a number into "unobservable"."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.dsp.robust import hac_covariance
from syncaudit.estimators.delay_fit import DelayFit
from syncaudit.estimators.delay_search import slow_basis
from syncaudit.estimators.increments import Increments

__all__ = [
    "band_disagreement",
    "why_ambiguous",
    "why_gain_is_off",
    "why_too_weak",
]

Floats = NDArray[np.float64]

# Log-likelihood by which the best lobe must beat the second (design 3.2).
MIN_LIKELIHOOD_GAP = 8.0
# 2BT C / (1 - C): output signal-to-noise ratio below which correlation peaks are chance
# (Weiss & Weinstein, "Fundamental limitations in passive time delay estimation", 1983).
MIN_OUTPUT_SNR = 50.0
# Bands may differ by this many standard errors, and by this much in any case.
MAX_BAND_Z = 3.0
# Slow rotation (rad/s, rms) that must be there to be missed, and the share that must be seen.
MIN_SLOW_RATE = 0.02
MIN_SLOW_SHARE = 0.5
BAND_FLOOR_S = 0.002
BAND_ROWS = 6


def why_ambiguous(best: float, runner_up: float, correlation_factor: float) -> str | None:
    """Return why the search has no clear winner, or None.

    Parameters
    ----------
    best, runner_up : float
        Log-likelihood gain of the two best lobes.
    correlation_factor : float
        Correlated residuals count for less: the gap is divided by it.
    """
    gap = (best - runner_up) / correlation_factor
    if gap >= MIN_LIKELIHOOD_GAP:
        return None
    return (
        f"another delay fits almost as well: log-likelihood gap {gap:.1f}, "
        f"needed {MIN_LIKELIHOOD_GAP:g}"
    )


def why_too_weak(fit: DelayFit) -> str | None:
    """Return why the common signal is too weak, or None."""
    snr = fit.n_rows * fit.explained / max(1e-12, 1.0 - fit.explained) / fit.correlation_factor
    if snr >= MIN_OUTPUT_SNR:
        return None
    return (
        f"too little common motion: the target explains {100.0 * fit.explained:.0f} % of the "
        f"variation (signal-to-noise {snr:.0f}, needed {MIN_OUTPUT_SNR:g})"
    )


def why_gain_is_off(
    gain: float, *, expected: tuple[float, ...], lowest: float, highest: float
) -> str | None:
    """Return why the size of the motion does not fit, or None.

    Parameters
    ----------
    gain : float
        Fitted over driving signal.
    expected : tuple of float
        Gains that units could explain.
    lowest, highest : float
        Accepted range of gain over expected gain.
    """
    if any(lowest <= gain / unit <= highest for unit in expected):
        return None
    return (
        f"gain {gain:.3g} is outside [{lowest:g}, {highest:g}] of the expected "
        f"{' or '.join(f'{unit:.3g}' for unit in expected)}: the two do not measure the same "
        "motion (stabilised picture, gimbal, wrong unit or another quantity)"
    )


def why_slow_motion_is_missing(
    increments: Increments, driver: RunningIntegral, fit: DelayFit
) -> str | None:
    """Return how a camera fails to follow slow rotation, or None.

    A gimbal or a stabiliser takes out slow rotation and lets fast rotation through, late. The
    slow part of the rates (periods of eight seconds and more, means aside) must be as large in
    the picture as in the gyroscope; translation can only add to it.
    """
    start_s, stop_s = increments.start_s[:, 0], increments.stop_s[:, 0]
    delay_s = fit.offset_s - fit.row_shift_s
    covered = driver.covers(start_s + delay_s, stop_s + delay_s)
    start_s, stop_s = start_s[covered], stop_s[covered]
    width_s = (stop_s - start_s)[:, None]
    turned = (driver.at(stop_s + delay_s) - driver.at(start_s + delay_s)) / width_s
    seen = increments.values[covered] / width_s
    mid_s = 0.5 * (start_s + stop_s)
    basis, _ = np.linalg.qr(slow_basis(mid_s, float(np.ptp(mid_s))))
    # The first column is the constant: the gyroscope's bias.
    slow = [float(np.sqrt(np.sum((basis[:, 1:].T @ x) ** 2) / mid_s.size)) for x in (seen, turned)]
    if slow[1] < MIN_SLOW_RATE or slow[0] > MIN_SLOW_SHARE * slow[1]:
        return None
    return (
        f"the picture shows {100.0 * slow[0] / slow[1]:.0f} % of the slow rotation that the "
        f"gyroscope felt ({np.degrees(slow[1]):.1f} deg/s): it hangs in a gimbal or is stabilised, "
        "and its delay is not that of the clock"
    )


def band_disagreement(fit: DelayFit) -> str | None:
    """Return how slow and fast motion disagree about the delay, or None.

    The residuals are split along time into a moving average over six increments and the rest;
    each part alone corrects the delay by a linear step. A true delay is the same in both; a filter
    or a different physical quantity is not.
    """
    parts = []
    for is_slow in (True, False):
        sensitivity = _band(fit.sensitivity, is_slow=is_slow)
        residuals = _band(fit.residuals, is_slow=is_slow)
        weights = fit.weights
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
    if abs(difference_s) <= max(MAX_BAND_Z * std_s, BAND_FLOOR_S):
        return None
    return (
        f"slow and fast motion disagree by {1e3 * difference_s:.1f} ± {1e3 * std_s:.1f} ms: "
        "the two do not measure the same motion"
    )


def _band(columns: Floats, *, is_slow: bool) -> Floats:
    kernel = np.ones(BAND_ROWS) / BAND_ROWS
    slow = np.stack([np.convolve(column, kernel, mode="same") for column in columns.T], axis=1)
    return slow if is_slow else columns - slow
