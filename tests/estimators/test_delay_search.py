"""The likelihood over the delay and what is derived from it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncaudit.dsp.integral import integrate_samples
from syncaudit.estimators.delay import search as delay_search
from syncaudit.estimators.delay.increments import from_integral
from syncaudit.estimators.delay.search import DelayCurve, search_delay, slow_basis
from testkit.moving_body import Clock, Motion, imu, shaking

STEP_S = 0.005


def curve_of(*values):
    values = np.array(values, dtype=float)
    return DelayCurve(delays_s=np.arange(values.size) * 0.1, log_likelihood=values)


def searched(source, target, lowest_s=-0.5, highest_s=0.5, step_s=STEP_S, width_s=0.05):
    rows = from_integral(
        integrate_samples(source.times_s, source.values, is_smooth=True), width_s=width_s
    )
    driver = integrate_samples(target.times_s, target.values, is_smooth=True)
    return search_delay(rows, driver, lowest_s=lowest_s, highest_s=highest_s, step_s=step_s)


@pytest.mark.parametrize("late_s", [-0.31, 0.0, 0.125])
def test_best_delay_is_the_nearest_on_the_grid(late_s):
    motion = shaking(1)
    curve = searched(imu(motion, 1, clock=Clock(late_s=late_s)), imu(motion, 2))
    assert abs(curve.delays_s[curve.best()] - -late_s) < 0.75 * STEP_S
    assert not curve.is_at_edge(curve.best())
    assert curve.log_likelihood[curve.best()] > 10.0 * curve.runner_up(curve.best())


def test_delays_are_those_asked_for():
    motion = shaking(1)
    curve = searched(imu(motion, 1), imu(motion, 2), -0.1, 0.1, 0.01)
    assert np.max(np.abs(curve.delays_s - np.linspace(-0.1, 0.1, 21))) < 1e-12


def test_no_overlap_is_minus_infinity():
    motion = shaking(2)
    curve = searched(imu(motion, 1, seconds=10.0), imu(motion, 2, seconds=10.0), 5.0, 12.0, 0.5)
    # at least 40 % of the rows must have a counterpart
    assert np.isfinite(curve.log_likelihood[curve.delays_s < 5.9]).all()
    assert np.isneginf(curve.log_likelihood[curve.delays_s > 6.1]).all()


def test_outliers_and_slow_bias_do_not_move_the_peak():
    motion = shaking(3)
    source = imu(motion, 1, clock=Clock(late_s=0.2))
    values = source.values + 0.5 * np.sin(2 * np.pi * source.times_s / 15.0)[:, None]
    values[700:704] = 20.0
    spoiled = type(source)(
        source="imu",
        quantity=source.quantity,
        epoch_ns=source.epoch_ns,
        times_s=source.times_s,
        values=values,
    )
    curve = searched(spoiled, imu(motion, 2))
    assert abs(curve.delays_s[curve.best()] - -0.2) < 1.5 * STEP_S


def test_long_recordings_are_thinned():
    motion = shaking(4)
    source, target = imu(motion, 1, seconds=90.0), imu(motion, 2, seconds=90.0)
    curve = searched(source, target, -0.05, 0.05, 0.01)  # 1800 rows
    assert abs(curve.delays_s[curve.best()]) < 0.006


@pytest.mark.parametrize("hz", [0.7, 2.0, 5.0])
def test_strides_find_the_lobes_that_every_step_finds(hz, monkeypatch):
    """For almost repeating motion; steps of 10 ms, increments of 100 ms, strides of 20 ms."""
    swing = Motion(hz=np.array([hz, 0.83]), size=np.full((3, 2), 0.2), phase=np.zeros((3, 2)))
    source, target = imu(swing, 1, clock=Clock(late_s=0.37)), imu(swing, 2)
    quick = searched(source, target, -2.0, 2.0, 0.01, width_s=0.1)
    monkeypatch.setattr(delay_search, "MAX_STRIDE", 1)
    slow = searched(source, target, -2.0, 2.0, 0.01, width_s=0.1)
    best = slow.best()
    assert quick.best() == best
    assert quick.log_likelihood[best] == pytest.approx(slow.log_likelihood[best], rel=1e-9)
    assert quick.runner_up(best) == pytest.approx(slow.runner_up(best), rel=1e-9)
    assert np.mean(quick.log_likelihood != slow.log_likelihood) > 0.1  # not all were evaluated


def test_common_swing_has_lobes_a_period_apart():
    """The second lobe explains all but a thousandth: exp(-2 L / values) is the remainder."""
    swing = Motion(hz=np.array([2.0]), size=np.full((3, 1), 0.2), phase=np.zeros((3, 1)))
    curve = searched(imu(swing, 1), imu(swing, 2))
    n_values = 3 * 399
    assert np.exp(-2.0 * curve.runner_up(curve.best()) / n_values) < 1e-3


def test_runner_up_lies_beyond_a_valley():
    curve = curve_of(0, 10, 50, 100, 60, 20, 40, 0)
    assert curve.best() == 3
    assert curve.runner_up(3) == 40.0


def test_flanks_are_no_runner_up():
    assert curve_of(0, 10, 50, 100, 60, 20, 0).runner_up(3) == 0.0


def test_runner_up_on_either_side():
    assert curve_of(70, 10, 50, 100, 60, 20, 40, 0).runner_up(3) == 70.0


def test_missing_lags_are_no_runner_up():
    assert curve_of(-np.inf, 10, 100, 20, -np.inf).runner_up(2) == 0.0


@given(st.lists(st.floats(0.0, 1e3), min_size=1, max_size=30))
def test_runner_up_never_beats_the_best(values):
    curve = curve_of(*values)
    assert curve.runner_up(curve.best()) <= max(values)


@pytest.mark.parametrize(
    ("values", "index", "is_edge"),
    [
        ((9, 1, 1, 1, 1), 0, True),
        ((1, 9, 1, 1, 1), 1, True),
        ((1, 1, 9, 1, 1), 2, False),
        ((1, 1, 1, 9, 1), 3, True),
        ((-np.inf, 1, 9, 1, 1, 1), 2, True),
        ((-np.inf, 1, 1, 9, 1, 1, -np.inf), 3, False),
    ],
)
def test_edges_are_those_of_what_could_be_searched(values, index, is_edge):
    assert curve_of(*values).is_at_edge(index) == is_edge


def test_slow_terms_are_slower_than_their_period():
    t = np.linspace(0.0, 20.0, 241)
    basis = slow_basis(t, 20.0)
    assert basis.shape == (241, 6)  # a constant and half periods down to 8 s
    assert np.all(basis[:, 0] == 1.0)
    crossings = np.count_nonzero(np.diff(np.sign(basis[:, -1])))
    assert crossings == 5


def test_few_rows_have_few_slow_terms():
    assert slow_basis(np.linspace(0.0, 20.0, 16), 20.0).shape == (16, 2)
