"""Lights that go on and off in turn: programs on a grid of bits are patterns, blinking is not."""

import numpy as np
import pytest

from syncaudit.estimators.events import instants_of, match_events, measure_flashes, period_of
from testkit.event_rig import SPAN_S, Clock, switches

CLOCK = Clock(offset_s=1.37, drift=3e-5)


def shown(rng, on_s, off_s, rates_hz=(24.0, 20.0), **taken):
    """Return the events of two cameras, the second with `CLOCK`."""
    switches_s = np.sort(np.concatenate([on_s, off_s]))
    cameras = [
        switches(rng, switches_s, name=name, clock=clock, rate_hz=rate_hz, line_delay_s=8e-5)
        for name, clock, rate_hz in zip("ab", (Clock(), CLOCK), rates_hz, strict=True)
    ]
    return [instants_of(seen, **taken) for seen in cameras]


def program(rng, bit_s=0.12):
    """Return when a light goes on and off that plays random bits of equal length."""
    bits = np.concatenate([[0], rng.integers(0, 2, int((SPAN_S - 2.0) / bit_s)), [0]])
    at_s = 1.0 + bit_s * np.arange(bits.size)
    change = np.diff(bits, prepend=0)
    return at_s[change > 0], at_s[change < 0]


def blinker(_rng, period_s=0.667):
    """Return when a lamp blinks without pause."""
    on_s = 1.0 + period_s * np.arange(int((SPAN_S - 3.0) / period_s))
    return on_s, on_s + 0.4 * period_s


def indicator(rng, period_s=0.667):
    """Return when a turn indicator blinks, which somebody switches on for some blinks."""
    starts_s = 1.0 + np.cumsum(rng.uniform(3.0, 5.0, 12))
    on_s = np.concatenate([t + period_s * np.arange(rng.integers(2, 5)) for t in starts_s])
    on_s = on_s[on_s < SPAN_S - 2.0]
    return on_s, on_s + 0.5 * period_s


@pytest.mark.parametrize(
    ("light", "rates_hz"), [(program, (60.0, 50.0)), (indicator, (24.0, 20.0))]
)
@pytest.mark.parametrize("seed", range(8))
def test_patterns_on_a_grid_are_matched(light, rates_hz, seed):
    rng = np.random.default_rng([seed, 5])
    one, other = shown(rng, *light(rng), rates_hz, with_intervals=True)
    assert period_of(one, max_offset_s=30.0) is period_of(other, max_offset_s=30.0) is None
    match = match_events(one, other)
    assert match.why is None
    off_s = CLOCK.own(np.array([20.0]))[0] - match.fit.predict(np.array([20.0]))[0]
    assert abs(off_s) < 0.1


@pytest.mark.parametrize("with_intervals", [False, True])
@pytest.mark.parametrize("missed", [0.0, 0.04])
@pytest.mark.parametrize("seed", range(4))
def test_blinking_without_pause_is_refused(seed, missed, with_intervals):
    rng = np.random.default_rng([seed, 6])
    pair = shown(rng, *blinker(rng), with_intervals=with_intervals)
    one, other = (events.take(np.flatnonzero(rng.random(events.n) >= missed)) for events in pair)
    assert match_events(one, other).why is not None


def test_what_lies_between_frames_ties_cameras_that_date_few_switches_by_rows():
    """A torch switched by hand: one of nine switches happens within a readout."""
    zs, n_by_rows = [], 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        switches_s = np.sort(rng.uniform(1.0, SPAN_S - 1.0, 40))
        seen = [
            switches(rng, switches_s, name=name, clock=clock, rate_hz=rate_hz, line_delay_s=2e-5)
            for name, clock, rate_hz in zip("ab", (Clock(), CLOCK), (12.0, 10.0), strict=True)
        ]
        n_by_rows += match_events(*map(instants_of, seen)).why is None
        found = measure_flashes(*seen)
        assert found.accepted
        assert found.offset_std_s < 0.02
        middle_s = found.at_ns * 1e-9
        true_s = CLOCK.own(np.array([middle_s]))[0] - middle_s
        zs.append((found.offset_s - true_s) / found.offset_std_s)
    assert n_by_rows < 3
    assert np.abs(zs).max() < 3.0
