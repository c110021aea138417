"""Events known as intervals, or by line delays that nothing states, are matched."""

from dataclasses import replace

import numpy as np

from syncaudit.estimators.events import Instants, instants_of, match_events
from testkit.event_rig import Floats, irregular_onsets, train

# A tenth of the smallest gap in the trains: a wrong alignment is off by far more.
WRONG_S = 1e-3


def _instants(times_s: Floats, name: str = "a", std_s: float = 1e-5):
    return instants_of(train(times_s, name=name, std_s=std_s))


def _torch(rng: np.random.Generator, onsets: Floats, *, offset_s: float) -> Instants:
    """Return what a 12 Hz camera knows of 0.3 s pulses: few edges by rows, most by frames."""
    times_s = np.sort(np.concatenate([onsets, onsets + 0.3]))
    sense = np.where(np.isin(times_s, onsets), 1, -1)
    phase = (12.0 * times_s + 0.37) % 1.0
    is_sharp = phase < 0.1
    middle_s = times_s + (0.5 - phase) / 12.0
    return Instants(
        source="cam",
        epoch_ns=0,
        times_s=offset_s
        + np.where(is_sharp, times_s + rng.normal(0.0, 2e-5, phase.size), middle_s),
        std_s=np.full(phase.size, 2e-5),
        half_s=np.where(is_sharp, 0.0, 0.043),
        row_px=np.zeros(phase.size),
        item=np.arange(phase.size),
        sense=sense,
    ).in_order()


def _lamp_onsets(rng: np.random.Generator) -> Floats:
    return np.cumsum(0.3 + rng.uniform(0.3, 1.6, 24))


def test_intervals_confirm_what_too_few_sharp_events_propose():
    n_by_both = 0
    for seed in range(30):
        rng = np.random.default_rng([seed, 21])
        onsets = _lamp_onsets(rng)
        seen, log = _torch(rng, onsets, offset_s=-1.7), _instants(onsets)
        by_rows = seen.take(np.flatnonzero(seen.half_s == 0.0))
        found = match_events(seen, log)
        if by_rows.n >= 3 and found.why is None:
            is_refused = match_events(by_rows, log).why is not None
            is_sharp = found.fit.offset_std_s < WRONG_S
            assert abs(found.fit.offset_s - 1.7) < (WRONG_S if is_sharp else 0.02)
            n_by_both += is_refused and is_sharp
    assert n_by_both >= 3


def test_intervals_confirm_no_offset_of_another_light():
    for seed in range(60):
        rng = np.random.default_rng([seed, 22])
        seen = _torch(rng, _lamp_onsets(rng), offset_s=0.4)
        assert match_events(seen, _instants(_lamp_onsets(rng))).why is not None


def _rolling(rng: np.random.Generator, onsets: Floats, name: str, *, line_delay_s: float):
    """Return a third of the onsets as dated by a 60 Hz camera with a usual line delay."""
    row_px = rng.uniform(-240.0, 240.0, onsets.size)
    assumed = {"line_delay_s": 2.15e-5, "line_delay_std_s": 7.6e-6}
    off_s = row_px * (assumed["line_delay_s"] - line_delay_s) + rng.normal(0.0, 5e-5, onsets.size)
    events = replace(_instants(onsets, name, std_s=3e-6), times_s=onsets + off_s, row_px=row_px)
    kept = np.sort(rng.choice(onsets.size, onsets.size // 3, replace=False))
    return replace(events, **assumed).take(kept).in_order()


def test_line_delays_that_nothing_states_are_searched():
    rng = np.random.default_rng(21)
    for _ in range(12):
        onsets = irregular_onsets(rng)
        a = _rolling(rng, onsets, "a", line_delay_s=rng.uniform(9e-6, 3.4e-5))
        b = _rolling(rng, onsets + 1.5, "b", line_delay_s=rng.uniform(9e-6, 3.4e-5))
        match = match_events(a, b)
        assert match.why is None
        error_s = match.fit.offset_s + match.fit.drift * (20.0 - match.fit.anchor_s) - 1.5
        assert abs(error_s) < 4.0 * match.fit.offset_std_s + 1e-4


def test_line_delays_that_nothing_states_join_no_unrelated_trains():
    rng = np.random.default_rng(22)
    for _ in range(25):
        a = _rolling(rng, irregular_onsets(rng), "a", line_delay_s=1e-5)
        b = _rolling(rng, irregular_onsets(rng), "b", line_delay_s=3e-5)
        assert match_events(a, b).why is not None


def test_half_light_is_matched_with_onsets_not_with_a_mixture_of_onsets_and_ends():
    # Half of a light's length before an end, half of it after an onset: a wrong line delay would
    # explain some of both.
    n = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 23])
        onsets = irregular_onsets(rng, 40)
        is_end = rng.random(40) < 0.4
        shown = np.sort(rng.choice(40, 20, replace=False))
        seen = _instants(onsets + 0.0067 * is_end, std_s=1e-4)
        one = replace(seen, sense=np.where(is_end, -1, 1)).take(shown)
        half_light = _rolling(rng, onsets + 0.4 + 0.00335, "b", line_delay_s=3e-5)
        match = match_events(one, replace(half_light, is_onset=False))
        assert np.all(match.source.sense[match.i] > 0)
        if match.why is None:
            n += 1
            at_s = match.fit.predict(np.array([20.0]))[0]
            assert abs(at_s - 20.0 - 0.40335) < 4.0 * match.fit.offset_std_s + 1e-4
    assert n >= 5
