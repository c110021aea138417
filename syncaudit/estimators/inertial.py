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


@lru_cache(maxsize=1)  # the bus and all cameras of a clip are held against the same gyroscope
def imu_integral(activity: Activity) -> RunningIntegral:
    """Integrate what an IMU measured."""
    return integrate_samples(activity.times_s, activity.values, is_smooth=True)


def measure_imu_imu(
    source: Activity, target: Activity, *, max_offset_s: float = 5.0
) -> PairMeasurement:
    """Measure two IMUs on one rigid body against each other.

    Parameters
    ----------
    source, target : Activity
        Angular rates, or specific forces, of three axes each; mounting may differ.
    max_offset_s : float
        Search range.

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
        expected_gain=(1.0, 180.0 / np.pi, np.pi / 180.0) if is_rate else (1.0, 9.81, 1.0 / 9.81),
    )
    increments = from_integral(
        imu_integral(source),
        width_s=max(MIN_WIDTH_S, PERIODS_PER_INCREMENT * period_s),
    )
    return measure_delay(task, increments, imu_integral(target))
