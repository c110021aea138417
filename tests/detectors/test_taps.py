"""Knocks in an accelerometer that averages over each sample."""

import numpy as np
import pytest

from syncaudit.detectors.taps import find_taps
from syncaudit.model import Activity, Channel, Quantity, SignalStream, SourceKind

EPOCH_NS = 1_767_225_600_000_000_000
FINE = 32


def decaying(age_s):
    return 30.0 * np.exp(-age_s / 0.008)


def ringing(age_s):
    return 30.0 * np.exp(-age_s / 0.03) * np.sin(2.0 * np.pi * 40.0 * age_s)


def knocks(rate_hz, force, *, n_taps=24, seed=1, road=0.05):
    rng = np.random.default_rng(seed)
    taps_s = np.cumsum(rng.uniform(0.5, 1.1, n_taps))
    n = round((taps_s[-1] + 1.0) * rate_hz)
    age_s = np.arange(n * FINE)[:, None] / (FINE * rate_hz) - taps_s
    fine = np.where((age_s >= 0.0) & (age_s < 0.3), force(np.maximum(age_s, 0.0)), 0.0).sum(axis=1)
    knock = fine.reshape(n, FINE).mean(axis=1)
    values = knock[:, None] * np.array([0.3, 0.2, 0.9]) + [0.0, 0.0, 9.81]
    values += rng.normal(0.0, road, (n, 3))
    return taps_s, (np.arange(n) + 1) / rate_hz, values


def activity(times_s, values):
    return Activity(
        source="imu",
        quantity=Quantity.SPECIFIC_FORCE,
        epoch_ns=EPOCH_NS,
        times_s=times_s,
        values=values,
    )


@pytest.mark.parametrize("rate_hz", [100.0, 400.0])
@pytest.mark.parametrize("force", [decaying, ringing])
def test_knocks_are_found_with_honest_errors(rate_hz, force):
    taps_s, times_s, values = knocks(rate_hz, force)
    found = find_taps(activity(times_s, values))
    assert (found.source, found.quantity, found.epoch_ns) == ("imu", Quantity.CLICK, EPOCH_NS)
    assert found.times_s.size == taps_s.size
    late_s = found.times_s - taps_s
    assert np.mean(np.abs(late_s) < 1.96 * found.std_s) > 0.85
    assert np.max(found.std_s) < 0.4 / rate_hz
    assert np.all(found.strengths > 10.0)


def test_streams_are_read_by_their_accelerometer():
    taps_s, times_s, values = knocks(200.0, decaying)
    time_ns = EPOCH_NS + np.round(times_s * 1e9).astype(np.int64)
    channel = Channel(name="accel", time_ns=time_ns, values=values)
    stream = SignalStream(
        name="imu", clock="imu", kind=SourceKind.IMU, time_ns=time_ns, channels=(channel,)
    )
    found = find_taps(stream)
    late_s = found.times_s + (found.epoch_ns - EPOCH_NS) * 1e-9 - taps_s
    assert np.max(np.abs(late_s)) < 0.005


def test_rough_roads_do_not_knock():
    rng = np.random.default_rng(4)
    values = rng.normal((0.0, 0.0, 9.81), 1.5, (4000, 3))
    assert find_taps(activity(np.arange(4000) / 200.0, values)).times_s.size == 0


def test_no_acceleration_is_no_evidence():
    assert find_taps(activity(np.arange(5) / 100.0, np.zeros((5, 3)))) is None
    time_ns = EPOCH_NS + 10_000_000 * np.arange(50)
    gyro = Channel(name="gyro", time_ns=time_ns, values=np.zeros((50, 3)))
    stream = SignalStream(
        name="imu", clock="imu", kind=SourceKind.IMU, time_ns=time_ns, channels=(gyro,)
    )
    assert find_taps(stream) is None
