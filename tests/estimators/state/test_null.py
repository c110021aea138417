"""How often chance does as well."""

import numpy as np
import pytest

from syncaudit.estimators.state.measure import measure_camera_state
from syncaudit.estimators.state.null import Chance, chance_of_peak, why_by_chance
from testkit.repeating_arm import watched


def searches(rng, n, size=100):
    """Return log-likelihoods of searches with an exponential peak at every fifth value."""
    curves = np.zeros((n, size))
    curves[:, ::5] = rng.exponential(7.0, (n, size // 5))
    return curves


def test_chances_of_peaks_by_chance_are_even():
    rng = np.random.default_rng(3)
    log10 = []
    for _ in range(400):
        best, *null = searches(rng, 4)
        log10.append(chance_of_peak(float(best.max()), null, range_s=4.0, step_s=0.04))
    log10 = np.array(log10)
    # Expected numbers, not probabilities: a tenth of 400 is 40 ± 6, and a tail estimated from 30
    # peaks is off by a fifth.
    assert 25 <= np.count_nonzero(log10 < -1.0) <= 70
    assert np.count_nonzero(log10 < -3.0) <= 4


def test_chance_does_not_depend_on_units_of_the_tail():
    rng = np.random.default_rng(4)
    null = list(searches(rng, 3))
    once = chance_of_peak(60.0, null, range_s=4.0, step_s=0.04)
    scaled = chance_of_peak(600.0, [10.0 * curve for curve in null], range_s=4.0, step_s=0.04)
    assert abs(once - scaled) < 1e-9


def test_null_without_any_peak_has_the_tail_of_independent_noise():
    # Four peaks are assumed in 100 values, one in 25.
    log10 = chance_of_peak(20.0, [np.full(100, -1.0)], range_s=1.0, step_s=0.04)
    assert abs(log10 - (0.0 - 20.0 / np.log(10.0))) < 1e-9


@pytest.mark.parametrize(("whole", "fast"), [(-9.0, -0.5), (-0.5, -9.0), (-2.0, -2.0)])
def test_both_slow_and_fast_motion_must_be_rare(whole, fast):
    why = why_by_chance(Chance(whole=whole, fast=fast))
    assert "unrelated motion fits as well" in why


def test_rare_peaks_are_believed():
    assert why_by_chance(Chance(whole=-4.0, fast=-4.0)) is None


def test_joints_of_other_clips_are_refused():
    sides = [
        watched(seed, "free", seconds=(8.0, 12.0)[seed % 2], fps=(30.0, 10.0)[seed // 2 % 2])
        for seed in range(6)
    ]
    # None of 30: one in ten would show in 96 of 100 runs.
    for k, (camera, _) in enumerate(sides):
        for other, (_, state) in enumerate(sides):
            pair = measure_camera_state(camera, state) if k != other else None
            assert pair is None or not pair.accepted, (k, other, pair.offset_s)


def test_joints_against_joints_must_be_rarer():
    chance = Chance(whole=-4.0, fast=-5.0)
    assert why_by_chance(chance) is None
    assert why_by_chance(chance, is_direct=True) is not None
