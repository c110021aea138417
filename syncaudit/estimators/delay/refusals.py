"""When not to believe a delay: the tests that turn a number into "unobservable"."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.dsp.robust import hac_covariance
from syncaudit.estimators.delay.bands import BAND_ROWS, slow_motion
from syncaudit.estimators.delay.fit import DelayFit
from syncaudit.estimators.delay.near import MIN_PIECE_S, measure_near

__all__ = [
    "DRIFT_Z",
    "MAX_DRIFT_PPM",
    "MIN_LIKELIHOOD_GAP",
    "band_disagreement",
    "parts_of_equal_information",
    "why_ambiguous",
    "why_delay_wanders",
    "why_gain_is_off",
    "why_no_clock",
    "why_parts_disagree",
    "why_too_weak",
]

Floats = NDArray[np.float64]

# Log-likelihood by which the best lobe must beat the second (design 3.2).
MIN_LIKELIHOOD_GAP = 8.0
# And by this many standard deviations of what the noise of the target does to the second.
MAX_LOBE_Z = 4.0
# A second lobe that explains this much is as good as the first: what is left is not noise but how
# exactly the two sensors agree.
MAX_SECOND_SHARE = 0.98
# 2BT C / (1 - C): output signal-to-noise ratio below which correlation peaks are chance
# (Weiss & Weinstein, "Fundamental limitations in passive time delay estimation", 1983).
MIN_OUTPUT_SNR = 50.0
# Bands may differ by this many standard errors, and by this much in any case.
MAX_BAND_Z = 3.5
MAX_FILTER_Z = 4.0
# Quarters scatter around a line: reduced chi-square (chance: once in 20,000), what stamp jitter and
# rolling shutter make of it in any case, and the range in which it is wandering.
MAX_WANDER_CHI2 = 10.0
WANDER_FLOOR_S = 2e-4
MIN_WANDER_S = 7e-4
MAX_WANDER_S = 5e-3
# A quarter is that far from the answer: the best of four by chance once in 400,000 clips, and more
# than what else wanders.
MAX_PART_Z = 5.0
MIN_APART_S = 0.005
# Quarters of which so many show less than this share of the motion, by so many standard errors.
MIN_LESS = 2
MIN_GAIN_SHARE = 0.75
MAX_GAIN_Z = 4.0
BAND_FLOOR_S = 0.002
# A drift is told when it is this significant.
DRIFT_Z = 3.5
# Quartz keeps 200 ppm; frames counted at 30 Hz that come at 29.97 are 1,000 ppm apart, and what an
# RC oscillator times, as the output of cheap sensors, 1 to 2 %. Nothing that keeps time errs more.
MAX_DRIFT_PPM = 20_000.0


def why_ambiguous(
    best: float, runner_up: float, correlation_factor: float, n_values: int
) -> str | None:
    """Return why the search has no clear winner, or None.

    The noise of the target differs from lag to lag. Where the second lobe explains a share of the
    n values, chance alone moves its log-likelihood by up to that share of ``sqrt(n / 2)``; weak
    lobes share their noise with the best one and move less, by the square of the share.

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
    needed = MIN_LIKELIHOOD_GAP + MAX_LOBE_Z * share**2 * np.sqrt(0.5 * n_values)
    if gap >= needed and share <= MAX_SECOND_SHARE:
        return None
    return f"another delay fits almost as well (score {gap:.1f}, needs {needed:.0f})"


def why_too_weak(fit: DelayFit) -> str | None:
    """Return why the common signal is too weak, or None."""
    snr = fit.n_rows * fit.explained / max(1e-12, 1.0 - fit.explained) / fit.correlation_factor
    if snr >= MIN_OUTPUT_SNR:
        return None
    return (
        f"too little common motion: the target explains {100.0 * fit.explained:.0f} % of the "
        f"variation (signal-to-noise {snr:.0f}, needed {MIN_OUTPUT_SNR:g})"
    )


# Gains, source over target, that angles in degrees make.
_OF_DEGREES = {180.0 / math.pi: "the source", math.pi / 180.0: "the target"}
# Lenses whose field of view is assumed are known to half and double.
_SAME_UNIT = 2.0


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
        f"motion (stabilised picture, gimbal, wrong unit or another quantity){_unit_hint(gain)}"
    )


def _unit_hint(gain: float) -> str:
    """Return what makes a gain that is near the one of degrees for radians."""
    for unit, which in _OF_DEGREES.items():
        if unit / _SAME_UNIT < gain < unit * _SAME_UNIT:
            return (
                f". Angles of {which} in degrees would make a gain of {unit:.3g}: if that is it, "
                'state it in the manifest, such as "units": {"gyro": "deg/s"}'
            )
    return ""


def why_no_clock(figures: Mapping[str, float], *, most_ppm: float) -> str | None:
    """Return why the drift that was fitted is that of no clock, or None.

    Parameters
    ----------
    figures : mapping of str to float
        With ``drift_ppm`` and ``drift_std_ppm`` where a drift was fitted.
    most_ppm : float
        By how much the worst clocks of this kind run wrong.
    """
    drift_ppm, std_ppm = figures.get("drift_ppm", 0.0), figures.get("drift_std_ppm", 0.0)
    if abs(drift_ppm) <= max(most_ppm, DRIFT_Z * std_ppm):
        return None
    return (
        f"the delay changes by {drift_ppm:+.0f} ± {std_ppm:.0f} ppm, and no clock runs wrong by "
        f"more than {most_ppm:.0f} ppm: what fits is not one motion, or the stamps are made up"
    )


