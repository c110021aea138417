"""Knocks in accelerometers that average each sample, sample instantaneously or filter first."""

import numpy as np
import pytest
from scipy.signal import butter, sosfilt

from syncaudit.detectors.taps import find_taps
from syncaudit.model import Channel, Quantity, SourceKind
from testkit.streams import activity, signal_stream

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


def accelerometer(times_s, values):
    return activity("imu", Quantity.SPECIFIC_FORCE, times_s, values, epoch_ns=EPOCH_NS)


@pytest.mark.parametrize("rate_hz", [100.0, 400.0])
@pytest.mark.parametrize("force", [decaying, ringing])
def test_knocks_are_found_with_honest_errors(rate_hz, force):
    taps_s, times_s, values = knocks(rate_hz, force)
    found = find_taps(accelerometer(times_s, values))
    assert (found.source, found.quantity, found.epoch_ns) == ("imu", Quantity.CLICK, EPOCH_NS)
    assert found.times_s.size == taps_s.size
    late_s = found.times_s - taps_s
    claimed_s = np.hypot(found.std_s, found.systematic_std_s)
    assert np.mean(np.abs(late_s) < 1.96 * claimed_s) > 0.85
    assert np.max(found.std_s) < 0.4 / rate_hz


def test_streams_are_read_by_their_accelerometer():
    taps_s, times_s, values = knocks(200.0, decaying)
    time_ns = EPOCH_NS + np.round(times_s * 1e9).astype(np.int64)
    channel = Channel(name="accel", time_ns=time_ns, values=values)
    stream = signal_stream(SourceKind.IMU, time_ns, channel)
    found = find_taps(stream)
    late_s = found.times_s + (found.epoch_ns - EPOCH_NS) * 1e-9 - taps_s
    assert np.max(np.abs(late_s)) < 0.005


def test_rough_roads_do_not_knock():
    rng = np.random.default_rng(4)
    values = rng.normal((0.0, 0.0, 9.81), 1.5, (4000, 3))
    assert find_taps(accelerometer(np.arange(4000) / 200.0, values)).times_s.size == 0


def test_no_acceleration_is_no_evidence():
    assert find_taps(accelerometer(np.arange(5) / 100.0, np.zeros((5, 3)))) is None
    time_ns = EPOCH_NS + 10_000_000 * np.arange(50)
    gyro = Channel(name="gyro", time_ns=time_ns, values=np.zeros((50, 3)))
    stream = signal_stream(SourceKind.IMU, time_ns, gyro)
    assert find_taps(stream) is None


FINE_HZ = 32_000.0
# Order and corner frequency (relative to the sampling rate) of a typical anti-aliasing low-pass.
SAMPLINGS = (None, "average", (1, 0.45), (2, 0.4), (2, 0.25), (1, 0.2), (2, 0.1), (4, 0.45))


def sampled_rings(rng, *, rate_hz, ring_hz, damping, phase, noise, sampling, n_taps=24):
    """Return onsets and samples of damped two-axis rings; averages are stamped at their end."""
    taps_s = np.cumsum(rng.uniform(0.5, 1.1, n_taps))
    fine_s = np.arange(round((taps_s[-1] + 1.0) * FINE_HZ)) / FINE_HZ
    force = np.zeros((fine_s.size, 2))
    modes_hz = ring_hz * np.array([1.0, rng.uniform(0.6, 1.5)])
    gains = np.array([25.0, 25.0 * rng.uniform(0.0, 0.6)])
    for tap_s in taps_s:
        start = int(np.ceil(tap_s * FINE_HZ))
        age_s = fine_s[start : start + round(0.3 * FINE_HZ), None] - tap_s
        ring = np.sin(2.0 * np.pi * modes_hz * age_s + phase)
        ring *= np.exp(-damping * 2.0 * np.pi * ring_hz * age_s)
        force[start : start + age_s.size] += gains * np.exp(rng.normal(0.0, 0.4)) * ring
    times_s = np.arange(1.0 + rng.uniform(), fine_s[-1] * rate_hz) / rate_hz
    if sampling == "average":
        total = np.cumsum(force, axis=0) / FINE_HZ
        samples = (
            _at(times_s, fine_s, total) - _at(times_s - 1 / rate_hz, fine_s, total)
        ) * rate_hz
    else:
        if sampling is not None:
            order, corner = sampling
            low_pass = butter(order, corner * rate_hz, fs=FINE_HZ, output="sos")
            force = sosfilt(low_pass, force, axis=0)
        samples = _at(times_s, fine_s, force)
    values = samples @ np.array([[0.3, -0.2, -0.93], [0.8, 0.6, 0.1]]) + [0.0, 0.0, 9.81]
    return taps_s, accelerometer(times_s, values + rng.normal(0.0, noise, values.shape))


