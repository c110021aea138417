"""IMU against IMU: the same rotation, or the same specific force, seen twice (design 3.3)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from syncaudit.dsp.integral import RunningIntegral, integrate_samples
from syncaudit.estimators.delay import DelayTask, measure_delay
from syncaudit.estimators.increments import from_integral
from syncaudit.model import Activity, PairMeasurement, Quantity

__all__ = ["imu_integral", "measure_imu_imu"]

# Increments of at least this many sample periods make the answer immune to the sub-sample phase:
# the noise of the interpolation hardly depends on where between the samples it is evaluated.
PERIODS_PER_INCREMENT = 8
MIN_WIDTH_S = 0.02
# But bodies shake at 1 to 5 Hz, which wider increments blur: there three periods must do.
USUAL_WIDTH_S = 0.1
MIN_PERIODS_PER_INCREMENT = 3
# Neighbouring stamps this part of the median apart: a spline through them would swing.
MIN_REGULAR = 0.25


@lru_cache(maxsize=1)  # the bus and all cameras of a clip are held against the same gyroscope
def imu_integral(activity: Activity) -> RunningIntegral:
    """Integrate what an IMU measured."""
    intervals = np.diff(activity.times_s)
    is_smooth = bool(intervals.min() >= MIN_REGULAR * np.median(intervals))
    return integrate_samples(activity.times_s, activity.values, is_smooth=is_smooth)


def increment_width(period_s: float) -> float:
    """Return the width of increments of sensors of which the slower has this period."""
    usual_s = max(USUAL_WIDTH_S, MIN_PERIODS_PER_INCREMENT * period_s)
    return max(MIN_WIDTH_S, min(PERIODS_PER_INCREMENT * period_s, usual_s))


def measure_imu_imu(
    source: Activity, target: Activity, *, max_offset_s: float = 5.0, is_one_clock: bool = False
) -> PairMeasurement:
    """Measure two IMUs on one rigid body against each other.

    Parameters
    ----------
    source, target : Activity
        Angular rates, or specific forces, of three axes each; mounting may differ.
    max_offset_s : float
        Search range.
    is_one_clock : bool
        Whether both state the same clock.

    Returns
    -------
    PairMeasurement
        Method ``angular_rate`` or ``specific_force``.
    """
    is_rate = source.quantity is Quantity.ANGULAR_RATE
    period_s = max(float(np.median(np.diff(a.times_s))) for a in (source, target))
    task = DelayTask(
        source=source.source,
        target=target.source,
        method="angular_rate" if is_rate else "specific_force",
        source_epoch_ns=source.epoch_ns,
        target_epoch_ns=target.epoch_ns,
        max_offset_s=max_offset_s,
        is_one_clock=is_one_clock,
        expected_gain=(1.0, 180.0 / np.pi, np.pi / 180.0) if is_rate else (1.0, 9.81, 1.0 / 9.81),
    )
    increments = from_integral(
        imu_integral(source),
        width_s=increment_width(period_s),
    )
    return measure_delay(task, increments, imu_integral(target))
