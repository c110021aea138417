"""What recordings have in common, and how much they differ beyond the measurement errors."""

import numpy as np
import pytest

from syncaudit.dsp.random_effects import fit_random_effects

WIDTH_S = 4.0
OFFSET_S = -0.094


def drawn(rng, n, between_s, n_unlike=0):
    stds = rng.uniform(2e-3, 8e-3, n)
    values = OFFSET_S + between_s * rng.normal(size=n) + stds * rng.normal(size=n)
    values[:n_unlike] = rng.uniform(-2.0, 2.0, n_unlike)
    return values, stds


@pytest.mark.parametrize("between_s", [0.0, 0.005, 0.02])
@pytest.mark.parametrize(("n", "n_unlike"), [(6, 0), (30, 0), (30, 3)])
def test_errors_of_what_is_common_are_honest(n, n_unlike, between_s):
    rng = np.random.default_rng(7)
    fits = [
        fit_random_effects(*drawn(rng, n, between_s, n_unlike), width=WIDTH_S) for _ in range(200)
    ]
    z = np.array([(fit.mean - OFFSET_S) / fit.std for fit in fits])
    # Of 200 draws, 90 to 98.5 % instead of 95 %; few recordings that agree get slightly wider
    # errors.
    assert 0.90 <= np.mean(np.abs(z) < 1.96) <= 0.99
    assert np.median([fit.between for fit in fits]) == pytest.approx(
        between_s, abs=2e-3 + 0.1 * between_s
    )


def test_a_plain_weighted_mean_would_claim_too_much():
    values, stds = drawn(np.random.default_rng(3), 30, 0.02)
    fit = fit_random_effects(values, stds, width=WIDTH_S)
    assert fit.std > 3.0 / np.sqrt(np.sum(stds**-2.0))
    assert fit.chance < 1e-6


def test_recordings_that_have_nothing_of_it_are_named_and_weigh_nothing():
    values, stds = drawn(np.random.default_rng(5), 30, 0.0)
    clean = fit_random_effects(values[1:], stds[1:], width=WIDTH_S)
    values[0] = OFFSET_S - 0.116
    fit = fit_random_effects(values, stds, width=WIDTH_S)
    assert fit.share[0] < 0.01
    assert np.all(fit.share[1:] > 0.5)
    assert fit.mean == pytest.approx(clean.mean, abs=1e-4)
    assert fit.between < 2e-3


def test_order_and_origin_change_nothing():
    values, stds = drawn(np.random.default_rng(9), 12, 0.01, 1)
    fit = fit_random_effects(values, stds, width=WIDTH_S)
    turned = fit_random_effects(values[::-1] + 0.3, stds[::-1], width=WIDTH_S)
    assert turned.mean - 0.3 == pytest.approx(fit.mean, abs=1e-8)
    assert turned.std == pytest.approx(fit.std, abs=1e-8)
    assert np.allclose(turned.share[::-1], fit.share, atol=1e-5)


def test_one_value_is_itself():
    fit = fit_random_effects(np.array([0.05]), np.array([0.002]), width=WIDTH_S)
    assert (fit.mean, fit.between) == (0.05, 0.0)
    assert fit.std == pytest.approx(0.002, rel=0.01)


def test_values_of_another_set_are_judged_by_it():
    values, stds = drawn(np.random.default_rng(2), 20, 0.0)
    fit = fit_random_effects(values, stds, width=WIDTH_S)
    assert fit.share_of(values, stds) == pytest.approx(fit.share, abs=1e-6)
    near, far = fit.share_of(np.array([OFFSET_S, 0.0]), np.array([5e-3, 5e-3]))
    assert near > 0.9 > 0.01 > far
