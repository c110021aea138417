"""Measure IMU against IMU by the rotation, or specific force, that both sense (design 3.3)."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from syncaudit.dsp.integral import RunningIntegral, integrate_samples
from syncaudit.estimators.delay.fit import fit_delay
from syncaudit.estimators.delay.increments import Increments, from_integral
from syncaudit.estimators.delay.measure import measure_delay
from syncaudit.estimators.delay.record import DelayTask, refuse_vague
from syncaudit.estimators.rotation.mount import why_not_turned
from syncaudit.model import Activity, PairMeasurement, Quantity

# Increments of at least this many sample periods make the result insensitive to the sub-sample
# phase: the noise of the interpolation hardly depends on where between samples it is evaluated.
PERIODS_PER_INCREMENT = 8
MIN_WIDTH_S = 0.02
# But bodies shake at 1 to 5 Hz, which wider increments blur: there three periods must suffice.
USUAL_WIDTH_S = 0.1
MIN_PERIODS_PER_INCREMENT = 3
# If neighbouring timestamps are closer than this part of the median interval, a spline through them
# would oscillate.
MIN_REGULAR = 0.25
# The two directions differ by at most this many standard errors; else their difference is the
# error.
MAX_APART_Z = 2.0


@lru_cache(maxsize=1)  # the bus and all cameras of a clip are compared with the same gyroscope
def imu_integral(activity: Activity) -> RunningIntegral:
    """Integrate the measurements of an IMU."""
    intervals = np.diff(activity.times_s)
    is_smooth = bool(intervals.min() >= MIN_REGULAR * np.median(intervals))
    return integrate_samples(activity.times_s, activity.values, is_smooth=is_smooth)


def _increment_width(period_s: float) -> float:
    """Return the width of increments for two sensors, given the period of the slower one."""
    usual_s = max(USUAL_WIDTH_S, MIN_PERIODS_PER_INCREMENT * period_s)
    return max(MIN_WIDTH_S, min(PERIODS_PER_INCREMENT * period_s, usual_s))


def measure_imu_imu(
    source: Activity, target: Activity, *, max_offset_s: float = 5.0, is_one_clock: bool = False
) -> PairMeasurement:
    """Measure two IMUs on one rigid body, whose mounting may differ, against each other.

    By angular rates or specific forces of three axes each, which is also the method. Options as in
    `DelayTask`.
    """
    is_rate = source.quantity is Quantity.ANGULAR_RATE
    period_s = max(float(np.median(np.diff(a.times_s))) for a in (source, target))
    width_s = _increment_width(period_s)
    task = DelayTask.between(
        source,
        target,
        "angular_rate" if is_rate else "specific_force",
        max_offset_s,
        is_one_clock=is_one_clock,
        why_not_fixed=why_not_turned if is_rate else None,
        expected_gain=(1.0, 180.0 / np.pi, np.pi / 180.0) if is_rate else (1.0, 9.81, 1.0 / 9.81),
        # Increments contain nothing faster than their width: nearer peaks are noise between
        # samples.
        lobe_s=width_s,
    )
    signals = imu_integral(source), imu_integral(target)
    measured = measure_delay(task, from_integral(signals[0], width_s=width_s), signals[1])
    if not measured.accepted or measured.step_s is not None:
        return measured
    back = from_integral(signals[1], width_s=width_s)
    return _both_ways(task, measured, back, signals[0])


def _both_ways(
    task: DelayTask, measured: PairMeasurement, back: Increments, driver: RunningIntegral
) -> PairMeasurement:
    """Return a measurement that accounts for the reverse one, of the target against the source.

    The two share nearly all of their noise: they differ by one sigma in one pair of a hundred,
    unless a fit has found a different optimum. Either may be the right one then, and the drift is
    worthless.
    """
    offset_s, std_s = measured.offset_s or 0.0, measured.offset_std_s or 0.0
    delay_s = offset_s - task.epochs_s
    at_s = (measured.at_ns - task.source_epoch_ns) * 1e-9
    fit = fit_delay(back, driver, start_s=-delay_s)
    if fit is not None and measured.drift_ppm is not None:
        fit = fit_delay(back, driver, start_s=fit.offset_s, with_drift=True, known=fit)
    if fit is None:
        return measured.withdrawn("seen from the target's side, no motion is visible to both")
    drift = 1e-6 * (measured.drift_ppm or 0.0)
    apart_s = fit.offset_s + delay_s + drift * (fit.anchor_s + fit.offset_s - at_s)
    if abs(apart_s) <= MAX_APART_Z * math.hypot(std_s, fit.offset_std_s):
        return measured
    wider = replace(
        measured,
        offset_std_s=math.hypot(std_s, apart_s),
        drift_ppm=None,
        drift_std_ppm=None,
        diagnostics={**measured.diagnostics, "both_ways_s": abs(apart_s)},
    )
    return refuse_vague(wider)