def parts_of_equal_information(driver: RunningIntegral, fit: DelayFit) -> list[DelayFit]:
    """Return fits of quarters of the information on a delay, those that can be measured alone.

    Of the time, some would be all rest, of which a picture shows nothing and a gyroscope its noise.
    """
    near_s = fit.offset_s - fit.row_shift_s
    told = np.cumsum(np.sum(fit.weights * fit.sensitivity**2, axis=1))
    borders = np.searchsorted(told, told[-1] * np.array([0.25, 0.5, 0.75]))
    rows = (fit.model.rows.rows(part) for part in np.split(np.arange(told.size), borders))
    fits = (measure_near(part, driver, near_s) for part in rows)
    return [part for part in fits if part is not None]


def why_parts_disagree(
    parts: list[DelayFit], fit: DelayFit, answer: Callable[[float], tuple[float, float]]
) -> str | None:
    """Return which part of a clip is at another delay than the answer, or None.

    A fit by robust weights may be that of most of a clip: what the rest says is lost on it.

    Parameters
    ----------
    parts : list of DelayFit
        As of `parts_of_equal_information`.
    fit : DelayFit
        Of all: residuals hang together in a part as they do in all, which few rows tell badly.
    answer : callable
        The delay that is answered, with its drift, at an instant, and its standard error.
    """
    for part in parts:
        answer_s, answer_std_s = answer(part.anchor_s)
        apart_s = part.offset_s - answer_s
        wider = np.sqrt(max(1.0, fit.correlation_factor / part.correlation_factor))
        std_s = math.hypot(wider * part.offset_std_s, answer_std_s, WANDER_FLOOR_S)
        if part.span_s >= MIN_PIECE_S and abs(apart_s) > max(MAX_PART_Z * std_s, MIN_APART_S):
            return (
                f"{part.span_s:.0f} s of it, about {part.anchor_s:.0f} s, say {1e3 * apart_s:+.0f} "
                f"± {1e3 * std_s:.0f} ms more than all, and neither a step nor a drift explains "
                "that: lost frames, a gimbal or a stabilised picture"
            )
    return None


def why_delay_wanders(parts: list[DelayFit], fit: DelayFit) -> str | None:
    """Return how the delay wanders through the clip, or None.

    A clock shows one delay in all parts, or a straight line. A gimbal or a stabiliser has a delay
    that depends on the motion: its parts scatter by milliseconds around any line, many times more
    than their errors. Scatter beyond that is lost frames, which the measurement of drift and steps
    deals with.

    Parameters
    ----------
    parts : list of DelayFit
        As of `parts_of_equal_information`.
    fit : DelayFit
        Of all.
    """
    if len(parts) < 4:
        return None
    times = np.array([part.anchor_s for part in parts])
    delays = np.array([part.offset_s for part in parts])
    std = np.hypot([part.offset_std_s for part in parts], WANDER_FLOOR_S)
    share = np.array([part.gain for part in parts]) / fit.gain
    share_std = np.array([_gain_std(part) for part in parts]) / fit.gain
    is_less = share < np.minimum(MIN_GAIN_SHARE, 1.0 - MAX_GAIN_Z * share_std)
    if np.count_nonzero(is_less) >= MIN_LESS:
        return (
            f"parts of it show {100.0 * share.min():.0f} % of the motion that others show: what "
            "rides on one rigid body sees all of it always (stabilised picture, gimbal)"
        )
    line = np.polyfit(times - times.mean(), delays, 1, w=1.0 / std)
    off = delays - np.polyval(line, times - times.mean())
    chi2_reduced = float(np.sum((off / std) ** 2)) / 2.0
    scatter_s = float(np.sqrt(np.mean(off**2) * 2.0))  # two of four degrees of freedom are left
    if chi2_reduced < MAX_WANDER_CHI2 or not MIN_WANDER_S < scatter_s < MAX_WANDER_S:
        return None
    return (
        f"the delay wanders by {1e3 * scatter_s:.1f} ms from quarter to quarter of it, beside "
        "any steady drift: it depends on the motion, as in a gimbal or a stabilised picture, and "
        "is not that of a clock"
    )


def _gain_std(fit: DelayFit) -> float:
    """Return the standard error of a gain: its square over that of one is noise over signal."""
    explained = min(max(fit.explained, 1e-6), 1.0 - 1e-6)
    share = (1.0 - explained) / (explained * fit.residuals.size) * fit.correlation_factor
    return float(fit.gain * np.sqrt(share))


def band_disagreement(fit: DelayFit, *, systematic_std_s: float = 0.0) -> str | None:
    """Return how slow and fast motion disagree about the delay, or None.

    The residuals are split along time into a moving average over six increments and the rest;
    each part alone corrects the delay by a linear step. A true delay is the same in both; a filter
    or a different physical quantity is not.

    Parameters
    ----------
    fit : DelayFit
        The delay.
    systematic_std_s : float
        What filters inside a sensor may do to the delay anyhow.
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
