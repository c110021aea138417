"""Clock steps are measured, and neither jitter nor bunching causes one."""

import numpy as np
import pytest

from syncaudit.detectors.stamps.ledger import find_level_steps
from syncaudit.detectors.stamps.streams import audit_stamps
from testkit.stamp_series import EPOCH, nanos, ticks


def bunched(n=2487, seed=2):
    rng = np.random.default_rng(seed)
    return np.sort(np.arange(n) * 0.01206 + rng.uniform(0.0, 0.012, n))


def test_bunched_messages_have_their_true_rate_and_no_gaps():
    audit = audit_stamps(nanos(bunched()))
    assert audit.rate_hz == pytest.approx(1 / 0.01206, abs=0.02)
    assert (audit.gaps, audit.missing, audit.steps) == (0, 0, ())
    assert any("in bursts" in text for text in audit.warnings)


@pytest.mark.parametrize(("rate_hz", "jitter_s"), [(60.0, 0.002), (500.0, 0.0003)])
def test_stamps_that_jitter_do_not_come_in_bursts(rate_hz, jitter_s):
    audit = audit_stamps(nanos(np.sort(ticks(900, rate_hz, jitter_s=jitter_s, seed=4))))
    assert audit.jitter_s == pytest.approx(jitter_s, rel=0.1)
    assert not any("in bursts" in text for text in audit.warnings)


@pytest.mark.parametrize("lost", [1, 40])
def test_lost_messages_among_bunched_ones_are_found(lost):
    audit = audit_stamps(nanos(np.delete(bunched(), np.arange(1200, 1200 + lost))))
    assert (audit.gaps, audit.missing, audit.steps) == (1, lost, ())


