"""Timestamps show a clock step of their own if they jump as far, at the time, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from syncaudit.detectors import shows_jump

START_NS = 1_767_225_600_000_000_000


def stamps(rate_hz: float, *jumps: tuple[float, float], jitter_s: float = 0.0) -> np.ndarray:
    """Return 20 s of timestamps that jump ahead by sizes at instants."""
    times_s = np.arange(round(20.0 * rate_hz)) / rate_hz
    moved_s = sum((size_s * (times_s >= at_s) for at_s, size_s in jumps), np.zeros(times_s.size))
    moved_s += jitter_s * np.random.default_rng(3).normal(size=times_s.size)
    return START_NS + np.rint(1e9 * (times_s + moved_s)).astype(np.int64)


def shows(time_ns: np.ndarray, size_s: float, *, after_s: float = 9.0) -> bool:
    near_ns = START_NS + round(1e9 * after_s)
    return shows_jump(time_ns, size_s=size_s, std_s=0.001, near_ns=near_ns, reach_s=2.0)


@pytest.mark.parametrize("rate_hz", [12.0, 100.0])
@pytest.mark.parametrize("size_s", [0.04, -0.04, 0.15])
def test_jump_of_the_size_at_the_time_is_one(rate_hz: float, size_s: float) -> None:
    assert shows(stamps(rate_hz, (10.0, size_s), jitter_s=0.0005), size_s)


def test_other_jumps_are_none() -> None:
    jumping = stamps(100.0, (10.0, 0.04))
    assert not shows(jumping, -0.04)
    assert not shows(jumping, 0.06)
    assert not shows(jumping, 0.04, after_s=5.0)


def test_streams_that_are_odd_elsewhere_prove_nothing() -> None:
    assert not shows(stamps(100.0, (10.0, 0.04), (3.0, 0.03)), 0.04)
    assert not shows(stamps(100.0, (10.0, 0.04), jitter_s=0.01), 0.04)
    assert not shows(stamps(100.0), 0.04)
