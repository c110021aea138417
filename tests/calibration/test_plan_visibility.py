"""Visible shares agree with the formula for single pulses, and with bursts by construction."""

from fractions import Fraction

import numpy as np
import pytest
from syncaudit_calibration.plan import PulseTrain, choose_train, planned_cameras, visibility
from syncaudit_calibration.plan.visibility import pulses_seen

CAMERAS = planned_cameras([Fraction(12)], [0.025], [0.008], 6)
SHARE_TOLERANCE = 0.02


def spread_pulses(n: int) -> PulseTrain:
    starts = np.sort(np.random.default_rng(3).uniform(1, 99, n))
    return PulseTrain(starts_s=starts, width_s=0.002, n_per_burst=1, duration_s=100.0)


def test_pulse_is_seen_from_the_first_row_opening_to_the_last_row_closing() -> None:
    # Frames start at 0; rows expose from 0 to 33 ms; a pulse of 2 ms may start 2 ms earlier.
    starts = np.array([0.9979, 0.9981, 1.0, 1.0329, 1.0331, 1.05])
    train = PulseTrain(starts_s=starts, width_s=0.002, n_per_burst=1, duration_s=2.0)
    seen = pulses_seen(CAMERAS[:1], train, np.zeros((1, 1)))
    assert seen[0, 0].tolist() == [False, True, True, True, False, False]


def test_simulation_agrees_with_the_formula() -> None:
    seen = visibility(CAMERAS, spread_pulses(300), rng=np.random.default_rng(0))
    share = 0.035 * 12
    for view in seen.views:
        assert view.share_by_formula == pytest.approx(share, abs=1e-12)
        assert view.share_seen == pytest.approx(share, abs=SHARE_TOLERANCE)
    assert seen.fewest_shared / 300 == pytest.approx(share**2, abs=SHARE_TOLERANCE)
    assert seen.shared_by_all / 300 == pytest.approx(share**6, abs=SHARE_TOLERANCE)
    assert seen.views[0].share_with_both_edges == pytest.approx(0.015 * 12, abs=1e-12)


def test_every_camera_sees_some_of_every_burst() -> None:
    rng = np.random.default_rng(0)
    train = choose_train(CAMERAS, rng=rng)
    for view in visibility(CAMERAS, train, rng=rng).views:
        assert view.share_of_bursts == 1.0
        assert view.share_seen == pytest.approx(view.share_by_formula, abs=SHARE_TOLERANCE)


def test_two_cameras_of_opposite_phases_never_share_but_others_tie_them() -> None:
    # Each sees 22 of 83.3 ms: pairs whose phases differ by more have nothing in common.
    two = planned_cameras([Fraction(12)], [0.012], [0.008])
    many = planned_cameras([Fraction(12)], [0.012], [0.008], 12)
    rng = np.random.default_rng(0)
    train = choose_train(two, duration_s=200.0, rng=rng)
    alone, crowd = (visibility(rig, train, rng=rng, n_draws=150) for rig in (two, many))
    apart = 1 - 2 * 0.022 * 12
    assert alone.share_of_pairs_apart == pytest.approx(apart, abs=0.12)
    assert alone.share_tied == pytest.approx(1 - alone.share_of_pairs_apart, abs=1e-9)
    assert crowd.share_tied > 0.8


def test_long_light_is_seen_by_all() -> None:
    cameras, rng = planned_cameras([Fraction(12)], [0.0], [0.008]), np.random.default_rng(0)
    train = choose_train(cameras, rng=rng)
    seen = visibility(cameras, train, rng=rng)
    assert seen.fewest_shared == train.n
    assert seen.views[0].share_by_formula == 1.0
