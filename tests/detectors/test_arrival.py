"""The delay from stamp to arrival shows drift, minimum latency and steps, with honest errors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from syncaudit.detectors.stamps.streams import MIN_SAMPLES, audit_arrivals
from syncaudit.model import ArrivalAudit, Arrivals

START_NS = 1_767_225_600_000_000_000
FLOOR_S = 0.006

Delays = Callable[[np.random.Generator, int], np.ndarray]
ONE_SIDED: Delays = lambda rng, n: FLOOR_S + rng.exponential(0.002, n)  # noqa: E731
SYMMETRIC: Delays = lambda rng, n: 0.008 + rng.normal(0.0, 0.001, n)  # noqa: E731


def compared(
    delays: Delays = ONE_SIDED,
    *,
    n: int = 1200,
    rate_hz: float = 20.0,
    drift_ppm: float = 0.0,
    seed: int = 0,
    change: Callable[[np.ndarray], np.ndarray] = lambda delay: delay,
) -> ArrivalAudit:
    rng = np.random.default_rng(seed)
    true_s = np.arange(n) / rate_hz
    delay_s = change(delays(rng, n))
    capture_s = (true_s - true_s.mean()) * (1.0 - drift_ppm * 1e-6) + true_s.mean()
    arrivals = Arrivals(
        capture_ns=START_NS + np.round(capture_s * 1e9).astype(np.int64),
        receive_ns=START_NS + np.round((true_s + delay_s) * 1e9).astype(np.int64),
    )
    audit = audit_arrivals(arrivals)
    assert audit is not None
    return audit


@pytest.mark.parametrize("delays", [ONE_SIDED, SYMMETRIC], ids=["one-sided", "symmetric"])
@pytest.mark.parametrize("drift_ppm", [0.0, 200.0])
def test_the_error_of_the_drift_covers(delays, drift_ppm):
    z = []
    for seed in range(100):
        audit = compared(delays, drift_ppm=drift_ppm, seed=seed)
        z.append((audit.drift_ppm - drift_ppm) / audit.drift_std_ppm)
    # Of 100, 95 +/- 2.2 are expected: three standard deviations below is 88.
    assert np.count_nonzero(np.abs(z) < 1.96) >= 88
    assert np.max(np.abs(z)) < 6.0


def test_a_drift_of_one_sided_delays_is_sharper_than_their_scatter_allows_a_mean():
    # Least squares over 1200 delays with 2 ms of scatter in 60 s would give 3.3 ppm.
    assert compared().drift_std_ppm < 1.5


def test_the_floor_is_the_least_delay():
    audit = compared()
    assert abs(audit.floor_s - FLOOR_S) < 3.0 * audit.floor_std_s < 5e-4
    # 95 % of exponential delays of 2 ms are below 6 ms.
    assert abs(audit.spread_s - 0.006) < 1e-3


def test_bursts_of_long_delays_leave_floor_and_drift_alone():
    def burst(delay: np.ndarray) -> np.ndarray:
        delay = delay.copy()
        delay[300:330] += 0.08
        delay[900:903] += 2.0
        return delay

    audit = compared(change=burst)
    assert abs(audit.drift_ppm) < 5.0
    assert audit.steps == ()


@pytest.mark.parametrize("size_s", [0.04, -0.03])
def test_a_lasting_step_is_found_and_taken_off_before_the_drift(size_s):
    audit = compared(change=lambda delay: delay + size_s * (np.arange(delay.size) >= 500))
    ((at_ns, found_s),) = audit.steps
    assert abs(found_s - size_s) < 1e-3
    assert abs(at_ns - START_NS - 25 * 10**9) < 10**9
    assert abs(audit.drift_ppm) < 10.0


def test_samples_received_before_they_were_stamped_are_counted():
    audit = compared(change=lambda delay: delay - 0.007)
    # A delay of 6 ms + exp(2 ms) is below 6.9 ms in 1 - exp(-0.45) = 36 % of the samples.
    assert abs(audit.negative / audit.samples - 0.36) < 0.06


def test_a_queue_that_fills_and_empties_is_wander_and_no_drift():
    def tide(delay: np.ndarray) -> np.ndarray:
        return delay + 0.05 * np.sin(np.linspace(0.0, np.pi, delay.size)) ** 2

    audit = compared(change=tide)
    assert audit.wander_s > 0.03
    assert abs(audit.drift_ppm) < 3.0 * audit.drift_std_ppm


def test_a_few_absurd_stamps_change_nothing():
    clean = compared()

    def absurd(delay: np.ndarray) -> np.ndarray:
        delay = delay.copy()
        delay[[10, 700]] = [5e8, -1e8]
        return delay

    audit = compared(change=absurd)
    assert abs(audit.floor_s - clean.floor_s) < 1e-4
    assert abs(audit.drift_ppm - clean.drift_ppm) < 2.0


def test_too_few_samples_say_nothing():
    times = np.arange(MIN_SAMPLES - 1, dtype=np.int64)
    assert audit_arrivals(Arrivals(capture_ns=times, receive_ns=times)) is None


def test_too_short_a_time_says_nothing_of_drift():
    assert compared(n=90).drift_ppm is None


def test_constant_delays_and_stamps_are_survived():
    times = np.full(50, START_NS, dtype=np.int64)
    audit = audit_arrivals(Arrivals(capture_ns=times, receive_ns=times + 5_000_000))
    assert audit is not None
    assert audit.floor_s == 0.005
    assert audit.drift_ppm is None


def test_columns_of_different_lengths_are_refused():
    times = np.arange(5, dtype=np.int64)
    with pytest.raises(ValueError, match=r"receive_ns must have shape \(5,\), got \(4,\)"):
        Arrivals(capture_ns=times, receive_ns=times[1:])
