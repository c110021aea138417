"""IMU and CAN channels become clean activities in SI units."""

import math

import numpy as np
import pytest

from syncaudit.detectors.signals import detect_motion, quantity_of
from syncaudit.model import Channel, Quantity, SourceKind
from testkit.streams import signal_stream

EPOCH_NS = 1_767_225_600_000_000_000


def found(name="yaw_rate", unit="", time_ns=None, values=None):
    time_ns = EPOCH_NS + 10_000_000 * np.arange(20) if time_ns is None else time_ns
    values = np.arange(len(time_ns), dtype=float)[:, None] if values is None else values
    channel = Channel(name=name, time_ns=time_ns, values=values, unit=unit)
    stream = signal_stream(SourceKind.CAN, time_ns, channel)
    return detect_motion(stream)


@pytest.mark.parametrize(
    ("channel", "quantity"),
    [
        ("gyro", Quantity.ANGULAR_RATE),
        ("accel", Quantity.SPECIFIC_FORCE),
        ("wheel_speed_fl", Quantity.WHEEL_SPEED),
        ("wheel_speed", Quantity.WHEEL_SPEED),
        ("lateral_accel", Quantity.LATERAL_ACCEL),
        ("temperature", None),
    ],
)
def test_channels_have_quantities(channel, quantity):
    assert quantity_of(channel) == quantity


@pytest.mark.parametrize(
    ("unit", "factor"),
    [
        ("km/h", 1 / 3.6),
        (" KM/H ", 1 / 3.6),
        ("mph", 0.44704),
        ("deg/s", math.pi / 180),
        ("°/s", math.pi / 180),
        ("g", 9.80665),
        ("m/s", 1.0),
        ("m/s^2", 1.0),
        ("", None),
        ("furlong", None),
    ],
)
def test_units_become_si(unit, factor):
    (activity,) = found(unit=unit)
    assert activity.is_si is (factor is not None)
    factor = 1.0 if factor is None else factor
    assert np.max(np.abs(activity.values[:, 0] - factor * np.arange(20))) < 1e-12


def test_channels_without_motion_are_left_out():
    assert found(name="temperature") == []


@pytest.mark.parametrize("n", [0, 1, 7])
def test_seven_samples_are_too_few(n):
    assert found(time_ns=EPOCH_NS + np.arange(n)) == []


def test_samples_that_no_sensor_gives_are_left_out():
    values = np.arange(20.0)[:, None].copy()
    values[[3, 8, 12], 0] = np.nan, np.inf, -3.4e38
    (activity,) = found(values=values)
    assert activity.values[:, 0].tolist() == [k for k in range(20) if k not in (3, 8, 12)]


def test_mostly_broken_channel_is_left_out():
    values = np.full((20, 1), np.nan)
    values[:7] = 1.0
    assert found(values=values) == []


def test_samples_not_after_their_predecessors_are_left_out():
    step = np.array([0, 1, 2, 3, 3, 2, 4, 9, 5, 6, 10, 11, 12, 13])
    (activity,) = found(time_ns=EPOCH_NS + 10_000_000 * step)
    kept = activity.times_s - activity.times_s[0]
    assert np.max(np.abs(kept - 0.01 * np.array([0, 1, 2, 3, 4, 9, 10, 11, 12, 13]))) < 1e-12


@pytest.mark.parametrize("step_ns", [8_000_000, 20_000_000])
def test_stamps_rounded_more_coarsely_than_samples_come_shift_nothing(step_ns):
    exact = 1_000_000 * np.arange(4000)
    time_ns = EPOCH_NS + (exact + step_ns // 2) // step_ns * step_ns
    (activity,) = found(time_ns=time_ns, values=1e-9 * exact[:, None].astype(float))
    since_s = activity.times_s + (activity.epoch_ns - EPOCH_NS) * 1e-9
    # A half-sample shift is left: an even number of samples shares a timestamp.
    assert np.abs(activity.values[5:-5, 0] - since_s[5:-5]).max() <= 0.5e-3 + 1e-9


def test_one_stamp_forty_days_off_costs_one_sample():
    time_ns = EPOCH_NS + 10_000_000 * np.arange(20)
    time_ns[0] -= 40 * 86_400 * 10**9
    (activity,) = found(time_ns=time_ns)
    assert activity.times_s.size == 19


def test_stamps_that_only_fall_leave_nothing():
    assert found(time_ns=EPOCH_NS - 10_000_000 * np.arange(20)) == []


def test_single_nanoseconds_survive():
    time_ns = EPOCH_NS + 10_000_000 * np.arange(20) + np.arange(20)
    (activity,) = found(time_ns=time_ns)
    assert np.max(np.abs(np.diff(activity.times_s) - 0.010000001)) < 1e-15
    assert activity.epoch_ns + round(activity.times_s[0] * 1e9) == EPOCH_NS
