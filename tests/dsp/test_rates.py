"""Confidence intervals of proportions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, binomtest

from syncaudit.dsp.rates import Rate

# Both are solutions of the same equation, to rounding.
SAME = 1e-9


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (1, 5), (3, 7), (20, 20), (57, 60)])
def test_interval_of_clips_apart_is_that_of_clopper_and_pearson(hits, n):
    expected = binomtest(hits, n).proportion_ci(0.95, method="exact")
    found = Rate(n_hits=hits, n=n, n_clips=n).interval()
    assert found == pytest.approx((expected.low, expected.high), abs=SAME)


def test_variants_of_few_clips_count_as_few():
    assert Rate(n_hits=30, n=60, n_clips=10).interval() == pytest.approx(
        Rate(n_hits=5, n=10, n_clips=10).interval(), abs=SAME
    )


def test_interval_holds_where_all_variants_of_a_clip_turn_out_alike():
    rng = np.random.default_rng(3)
    true, n_clips, n_runs = 0.8, 12, 2000
    hits = 6 * rng.binomial(n_clips, true, n_runs)
    held = 0
    for count in hits.tolist():
        low, high = Rate(n_hits=count, n=6 * n_clips, n_clips=n_clips).interval()
        held += low <= true <= high
    # Not below 95 % except by chance: three standard errors of 2000 runs are 1.5 %.
    assert held / n_runs > 0.935


def test_nothing_counted_tells_nothing():
    rate = Rate(n_hits=0, n=0, n_clips=0)
    assert (rate.share, rate.interval()) == (None, (0.0, 1.0))


@pytest.mark.parametrize(("hits", "n", "n_clips"), [(2, 2, 1), (9, 10, 10), (0, 4, 4), (0, 0, 0)])
def test_more_clips_without_a_miss_promise_and_one_less_do_not(hits, n, n_clips):
    rate = Rate(n_hits=hits, n=n, n_clips=n_clips)
    more = rate.clips_to_promise(0.95)
    few = min(n, n_clips)
    held = few * hits / n if n else 0.0
    for extra, is_enough in ((more, True), (more - 1, False)):
        low = beta.ppf(0.025, held + extra, few - held + 1.0)
        assert bool(low >= 0.95) is is_enough
