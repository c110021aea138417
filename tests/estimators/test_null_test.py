"""What chance explains: peak heights of searches in unrelated evidence."""

import numpy as np
import pytest

from syncaudit.estimators.delay.search import (
    ALLOWED,
    N_CHANCE,
    chance_height,
    chance_orders,
    why_by_chance,
)


def test_orders_run_backwards_and_differ():
    orders = chance_orders(40)
    assert len(orders) == N_CHANCE
    for order in orders:
        assert sorted(order) == list(range(40))
        # at most one seam, where end and start meet
        assert np.count_nonzero(np.diff(order) != -1) <= 1
    assert len({tuple(order) for order in orders}) == N_CHANCE


@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_peaks_of_chance_are_refused_as_often_as_said(scale):
    """Heights fall off exponentially, so each search is an independent experiment."""
    rng = np.random.default_rng(3)
    n_refused, n_trials = 0, 2000
    for _ in range(n_trials):
        here, *chance = scale * rng.exponential(size=(1 + N_CHANCE, 400))
        highest, needed = chance_height(list(chance), n_searches=N_CHANCE)
        n_refused += why_by_chance(float(here.max()), highest, needed, where="") is not None
    share = 1.0 - n_refused / n_trials
    # the slope is estimated from a single height, which costs a factor of a few
    assert share < 5.0 * ALLOWED


def test_a_longer_search_for_chance_asks_for_no_more():
    """What is needed depends on the range of the search itself."""
    rng = np.random.default_rng(5)
    near = [chance_height(list(rng.exponential(size=(1, 400))), n_searches=1.0) for _ in range(300)]
    far = [chance_height(list(rng.exponential(size=(9, 400))), n_searches=9.0) for _ in range(300)]
    needed, of_longer = (np.mean([each[1] for each in found]) for found in (near, far))
    assert 0.9 < of_longer / needed < 1.1


def test_what_stands_out_is_kept():
    rng = np.random.default_rng(4)
    highest, needed = chance_height(
        list(rng.exponential(size=(N_CHANCE, 400))), n_searches=N_CHANCE
    )
    assert highest < needed < 3.0 * highest
    assert why_by_chance(3.0 * highest, highest, needed, where="") is None


def test_nothing_overlaps():
    highest, needed = chance_height([np.full(50, -np.inf)] * N_CHANCE, n_searches=N_CHANCE)
    assert highest == 0.0
    assert needed > 0.0


def test_reason_has_figures():
    why = why_by_chance(120.0, 100.0, 210.4, where="reversed in time")
    assert "reversed in time" in why
    assert "100" in why
    assert "210" in why
    assert "120" in why
