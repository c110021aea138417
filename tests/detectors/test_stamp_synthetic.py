"""Timestamps that were computed rather than captured are recognised."""

import numpy as np
import pytest

from syncaudit.detectors.stamps.streams import audit_stamps
from testkit.stamp_series import EPOCH, nanos, ticks


@pytest.mark.parametrize("rate", [10, 12, 15, 20, 24, 25, 29.97, 30000 / 1001, 30, 50, 60, 100])
@pytest.mark.parametrize("unit_ns", [1, 1_000, 1_000_000])
def test_index_over_rate_is_synthetic(rate, unit_ns):
    stamps = EPOCH + np.rint(np.arange(300) / rate * 1e9 / unit_ns).astype(np.int64) * unit_ns
    audit = audit_stamps(stamps)
    assert audit.is_synthetic
    assert any("synthetic" in text for text in audit.warnings)


def test_container_ticks_are_synthetic():
    stamps = EPOCH + np.rint(np.rint(np.arange(300) / 23.976 * 90_000) / 90_000 * 1e9).astype(int)
    assert audit_stamps(stamps).is_synthetic


@pytest.mark.parametrize("rate", [12, 25, 30, 100])
def test_hardware_trigger_off_by_parts_per_million_is_not_synthetic(rate):
    assert not audit_stamps(nanos(np.arange(300) / rate * (1 + 2e-6))).is_synthetic


def singles(seconds):
    """Return timestamps that were float32 seconds before conversion to nanoseconds."""
    return np.rint(np.asarray(seconds).astype(np.float32).astype(np.float64) * 1e9).astype(np.int64)


@pytest.mark.parametrize("rate", [10.0, 15.0, 29.97, 30.0, 50.0, 100.0])
@pytest.mark.parametrize("start_s", [0.0, 12.0, 400.0])
def test_index_over_rate_in_float32_is_synthetic(rate, start_s):
    audit = audit_stamps(singles(start_s + np.arange(300) / rate))
    assert audit.is_synthetic
    assert audit.rate_hz == pytest.approx(rate, abs=1e-4 * rate)


def test_captured_stamps_in_float32_are_not_synthetic():
    # 0.1 ms of jitter is more than ten steps of float32 at 100 s (7.6 us).
    for seed in range(20):
        times = 80.0 + ticks(300, 30.0, jitter_s=1e-4, seed=seed)
        assert not audit_stamps(singles(times)).is_synthetic


def test_a_trigger_off_by_parts_per_million_in_float32_is_not_synthetic():
    # 5 ppm over 30 s are 150 us, compared with steps of 1.9 us.
    assert not audit_stamps(singles(np.arange(900) / 30.0 * (1 + 5e-6))).is_synthetic


def test_odd_rate_is_not_synthetic():
    assert not audit_stamps(nanos(np.arange(300) / 28.1234)).is_synthetic


def test_tiny_jitter_is_not_synthetic():
    assert not audit_stamps(nanos(ticks(300, 30.0, jitter_s=1e-6))).is_synthetic
