"""Irregular sampling is not timestamp jitter: devices modelled by physics, truth by design."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from syncaudit.detectors.stamps.clock import regular_times_s
from syncaudit.detectors.stamps.streams import audit_stamps, audit_stream
from syncaudit.model import AudioStream, StampAudit
from testkit.streams import sound_stream

EPOCH = 1_767_225_600_000_000_000
SEEDS = range(12)
Floats = NDArray[np.float64]


def audited(seconds: Floats, tick_ns: int = 1) -> StampAudit:
    return audit_stamps(EPOCH + np.rint(seconds * 1e9 / tick_ns).astype(np.int64) * tick_ns)


def sleeping(seed: int, rate_hz: float = 30.0, n: int = 600, stalls: float = 0.02) -> Floats:
    """Return a loop over ``sample(); sleep()``: 0.3 ms of overhead, some stalls of up to 30 ms."""
    rng = np.random.default_rng(seed)
    steps = 1.0 / rate_hz + rng.gamma(2.0, 1.5e-4, n)
    stalled = rng.random(n) < stalls
    steps[stalled] += rng.uniform(0.005, 0.03, int(stalled.sum()))
    return np.cumsum(steps)


def following_exposure(seed: int, n: int = 700) -> Floats:
    """Return a phone whose frame rate changes between 30 and 24 frames/s within a few seconds."""
    rng = np.random.default_rng(seed)
    light = np.sin(np.arange(n) * rng.uniform(0.005, 0.03) + rng.uniform(0.0, 6.0))
    return np.cumsum(1 / 30 + (0.5 + 0.5 * light) * (1 / 24 - 1 / 30))


def halved_in_the_dark(seed: int) -> Floats:
    """Return a phone that records 15 instead of 30 frames/s for some seconds."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(30, 150, 8)
    periods = np.repeat(np.where(np.arange(8) % 2 == seed % 2, 1 / 15, 1 / 30), lengths)
    return np.cumsum(periods + rng.normal(0.0, 1e-6, periods.size))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("device", [sleeping, following_exposure, halved_in_the_dark])
def test_uneven_sampling_is_said_and_not_counted(device: object, seed: int) -> None:
    audit = audited(device(seed))  # type: ignore[operator]  # one of the functions above
    assert audit.is_irregular
    assert (audit.steps, audit.doubled, audit.jitter_s, audit.buffering_s) == ((), 0, None, None)
    assert any("no regular clock" in text for text in audit.warnings)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_halved_rate_loses_nothing(seed: int) -> None:
    audit = audited(halved_in_the_dark(seed))
    assert (audit.gaps, audit.missing, audit.lost_s) == (0, 0, 0.0)


def test_phase_slips_of_a_loop_are_no_clock_steps() -> None:
    # 40 stalls, far enough apart to be resolved: each used to be reported as a step.
    counts = [len(audited(sleeping(seed, n=8000, stalls=0.005)).steps) for seed in range(4)]
    assert counts == [0] * len(counts)


@pytest.mark.parametrize("device", [sleeping, following_exposure])
def test_a_gap_of_an_irregular_source_is_found(device: object) -> None:
    times = device(3)  # type: ignore[operator]  # as above
    times[320:] += 1.2
    audit = audited(times)
    assert audit.is_irregular
    assert audit.lost_s == pytest.approx(1.2, abs=5e-3)
    assert audit.gaps >= 1
    assert audit.missing >= 28


@pytest.mark.parametrize("device", [sleeping, following_exposure])
def test_a_step_back_of_an_irregular_source_is_found(device: object) -> None:
    times = device(3)  # type: ignore[operator]  # as above
    times[320:] -= 0.02
    (step,) = audited(times).steps
    assert step[1] == pytest.approx(-0.02, abs=2e-3)
    assert step[0] == EPOCH + round(times[320] * 1e9)


def test_one_late_stamp_of_an_irregular_source_is_no_step_back() -> None:
    times = following_exposure(3)
    times[300] += 0.02
    assert audited(times).steps == ()


def test_stamps_of_an_irregular_source_that_scatter_are_measured() -> None:
    for seed in SEEDS:
        noise = np.random.default_rng(seed).normal(0.0, 6e-3, 700)
        jitter_s = audited(following_exposure(seed) + noise).jitter_s
        assert jitter_s is not None
        assert jitter_s == pytest.approx(6e-3, rel=0.25)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("rate_hz", "jitter_s"), [(10.0, 8e-3), (30.0, 8e-3), (100.0, 3e-3)])
