"""A measured drift is weighed against what clocks do."""

import numpy as np
import pytest

from syncaudit.estimators.delay.clock_step import WRONG_RATE
from syncaudit.estimators.state.parts import with_likely_drift
from syncaudit.model import PairMeasurement

LEVEL = PairMeasurement(
    source="cam",
    target="joints",
    method="arm_motion",
    at_ns=0,
    offset_s=0.001,
    offset_std_s=0.004,
    systematic_std_s=0.002,
    accepted=True,
)


def likely(drift_ppm, std_ppm, *, is_uneven=False):
    found = with_likely_drift(LEVEL, drift_ppm, std_ppm, most_ppm=5000.0, is_uneven=is_uneven)
    return found.drift_ppm, found.drift_std_ppm


@pytest.mark.parametrize("std_ppm", [300.0, 600.0, 1200.0, 5000.0])
def test_a_drift_of_two_standard_errors_is_mostly_chance(std_ppm):
    drift_ppm, drift_std_ppm = likely(2.2 * std_ppm, std_ppm)
    if drift_ppm is not None:
        assert 0.0 < drift_ppm < 0.2 * 2.2 * std_ppm
        assert drift_std_ppm < std_ppm


def test_a_drift_of_three_standard_errors_leaves_it_open():
    drift_ppm, drift_std_ppm = likely(-2000.0, 600.0)
    assert -1000.0 < drift_ppm < -100.0
    assert drift_ppm - 1.96 * drift_std_ppm < -1300.0  # 20 ms in half of a clip of 30 s


def test_a_drift_beyond_doubt_stays_as_measured():
    drift_ppm, drift_std_ppm = likely(5000.0, 150.0)
    assert drift_ppm == pytest.approx(5000.0, abs=150.0)
    assert drift_std_ppm == pytest.approx(600.0, abs=500.0)


def test_without_evidence_a_clock_is_a_crystal():
    assert likely(300.0, 600.0) == (None, None)
    assert likely(0.0, 20.0) == (None, None)
    assert likely(150.0, 20.0) == (None, None)


def test_parts_that_contradict_one_delay_leave_the_drift_alone():
    assert likely(2000.0, 600.0, is_uneven=True) == (2000.0, pytest.approx(600.0))
    assert likely(300.0, 600.0, is_uneven=True) == (None, None)


def test_the_error_covers_the_drifts_that_the_prior_allows():
    """Reported drifts are off by their stated errors, of crystals and of wrong rates together."""
    rng = np.random.default_rng(5)
    n = 4000
    wrong = rng.random(n) < WRONG_RATE
    rates = np.exp(rng.uniform(np.log(200.0), np.log(5000.0), n)) * rng.choice([-1.0, 1.0], n)
    truth = np.where(wrong, rates, rng.normal(0.0, 200.0, n))
    off = []
    for true_ppm, std_ppm in zip(truth, rng.uniform(150.0, 1500.0, n), strict=True):
        drift_ppm, drift_std_ppm = likely(true_ppm + std_ppm * rng.standard_t(4), std_ppm)
        if drift_ppm is not None:
            off.append((drift_ppm - true_ppm) / drift_std_ppm)
    assert len(off) > 200
    assert 0.8 < np.sqrt(np.mean(np.square(off))) < 1.2
