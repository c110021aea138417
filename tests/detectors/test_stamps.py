"""Counts and figures of timestamps: rate, jitter, gaps, duplicates and unusual input."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncaudit.detectors.stamps.grid import number_samples, resolution_ns, rough_period, rounding_s
from syncaudit.detectors.stamps.streams import audit_stamps
from testkit.stamp_series import EPOCH, nanos, ticks


def test_the_same_pattern_at_another_time_is_audited_alike():
    stamps = nanos(ticks(240, 12.0, jitter_s=1e-4))
    late = audit_stamps(stamps + 20_000_000_000, pts_s=ticks(240, 12.0))
    assert late == audit_stamps(stamps, pts_s=ticks(240, 12.0))


def test_steps_have_their_own_place_in_time_whatever_was_audited_before():
    seconds = ticks(240, 12.0, jitter_s=1e-4)
    seconds[100:] += 0.03
    first, second = (audit_stamps(nanos(seconds) + later) for later in (0, 20_000_000_000))
    assert second.steps[0][0] - first.steps[0][0] == 20_000_000_000
    assert str(second.steps[0][0]) in " ".join(second.warnings)


def test_the_container_is_part_of_the_pattern():
    stamps = nanos(ticks(240, 12.0, jitter_s=1e-4))
    assert audit_stamps(stamps, n_expected=240).remarks == ()
    assert audit_stamps(stamps, n_expected=239).remarks != ()
    assert audit_stamps(stamps, pts_s=ticks(240, 30.0)).remarks != ()


# --- counts -------------------------------------------------------------------------------------


def test_regular_stamps_have_rate_and_jitter_only():
    audit = audit_stamps(nanos(ticks(600, 30.0007, jitter_s=3e-4)))
    assert audit.samples == 600
    assert audit.rate_hz == pytest.approx(30.0007, abs=1e-3)
    assert audit.jitter_s == pytest.approx(3e-4, abs=4e-5)
    assert audit.clock_fit == "least_squares"
    assert audit.buffering_s is None
    assert (audit.gaps, audit.missing, audit.doubled, audit.duplicates, audit.backwards) == (0,) * 5
    assert audit.steps == ()
    assert audit.warnings == ()
    assert not audit.is_synthetic


def test_dropped_frames_are_counted_in_gaps():
    stamps = nanos(np.delete(ticks(600, 30.0007, jitter_s=3e-4), [100, 250, 251, 252, 400]))
    audit = audit_stamps(stamps)
    assert (audit.gaps, audit.missing) == (3, 5)
    assert audit.steps == ()
    assert audit.max_gap_s == pytest.approx(4 / 30.0, abs=2e-3)
    assert any("5 samples missing in 3 gaps" in text for text in audit.warnings)


def test_one_in_five_dropped_still_finds_the_rate():
    rng = np.random.default_rng(1)
    kept = rng.random(600) > 0.2
    kept[[0, -1]] = True
    audit = audit_stamps(nanos(ticks(600, 30.0, jitter_s=3e-4)[kept]))
    assert audit.missing == np.count_nonzero(~kept)
    assert audit.rate_hz == pytest.approx(30.0, abs=0.01)


def test_one_late_stamp_is_jitter_and_no_gap():
    times = ticks(300, 30.0, jitter_s=1e-4)
    times[150] += 0.028
    audit = audit_stamps(nanos(times))
    assert (audit.gaps, audit.missing, audit.doubled, audit.steps) == (0, 0, 0, ())
    assert audit.jitter_max_s == pytest.approx(0.028, abs=1e-3)


def test_swapped_stamps_step_back_once_and_lose_nothing():
    times = ticks(300, 30.0, jitter_s=1e-4)
    times[[50, 51]] = times[[51, 50]]
    audit = audit_stamps(nanos(times))
    assert (audit.backwards, audit.missing, audit.doubled, audit.steps) == (1, 0, 0, ())


def test_inserted_duplicate_is_doubled():
    times = ticks(300, 30.0, jitter_s=1e-4)
    audit = audit_stamps(nanos(np.insert(times, 100, times[100])))
    assert (audit.duplicates, audit.doubled, audit.missing) == (1, 1, 0)


def test_overwritten_stamp_is_duplicate_but_not_doubled():
    times = ticks(300, 30.0, jitter_s=1e-4)
    times[100] = times[99]
    audit = audit_stamps(nanos(times))
    assert (audit.duplicates, audit.doubled, audit.missing) == (1, 0, 0)


@pytest.mark.parametrize("stuck", [slice(None, 100), slice(-100, None)])
def test_timestamps_stuck_at_an_end_are_a_gap(stuck: slice) -> None:
    stamps = nanos(ticks(2000, 100.0, jitter_s=2e-4))
    held = stamps[stuck][-1 if stuck.start is None else 0]
    stamps[stuck] = held
    audit = audit_stamps(stamps)
    assert audit.duplicates == 99
    assert audit.lost_s == pytest.approx(0.99, abs=0.06)


@pytest.mark.parametrize("n", [1, 10])
def test_samples_that_share_stamps_throughout_end_in_no_gap(n: int) -> None:
    stamps = np.repeat(nanos(ticks(200, 10.0, jitter_s=2e-5)), n)
    audit = audit_stamps(np.append(stamps, stamps[-1]))  # and a surplus one
    assert audit.lost_s == 0.0


def test_unset_stamp_spoils_only_itself():
    stamps = nanos(ticks(300, 30.0, jitter_s=1e-4))
    stamps[200] = 0
    audit = audit_stamps(stamps)
    assert (audit.backwards, audit.missing, audit.gaps, audit.steps) == (1, 0, 0, ())
    assert audit.jitter_s == pytest.approx(1e-4, abs=2e-5)
    assert any("never set" in text for text in audit.warnings)


def test_container_with_other_count_is_told():
    stamps = nanos(ticks(100, 30.0, jitter_s=1e-4))
    fewer = audit_stamps(stamps, n_expected=103)
    assert "3 fewer timestamps than frames" in fewer.warnings[0]
    more = audit_stamps(stamps, n_expected=99)
    assert "1 more timestamps than frames" in more.warnings[0]
    assert audit_stamps(stamps, n_expected=100).warnings == ()


def test_container_playing_at_another_rate_is_told():
    stamps = nanos(ticks(300, 12.0, jitter_s=1e-4))
    assert any("25" in w for w in audit_stamps(stamps, pts_s=np.arange(300) / 25.0).warnings)
    assert audit_stamps(stamps, pts_s=np.arange(300) / 12.0).warnings == ()
    assert audit_stamps(stamps, pts_s=np.array([0.0])).warnings == ()


# --- odd input ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_stamps_have_no_rate(n):
    audit = audit_stamps(nanos(ticks(n, 30.0)))
    assert audit.samples == n
    assert audit.rate_hz is None
    assert audit.jitter_s is None


def test_constant_stamps_are_duplicates_without_rate():
    audit = audit_stamps(np.full(50, EPOCH))
    assert audit.duplicates == 49
    assert audit.rate_hz is None
    assert any("never increase" in text for text in audit.warnings)


@pytest.mark.parametrize(
    "values",
    [[-(2**63), 2**63 - 1], [-(2**63), 2**63 - 1, -(2**63), 0, 5], [2**63 - 1] * 4, [5, 4, 3, 2]],
)
def test_extreme_values_do_not_overflow(values):
    audit = audit_stamps(np.array(values, dtype=np.int64))
    assert audit.samples == len(values)
    assert audit.max_gap_s is not None
    assert np.isfinite(audit.max_gap_s)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=80))
def test_any_stamps_are_audited(values):
    audit = audit_stamps(np.array(values, dtype=np.int64))
    assert audit.samples == len(values)
    assert audit.duplicates + audit.backwards <= max(0, len(values) - 1)


@settings(max_examples=30, deadline=None)
@given(st.integers(-(10**18), 10**18), st.integers(0, 10_000))
def test_epoch_changes_nothing(shift_ns, seed):
    stamps = nanos(np.delete(ticks(200, 29.98, jitter_s=2e-4, seed=seed), [90, 91]))
    one, two = audit_stamps(stamps), audit_stamps(stamps + shift_ns)
    assert (one.missing, one.gaps, one.doubled) == (two.missing, two.gaps, two.doubled)
    assert one.rate_hz == pytest.approx(two.rate_hz, abs=1e-9)
    assert one.jitter_s == pytest.approx(two.jitter_s, abs=1e-12)


def test_floats_are_refused():
    with pytest.raises(TypeError, match="must be integer nanoseconds"):
        audit_stamps(np.array([0.0, 1.0]))


def test_tables_are_refused():
    with pytest.raises(ValueError, match="must have shape"):
        audit_stamps(np.zeros((3, 2), dtype=np.int64))


def test_million_stamps_take_about_a_second():
    stamps = nanos(ticks(1_000_000, 1000.0, jitter_s=1e-5))
    start = time.process_time()
    audit = audit_stamps(stamps)
    # Measured 0.5-0.7 s on an idle machine; the bound allows for a shared core.
    assert time.process_time() - start < 3.0
    assert audit.missing == 0


def test_short_one_sided_delays_are_not_worth_a_word() -> None:
    rng = np.random.default_rng(4)
    for mean_s, is_told in ((1e-4, False), (2e-3, True)):
        delay = rng.exponential(mean_s, 2000)
        stamps = np.rint((np.arange(2000) * 0.02 + delay) * 1e9).astype(np.int64)
        audit = audit_stamps(stamps)
        assert audit.buffering_s == pytest.approx(mean_s, rel=0.1)
        assert any("one-sided" in text for text in audit.warnings) == is_told


def test_step_back_is_not_counted_as_a_surplus_sample_too() -> None:
    stamps = np.arange(240) * 83_333_333
    stamps[120:] -= 60_000_000
    audit = audit_stamps(stamps)
    assert [round(size, 3) for _, size in audit.steps] == [-0.06]
    assert audit.doubled == 0


@given(st.lists(st.integers(9_170, 10_000), min_size=1, max_size=80))
def test_alike_intervals_have_the_period_of_the_long_way(lengths: list[int]) -> None:
    steps_s = np.array(lengths) * 1e-5
    grid = number_samples(steps_s)
    assert grid is not None
    assert (grid.period_s, grid.is_bunched) == rough_period(steps_s)
    assert not np.any(grid.extra)


@given(st.lists(st.integers(0, 30), min_size=2, max_size=60), st.sampled_from([1, 10, 1000]))
def test_resolution_divides_every_interval(steps: list[int], unit: int) -> None:
    stamps = np.cumsum(np.array(steps) * unit)
    common = int(np.gcd.reduce(np.diff(stamps)))
    tick = resolution_ns(stamps)
    assert common % tick == 0
    assert not common or tick == 10**8 or common % (10 * tick)


@pytest.mark.parametrize(
    ("steps_ms", "tick_ms"),
    [([10, 10, 10], 0), ([10, 20, 10], 0), ([0, 10, 30], 0), ([10, 11, 10], 1), ([10, 15, 0], 1)],
)
def test_whole_periods_are_no_rounding(steps_ms: list[int], tick_ms: int) -> None:
    assert rounding_s(1_000_000, np.array(steps_ms) * 1e-3) == pytest.approx(tick_ms * 1e-3)
