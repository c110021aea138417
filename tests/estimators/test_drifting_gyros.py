"""Gyroscopes with drifting clocks: closed-form truth, fixed seeds."""

from dataclasses import replace

import numpy as np
import pytest

from syncaudit.estimators.inertial import measure_imu_imu
from testkit.moving_body import EPOCH_NS, Clock, Motion, imu, resting, shaking, z_of

REACH_S = 0.3


@pytest.mark.parametrize("drift_ppm", [200.0, -200.0])
@pytest.mark.parametrize("seed", range(3))
def test_drift_is_measured_from_either_side(seed, drift_ppm):
    """A changing delay differs between instants, without any fault of either side."""
    clock = Clock(drift_ppm=drift_ppm, middle_s=10.0)
    # the motion comes late, so that the evidence of the two sides has different middles
    head, wrist = resting(seed)
    found = measure_imu_imu(
        replace(head, times_s=clock.reads(head.times_s)), wrist, max_offset_s=REACH_S
    )
    assert found.accepted
    assert "both_ways_s" not in found.diagnostics
    assert abs(found.drift_ppm + drift_ppm) < 3.5 * found.drift_std_ppm


@pytest.mark.parametrize("drift_ppm", [0.0, 80.0, -200.0])
def test_logger_that_feels_no_vibration(drift_ppm):
    """A slow logger's filter removes vibration that the other gyroscope sees between its samples.

    The steps of the fit used to be four times too small, and it stopped before convergence.
    """
    z, z_of_drift = [], []
    for seed in range(5):
        slow, shake = shaking(seed), shaking(seed, lowest_hz=15.0, highest_hz=70.0, rms=0.15)
        both = Motion(
            hz=np.concatenate([slow.hz, shake.hz]),
            size=np.concatenate([slow.size, shake.size], axis=1),
            phase=np.concatenate([slow.phase, shake.phase], axis=1),
        )
        clock = Clock(drift_ppm=drift_ppm, middle_s=60.0)
        logger = imu(slow, seed, name="logger", rate_hz=25.0, seconds=120.0, clock=clock)
        gyro = imu(both, seed + 1000, seconds=120.0)
        found = measure_imu_imu(logger, gyro, max_offset_s=REACH_S)
        assert found.accepted
        at_s = (found.at_ns - EPOCH_NS) * 1e-9
        z.append(z_of(found, -1e-6 * drift_ppm * (at_s - 60.0)))
        z_of_drift.append((found.drift_ppm + drift_ppm) / found.drift_std_ppm)
    assert np.sqrt(np.mean(np.square(z))) < 1.6
    assert np.sqrt(np.mean(np.square(z_of_drift))) < 1.6
