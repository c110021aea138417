"""Averages over candidate strengths of wander."""

import numpy as np
import pytest

from syncaudit.graph.clock_filter import (
    Readings,
    believe,
    candidate_noises,
    coarse_candidate_noises,
)

STD_S = 8e-4


def readings(offsets_s, every_s=20.0):
    n = offsets_s.size
    return Readings(
        times_s=every_s * np.arange(n),
        offsets_s=offsets_s,
        precision=np.full(n, STD_S**-2),
        step_std_s=1.0,
    )


def test_many_clips_tell_how_strongly_a_clock_wanders():
    rng = np.random.default_rng(5)
    walk = np.cumsum(2e-4 * 20.0**0.5 * rng.normal(size=400))
    belief = believe(readings(walk + STD_S * rng.normal(size=400)), (), among=candidate_noises())
    found = np.exp(belief.share @ np.log(belief.noise.offset))
    # Neighbours on the grid lie a factor of 2.2 apart.
    assert 1.2e-4 < found < 3.5e-4


def test_many_clips_tell_that_they_err_more_than_they_claim():
    rng = np.random.default_rng(6)
    belief = believe(readings(2.0 * STD_S * rng.normal(size=200)), (), among=candidate_noises())
    assert belief.share @ belief.noise.scale == pytest.approx(2.0, abs=0.3)


def test_a_mixture_is_as_wide_as_its_parts_and_their_distance():
    belief = believe(readings(np.zeros(5)), (), among=candidate_noises())
    h = belief.share.size
    assert belief.share.sum() == pytest.approx(1.0, abs=1e-12)
    apart = np.where(np.arange(h) < h // 2, -1.0, 1.0)
    middle, std = belief.mixed(apart, np.full(h, 0.25))
    assert std**2 == pytest.approx(0.25 + 1.0 - middle**2, abs=1e-12)


def test_candidates_that_do_not_count_are_dropped():
    belief = believe(readings(np.zeros(60)), (), among=candidate_noises())
    assert belief.noise.offset.size < candidate_noises().offset.size
    assert belief.noise.offset.max() < 1e-3


def test_coarse_candidates_are_among_all():
    every = candidate_noises()
    known = set(zip(every.offset, every.rate, every.scale, strict=True))
    coarse = coarse_candidate_noises()
    assert set(zip(coarse.offset, coarse.rate, coarse.scale, strict=True)) < known
