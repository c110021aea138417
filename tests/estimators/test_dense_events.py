"""Trains so dense that by chance some event lies near every other."""

import numpy as np
import pytest

from syncaudit.estimators.events import Instants, match_events
from syncaudit.estimators.events.voting import MAX_PAIRS, evenly_chosen

FRAME_S = 1.0 / 12.0
STD_S = 3e-5
# Four sigma of the mean of a hundred instants.
MAX_ERROR_S = 2e-5


def train(seed):
    return np.cumsum(0.007 * np.random.default_rng(seed).uniform(0.75, 1.25, 6000))


def seen(name, times_s, *, phase_s, offset_s, seed, readout_s=0.02):
    """Return what a camera sees: pulses within its readouts, two of five missed."""
    rng = np.random.default_rng(seed)
    is_seen = (np.mod(times_s - phase_s, FRAME_S) < readout_s) & (rng.random(times_s.size) < 0.6)
    own_s = times_s[is_seen] + offset_s + STD_S * rng.standard_normal(int(is_seen.sum()))
    return instants(name, np.sort(own_s))


def instants(name, times_s):
    n = times_s.size
    return Instants(
        source=name,
        epoch_ns=0,
        times_s=times_s,
        std_s=np.full(n, STD_S),
        half_s=np.zeros(n),
        row_px=np.zeros(n),
        item=np.arange(n),
    )


def test_dense_trains_are_matched():
    times_s = train(1)
    one = seen("a", times_s, phase_s=0.0, offset_s=0.1, seed=2)
    other = seen("b", times_s, phase_s=0.008, offset_s=-0.2, seed=3)
    match = match_events(one, other, max_offset_s=30.0)
    assert match.why is None
    assert match.i.size > 200
    assert abs(match.fit.offset_s + 0.3) < MAX_ERROR_S


def test_few_of_thousands_of_events_vote():
    times_s = train(4)
    one = seen("a", times_s, phase_s=0.0, offset_s=0.1, seed=5)
    match = match_events(one, instants("log", times_s), max_offset_s=30.0)
    assert match.why is None
    assert abs(match.fit.offset_s + 0.1) < MAX_ERROR_S


@pytest.mark.parametrize("seed", range(6))
def test_cameras_that_share_no_pulse_are_not_matched(seed):
    times_s = train(10 + seed)
    one = seen("a", times_s, phase_s=0.0, offset_s=0.1, seed=seed)
    other = seen("b", times_s, phase_s=0.04, offset_s=-0.2, seed=100 + seed)
    assert match_events(one, other, max_offset_s=30.0).why is not None


def test_voters_are_spread_over_the_train():
    chosen = evenly_chosen(6000, MAX_PAIRS // 1000)
    assert chosen.size == 200
    assert np.all(np.diff(chosen) > 0)
    counts = np.histogram(chosen, bins=10, range=(0, 6000))[0]
    assert counts.min() >= 18
    assert evenly_chosen(40, 5).tolist() == list(range(40))