def test_bursts_have_the_mean_rate():
    k = np.arange(3000)
    audit = audit_stamps(nanos((k // 10) * 0.1 + (k % 10) * 1e-5))
    assert audit.rate_hz == pytest.approx(100.0, abs=0.1)
    assert audit.missing == 0
    assert any("in bursts" in text for text in audit.warnings)


def test_variable_rate_is_said_and_not_judged():
    rng = np.random.default_rng(3)
    audit = audit_stamps(nanos(np.cumsum(rng.choice([1 / 30, 1 / 24, 0.05, 0.07], 900))))
    assert audit.jitter_s is None
    assert audit.missing == 0
    assert any("variable rate" in text for text in audit.warnings)


# --- steps --------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [0.001, 0.002, 0.010, 0.05, 0.35, 1.37, -0.005, -0.05, -1.01])
def test_clock_step_is_measured_where_it_happens(step):
    times = ticks(600, 30.0007, jitter_s=3e-4, seed=3)
    times[300:] += step
    stamps = nanos(times)
    audit = audit_stamps(stamps)
    assert len(audit.steps) == 1
    at_ns, size = audit.steps[0]
    # 0.3 ms of jitter over 256 samples on either side give 0.03 ms; five times that.
    assert size == pytest.approx(step, abs=1.5e-4)
    assert abs(at_ns - int(stamps[300])) <= 2.1e9 / 30
    assert audit.missing == 0
    assert audit.rate_hz == pytest.approx(30.0007, abs=2e-3)


@pytest.mark.parametrize(("periods", "missing"), [(1, 1), (3, 3)])
def test_jump_of_whole_periods_is_missing_frames(periods, missing):
    times = ticks(600, 30.0, jitter_s=3e-4, seed=3)
    times[300:] += periods / 30.0
    audit = audit_stamps(nanos(times))
    assert (audit.steps, audit.missing) == ((), missing)


def noise_of(kind, rng, n):
    if kind == "gaussian":
        return rng.normal(0, 0.02, n)
    if kind == "wide":
        return rng.normal(0, 0.1, n)
    if kind == "exponential":
        return rng.exponential(0.1, n)
    if kind == "coloured":
        return np.convolve(rng.normal(0, 0.02, n + 20), np.ones(21) / 5, "valid")
    if kind == "wander":
        return np.cumsum(rng.normal(0, 1e-3, n))
    return 0.02 * rng.standard_t(2, n)


@pytest.mark.parametrize(
    "kind", ["gaussian", "wide", "exponential", "coloured", "wander", "heavy tails"]
)
def test_jitter_makes_no_steps_and_loses_no_samples(kind):
    alarms = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.choice([100, 240, 600, 2000]))
        rate = float(rng.choice([10.01, 29.98, 104.3]))
        audit = audit_stamps(nanos((np.arange(n) + noise_of(kind, rng, n)) / rate))
        alarms += bool(audit.steps or audit.missing or audit.doubled)
    assert alarms == 0


@pytest.mark.parametrize(("jump_ms", "n_found"), [(2.0, 1), (1.3, 0), (0.5, 0)])
def test_step_above_the_least_size_is_found(jump_ms: float, n_found: int) -> None:
    times = np.arange(240) / 12.0 + np.random.default_rng(4).normal(0.0, 5e-5, 240)
    times[120:] += jump_ms * 1e-3
    found = find_level_steps(np.arange(240), times, min_size_s=1.6e-3)
    assert len(found) == n_found


@pytest.mark.parametrize("seed", range(4))
def test_samples_that_wait_in_a_queue_are_neither_lost_nor_a_step(seed):
    """Each sample of a 200 Hz device waits 8 ms on average, and none overtakes another."""
    late = np.maximum.accumulate(ticks(4000, 200.0, delay_s=0.008, seed=seed))
    audit = audit_stamps(nanos(late))
    assert (audit.missing, audit.gaps, audit.steps) == (0, 0, ())
    assert audit.rate_hz == pytest.approx(200.0, abs=0.1)


@pytest.mark.parametrize("rate_hz", [15.0, 29.97, 100.0])
def test_every_roll_over_of_a_counter_has_its_full_size(rate_hz):
    """A counter of nanoseconds with 32 bits rolls over six times in 27 s."""
    seconds = ticks(int(27 * rate_hz), rate_hz)
    audit = audit_stamps(np.rint(seconds * 1e9).astype(np.int64) % 2**32)
    assert audit.rate_hz == pytest.approx(rate_hz, rel=1e-6)
    sizes = [size for _, size in audit.steps]
    assert sizes == pytest.approx([-(2**32) * 1e-9] * 6, abs=1e-6)


@pytest.mark.parametrize("rate_hz", [10.0, 50.0])
def test_leap_to_another_epoch_is_a_step_and_loses_nothing(rate_hz):
    stamps = nanos(ticks(500, rate_hz))
    stamps[:200] -= EPOCH - 5_000_000_000
    audit = audit_stamps(stamps)
    assert audit.missing == 0
    assert [size for _, size in audit.steps] == pytest.approx([EPOCH * 1e-9 - 5.0], abs=1e-3)


@pytest.mark.parametrize(
    ("rate_hz", "jitter_s", "delay_s"), [(400.0, 3e-4, 0.0), (50.0, 2.5e-3, 0.0), (30.0, 0.0, 4e-3)]
)
def test_samples_lost_among_jittering_ones_are_counted(rate_hz, jitter_s, delay_s):
    seconds = np.sort(ticks(2000, rate_hz, jitter_s=jitter_s, delay_s=delay_s, seed=6))
    is_kept = np.random.default_rng(7).random(2000) > 0.05
    audit = audit_stamps(nanos(seconds[is_kept]))
    assert not audit.is_irregular
    assert audit.rate_hz == pytest.approx(rate_hz, rel=1e-3)
    assert audit.missing == np.count_nonzero(~is_kept[1:-1])
    assert (audit.doubled, audit.steps) == (0, ())


def test_step_near_the_end_among_doubled_samples_is_found():
    seconds = np.repeat(ticks(900, 30.0, jitter_s=2e-3), 1 + (np.arange(900) % 40 == 7))
    seconds[1:] += np.where(np.diff(seconds) == 0.0, 1e-3, 0.0)
    seconds[-12:] -= 0.5
    audit = audit_stamps(nanos(seconds))
    assert [size for _, size in audit.steps] == pytest.approx([-0.5], abs=3e-3)