def _at(times_s, fine_s, values):
    return np.stack([np.interp(times_s, fine_s, column) for column in values.T], axis=1)


def error_of_all_knocks(rng, **world):
    """Return the mean error over a recording's knocks and its claimed error, in samples."""
    taps_s, force = sampled_rings(rng, **world)
    found = find_taps(force)
    if found.times_s.size < 5:
        return np.nan, np.nan
    late_s = found.times_s - taps_s[np.argmin(np.abs(taps_s[:, None] - found.times_s), axis=0)]
    own = np.abs(late_s) < 0.03
    random_s = np.median(found.std_s) / np.sqrt(np.count_nonzero(own))
    claimed_s = np.hypot(found.systematic_std_s, random_s)
    return np.mean(late_s[own]) * world["rate_hz"], claimed_s * world["rate_hz"]


def any_rig(rng, k):
    return {
        "rate_hz": 50.0 * 16.0 ** rng.uniform(),
        "ring_hz": 20.0 * 20.0 ** rng.uniform(),  # above the Nyquist frequency, too
        "damping": 0.02 * 20.0 ** rng.uniform(),
        "phase": rng.choice([0.0, 0.5 * np.pi, rng.uniform(0.0, 2.0 * np.pi)]),
        "noise": 0.02 * 15.0 ** rng.uniform(),
        "sampling": SAMPLINGS[k % len(SAMPLINGS)],
        "n_taps": int(rng.integers(8, 40)),
    }


def test_what_all_knocks_of_a_recording_have_in_common_is_claimed():
    found = np.array(
        [error_of_all_knocks(rng, **any_rig(rng, k)) for k, rng in enumerate(_rngs(120))]
    )
    error, claimed = found[np.isfinite(found[:, 0])].T
    z = error / claimed
    # 95 %, within the scatter of a hundred recordings.
    assert error.size > 80
    assert 0.90 <= np.mean(np.abs(z) < 1.96) <= 0.99
    assert abs(np.mean(z)) < 0.35
    assert 0.75 < np.std(z) < 1.3
    assert np.median(claimed) < 0.22


def _rngs(n):
    return [np.random.default_rng([7, k]) for k in range(n)]


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_a_ring_of_60_hz_at_200_hz_is_within_what_is_claimed(sampling):
    z = []
    for seed in range(4):
        error, claimed = error_of_all_knocks(
            np.random.default_rng(seed),
            rate_hz=200.0,
            ring_hz=60.0,
            damping=0.13,
            phase=0.0,
            noise=0.05,
            sampling=sampling,
        )
        z.append(error / claimed)
    assert np.max(np.abs(z)) < 2.6


def test_bodies_that_are_pushed_softly_are_dated_where_the_push_starts():
    z = []
    for seed in range(12):
        rng = np.random.default_rng([9, seed])
        rate_hz = rng.choice([100.0, 200.0, 400.0, 1000.0])
        taps_s = np.cumsum(rng.uniform(0.5, 1.1, 24))
        fine_s = np.arange(round((taps_s[-1] + 1.0) * FINE_HZ)) / FINE_HZ
        age_s = np.arange(round(0.3 * FINE_HZ))[:, None] / FINE_HZ
        modes_hz, sides = rng.uniform(15.0, 150.0, 3), rng.normal(size=(3, 3))
        ring = (np.exp(-age_s / 0.03) * np.sin(2.0 * np.pi * modes_hz * age_s)) @ sides
        push = np.sin(np.linspace(0.0, np.pi, round(rng.uniform(0.001, 0.005) * FINE_HZ)))
        knock = np.stack([np.convolve(side, push)[: age_s.size] for side in ring.T], axis=1)
        force = np.zeros((fine_s.size, 3))
        for tap_s in taps_s:
            start = int(np.ceil(tap_s * FINE_HZ))
            force[start : start + age_s.size] += 25.0 * knock / np.abs(knock).max()
        low_pass = butter(2, rng.uniform(0.2, 0.4) * rate_hz, fs=FINE_HZ, output="sos")
        times_s = np.arange(1.0 + rng.uniform(), fine_s[-1] * rate_hz) / rate_hz
        values = _at(times_s, fine_s, sosfilt(low_pass, force, axis=0))
        values += rng.normal((0.0, 0.0, 9.81), 0.05, values.shape)
        found = find_taps(accelerometer(times_s, values))
        late_s = found.times_s - taps_s[np.argmin(np.abs(taps_s[:, None] - found.times_s), axis=0)]
        claimed_s = np.hypot(found.systematic_std_s, np.median(found.std_s) / 24**0.5)
        z.append(np.median(late_s) / claimed_s)
    assert np.mean(np.abs(z) < 1.96) >= 10 / 12
    assert np.max(np.abs(z)) < 3.0