def test_jitter_around_a_clock_keeps_its_phase(rate_hz: float, jitter_s: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    audit = audited((np.arange(400) + 0.3) / rate_hz + rng.normal(0.0, jitter_s, 400))
    assert not audit.is_irregular
    assert audit.jitter_s == pytest.approx(jitter_s, rel=0.25)


@pytest.mark.parametrize("seed", SEEDS)
def test_timers_that_catch_up_keep_their_phase(seed: int) -> None:
    rng = np.random.default_rng(seed)
    late = rng.exponential(4e-4, 600)
    late[rng.random(600) < 0.01] += 0.03
    times = np.maximum.accumulate(np.arange(600) / 30.0 + late) + 1e-5 * np.arange(600)
    audit = audited(times)
    assert (audit.is_irregular, audit.steps, audit.missing) == (False, (), 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_wandering_clock_jitters_as_its_neighbourhood_shows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    slewed = 0.03 * np.sin(np.arange(900) * 0.008 + rng.uniform(0.0, 6.0))
    audit = audited(np.arange(900) / 25.0 + slewed + rng.normal(0.0, 1e-3, 900))
    assert audit.jitter_s == pytest.approx(1e-3, rel=0.3)
    assert (audit.steps, audit.missing) == ((), 0)


def test_crystals_that_wander_by_microseconds_stay_regular() -> None:
    rng = np.random.default_rng(5)
    walk = np.cumsum(rng.normal(0.0, 1e-6, 900))
    times = np.arange(900) / 30.0 + walk
    times[450:] += 0.06
    audit = audited(times)
    assert not audit.is_irregular
    assert [round(size, 3) for _, size in audit.steps] == [0.06]


def test_a_fifth_of_samples_lost_at_random_is_no_change_of_rate() -> None:
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        kept = rng.random(600) > 0.2
        kept[[0, -1]] = True
        audit = audited((np.arange(600) / 30.0 + rng.normal(0.0, 1e-3, 600))[kept])
        assert not audit.is_irregular
        assert audit.missing == np.count_nonzero(~kept)


# Gaps


def test_what_a_gap_loses_is_its_interval_beyond_the_period() -> None:
    times = np.arange(200) / 10.0 + np.random.default_rng(0).normal(0.0, 1e-3, 200)
    times[100:] += 0.3
    assert audited(times).lost_s == pytest.approx(0.3, abs=5e-3)
    assert audited(times[:100]).lost_s == 0.0


# Sound


def sound(times: Floats, rate_hz: float = 48_000.0) -> AudioStream:
    anchors = (np.arange(times.size) * rate_hz).astype(np.int64)
    return sound_stream(
        np.zeros(int(anchors[-1]) + 1),
        rate_hz,
        time_ns=EPOCH + np.rint(times * 1e9).astype(np.int64),
        anchor_samples=anchors,
    )


def test_rows_of_a_sound_table_are_anchors() -> None:
    audit = audit_stream(sound(np.arange(20) * (1.0 + 2e-5)))
    assert (audit.gaps, audit.max_gap_s, audit.lost_s) == (0, None, None)
    assert audit.rate_hz == pytest.approx(48_000.0 / (1.0 + 2e-5), abs=1e-3)


@pytest.mark.parametrize("step_s", [0.03, -0.03])
def test_a_step_among_few_anchors_is_found(step_s: float) -> None:
    times = np.arange(15.0) + np.random.default_rng(2).normal(0.0, 1e-4, 15)
    times[9:] += step_s
    assert [round(size, 3) for _, size in audit_stream(sound(times)).steps] == [step_s]
    times[9:] -= step_s
    times[9] += step_s
    assert audit_stream(sound(times)).steps == ()


# The other kind of timestamp


@pytest.mark.parametrize("rate_hz", [12.0, 30.0])
def test_even_times_are_offered_whatever_part_of_a_period_the_jitter_is(rate_hz: float) -> None:
    rng = np.random.default_rng(1)
    true_s = np.arange(300) / rate_hz
    even_s = regular_times_s(true_s + rng.normal(0.0, 9e-3, 300))
    assert even_s is not None
    assert np.std(even_s - true_s) < 2e-3


def test_even_times_of_a_changing_rate_are_those_of_the_neighbourhood() -> None:
    true_s = following_exposure(2)
    even_s = regular_times_s(true_s + np.random.default_rng(1).normal(0.0, 8e-3, true_s.size))
    assert even_s is not None
    assert np.std(even_s - true_s) < 4e-3


@pytest.mark.parametrize("device", [sleeping, following_exposure, halved_in_the_dark])
def test_true_stamps_of_irregular_sources_are_left_alone(device: object) -> None:
    assert regular_times_s(device(2)) is None  # type: ignore[operator]  # as above
