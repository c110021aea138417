"""The clock behind timestamps: drift, buffering and rounding."""

import numpy as np
import pytest

from syncaudit.detectors.stamps.clock import fit_clock, lower_hull_line
from syncaudit.detectors.stamps.streams import audit_stamps
from syncaudit.dsp.robust import robust_line
from testkit.stamp_series import EPOCH, nanos, ticks


def ppm_errors(fit, make, n_cases=20):
    return np.array([1e6 * (fit(make(seed)) / 0.01 - 1.0) for seed in range(n_cases)])


def test_hull_beats_least_squares_for_one_sided_delays_and_is_chosen():
    n = 6000  # 60 s at 100 Hz, 4 ms exponential delays
    index = np.arange(n)

    def make(seed):
        return ticks(n, 100.0, delay_s=4e-3, seed=seed)

    assert all(fit_clock(index, make(s)).method == "hull" for s in range(20))
    hull = ppm_errors(lambda t: fit_clock(index, t).period_s, make)
    squares = ppm_errors(lambda t: robust_line(index.astype(float), t)[0], make)
    assert np.sqrt(np.mean(hull**2)) < 0.3
    assert np.sqrt(np.mean(squares**2)) > 1.0


def test_least_squares_is_chosen_for_symmetric_jitter_where_the_hull_is_worse():
    n = 6000
    index = np.arange(n)

    def make(seed):
        return ticks(n, 100.0, jitter_s=4e-3, seed=seed)

    def hull_period(times):
        return 0.01 + lower_hull_line(index.astype(float), times - 0.01 * index)[0]

    assert all(fit_clock(index, make(s)).method == "least_squares" for s in range(20))
    chosen = ppm_errors(lambda t: fit_clock(index, t).period_s, make)
    hull = ppm_errors(hull_period, make)
    assert np.sqrt(np.mean(hull**2)) > 2 * np.sqrt(np.mean(chosen**2))


def test_buffering_is_the_mean_delay_above_the_floor():
    audit = audit_stamps(nanos(ticks(2000, 30.0, delay_s=4e-3)))
    assert audit.clock_fit == "hull"
    assert audit.buffering_s == pytest.approx(4e-3, abs=4e-4)
    assert any("one-sided" in text for text in audit.warnings)


def test_hull_lies_below_all_points():
    rng = np.random.default_rng(0)
    x, y = np.arange(10_000.0), rng.exponential(1.0, 10_000)
    slope, level = lower_hull_line(x, y)
    assert np.min(y - slope * x - level) == pytest.approx(0.0, abs=1e-9)
    assert abs(slope) < 1e-6


def test_rounding_to_milliseconds_is_no_jitter():
    stamps = EPOCH + np.rint(1e3 * ticks(600, 29.973, jitter_s=2e-5)).astype(np.int64) * 10**6
    audit = audit_stamps(stamps)
    assert audit.jitter_s == 0.0
    assert any("rounded to 1 ms" in text for text in audit.warnings)


def test_jitter_above_the_rounding_is_reported():
    stamps = EPOCH + np.rint(1e3 * ticks(600, 29.973, jitter_s=3e-3)).astype(np.int64) * 10**6
    assert audit_stamps(stamps).jitter_s == pytest.approx(3e-3, abs=4e-4)


def test_delays_that_are_even_within_bounds_have_their_own_deviation():
    """A timer that polls every 8 ms: the quartiles alone would give 28 % more."""
    rng = np.random.default_rng(3)
    seconds = ticks(3000, 50.0) + rng.uniform(0.0, 0.008, 3000)
    assert audit_stamps(nanos(seconds)).jitter_s == pytest.approx(0.008 / 12.0**0.5, rel=0.02)
