"""Inertial tables and messages of a bus whose values stopped changing."""

import numpy as np
import pytest

from syncaudit.model import CanSpec, ImuSpec, ReasonCode, Severity
from syncaudit.readers.can import read_can
from syncaudit.readers.signals import read_imu
from testkit.stamp_series import nanos

RATE_HZ = 100.0


def read(folder, values):
    """Return the stream of a table with the given values, shape (n, 6), at 100 Hz."""
    names = [f"{kind}_{axis}" for kind in ("gyro", "accel") for axis in "xyz"]
    stamps = nanos(np.arange(len(values)) / RATE_HZ)
    lines = [",".join(["timestamp_ns", *names])]
    rows = [",".join(f"{x:.4f}" for x in row) for row in values]
    lines += [f"{t},{row}" for t, row in zip(stamps, rows, strict=True)]
    (folder / "imu.csv").write_text("\n".join(lines))
    return read_imu("imu", ImuSpec(kind="imu", uri="imu.csv"), f"{folder}/")


def noise(n=2000, seed=1):
    return np.random.default_rng(seed).normal([0, 0, 0, 0, 0, 9.81], 0.01, (n, 6))


def test_sensor_that_hangs_is_warned_of(tmp_path):
    values = noise()
    values[700:860] = values[700]
    (finding,) = read(tmp_path, values).findings
    assert (finding.code, finding.severity) == (ReasonCode.DUPLICATE, Severity.WARNING)
    assert "all values stay the same for 1.59 s from row 702 on" in finding.message


@pytest.mark.parametrize(
    "values",
    [
        np.repeat(noise(500), 4, axis=0),  # upsampled four times
        np.round(np.linspace(0.1, 3.0, 2000)[:, None] * noise() / 0.04) * 0.04,  # coarse, at rest
        np.ones((2000, 6)),
    ],
)
def test_values_that_repeat_for_other_reasons_are_not(tmp_path, values):
    assert read(tmp_path, values).findings == ()


@pytest.mark.parametrize("marker", [np.inf, 1e300])
def test_markers_for_no_value_are_only_counted(tmp_path, marker):
    values = noise()
    values[:, 3:] = marker
    (finding,) = read(tmp_path, values).findings
    assert finding.code is ReasonCode.NON_FINITE


def test_sample_held_for_a_moment_is_not(tmp_path):
    values = noise()
    values[700:720] = values[700]
    assert read(tmp_path, values).findings == ()


def read_bus(folder, yaw, lateral):
    """Return a bus with a message of two noisy values at 100 Hz, and a speed that is coarse."""
    stamps = nanos(np.arange(len(yaw)) / RATE_HZ)
    rows = [f"{t},{a:.4f},{b:.4f}," for t, a, b in zip(stamps, yaw, lateral, strict=True)]
    rows += [f"{t + 3_000_000},,,{15 + t // 10**10 % 2}" for t in stamps]
    (folder / "bus.csv").write_text("\n".join(["timestamp_ns,yaw,lat,v", *sorted(rows)]))
    signals = {"yaw_rate": "yaw", "lateral_accel": "lat", "speed": "v"}
    return read_can("can", CanSpec(kind="can", uri="bus.csv", signals=signals), f"{folder}/")


def test_message_that_hangs_is_warned_of(tmp_path):
    yaw, lateral, *_ = noise().T
    yaw[700:860], lateral[700:860] = yaw[700], lateral[700]
    (finding,) = read_bus(tmp_path, yaw, lateral).findings
    assert finding.code is ReasonCode.DUPLICATE
    assert "all values of yaw_rate, lateral_accel stay the same for 1.59 s" in finding.message


@pytest.mark.parametrize(("held", "n_held"), [(0.0, 2), (0.3, 1)])
def test_vehicle_at_rest_or_one_quiet_signal_is_not(tmp_path, held, n_held):
    sides = noise().T[:2].copy()
    sides[:n_held, 700:860] = held  # clamped to zero, or one of two signals alone
    assert read_bus(tmp_path, *sides).findings == ()
