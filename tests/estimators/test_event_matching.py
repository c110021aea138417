import time
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from syncaudit.estimators.events import instants_of, match_events, period_of
from syncaudit.estimators.events.voting import chance_of, find_period, find_repeat, vote
from testkit.event_rig import SPAN_S, Floats, irregular_onsets, train

# A tenth of the smallest gap in the trains: a wrong alignment is off by far more.
WRONG_S = 1e-3


def _instants(times_s: Floats, name: str = "a", std_s: float = 1e-5):
    return instants_of(train(times_s, name=name, std_s=std_s))


def _pulses(rng: np.random.Generator, kind: str) -> Floats:
    n = int(rng.integers(6, 90))
    span_s = rng.uniform(20.0, 60.0)
    if kind == "uniform":
        return np.sort(rng.uniform(0.0, span_s, n))
    if kind == "gaps":
        return np.cumsum(rng.uniform(0.3, 1.7, n)) * span_s / n
    if kind == "periodic":
        return np.arange(n) * span_s / n
    if kind == "nearly periodic":
        jitter_s = 10.0 ** rng.uniform(-5.0, -1.5)
        return np.sort(np.arange(n) * span_s / n + rng.normal(0.0, jitter_s, n))
    if kind == "bursts":
        pattern = np.cumsum(rng.uniform(0.008, 0.03, int(rng.integers(2, 6))))
        starts = np.cumsum(rng.uniform(0.5, 3.0, max(2, n // pattern.size)))
        return np.sort((starts[:, None] + pattern).ravel())
    pattern = np.cumsum(rng.uniform(0.1, 0.8, int(rng.integers(4, 12))))
    starts = np.arange(max(2, n // pattern.size)) * (pattern[-1] + 0.3)
    return (starts[:, None] + pattern).ravel()


KINDS = ("uniform", "gaps", "periodic", "nearly periodic", "bursts", "looped pattern")


def _seen(rng: np.random.Generator, pulses: Floats, std_s: float) -> Floats:
    share = rng.uniform(0.25, 1.0)
    if rng.random() < 0.3:  # a camera sees only what falls into its readout
        frame_s = rng.uniform(0.03, 0.1)
        is_seen = (pulses / frame_s + rng.random()) % 1.0 < share
    else:
        is_seen = rng.random(pulses.size) < share
    seen = pulses[is_seen] + rng.normal(0.0, std_s, int(is_seen.sum()))
    false = rng.uniform(pulses[0], pulses[-1], rng.poisson(rng.choice([0, 2, 8])))
    return np.sort(np.concatenate([seen, false]))


def test_no_random_problem_is_accepted_and_wrong():
    # benchmarks/flash.py runs at least a thousand of these.
    rng = np.random.default_rng(11)
    right = dict.fromkeys(KINDS, 0)
    for k in range(180):
        kind = KINDS[k % len(KINDS)]
        pulses = _pulses(rng, kind)
        std_s = 10.0 ** rng.uniform(-5.0, -3.7)
        offset_s, drift = rng.uniform(-25.0, 25.0), rng.uniform(-1e-3, 1e-3)
        source = _seen(rng, pulses, std_s)
        target = _seen(rng, pulses, std_s)
        target = target + offset_s + drift * target
        match = match_events(_instants(source, "a", std_s), _instants(target, "b", std_s))
        if match.why is None:
            anchor_s = match.fit.anchor_s
            assert abs(match.fit.offset_s - offset_s - drift * anchor_s) < WRONG_S, (k, kind)
            right[kind] += 1
    assert right["periodic"] == 0
    # Recommended trains are usually matched (few cameras see enough of the short ones).
    assert right["uniform"] + right["gaps"] > 0.7 * 60


def test_the_first_event_need_not_be_the_same():
    onsets = irregular_onsets(np.random.default_rng(0), 40)
    match = match_events(_instants(onsets[1:]), _instants(onsets[3:-2] + 7.0, "b"))
    assert match.fit.offset_s == pytest.approx(7.0, abs=1e-4)
    assert match.n == 35


def test_swapping_the_sources_inverts_the_map():
    rng = np.random.default_rng(1)
    onsets = irregular_onsets(rng)
    a, b = _instants(onsets), _instants(onsets * (1.0 + 3e-4) + 3.0, "b")
    one, other = match_events(a, b), match_events(b, a)
    there = one.fit.predict(onsets)
    back = other.fit.predict(there)
    assert np.max(np.abs(back - onsets)) < 1e-6
    assert set(zip(one.i, one.j, strict=True)) == set(zip(other.j, other.i, strict=True))


def test_events_in_common_by_chance_are_refused():
    rng = np.random.default_rng(2)
    for _ in range(20):
        a, b = (np.sort(rng.uniform(0.0, 45.0, 60)) for _ in range(2))
        assert match_events(_instants(a), _instants(b, "b")).why is not None


def test_too_few_events_are_refused_with_their_number():
    few = match_events(_instants(np.arange(2.0)), _instants(np.arange(9.0) ** 1.5, "b"))
    assert few.why == "a has 2 events; at least 3 are needed"


def test_three_sharp_irregular_events_are_enough():
    times_s = np.array([1.0, 4.283, 11.071])
    match = match_events(_instants(times_s), _instants(times_s + 0.4, "b"), max_offset_s=2.0)
    assert match.n == 3
    assert match.fit.offset_s == pytest.approx(0.4, abs=1e-5)
    assert match.chance < 1e-4


def test_three_blurred_events_are_too_few_and_the_number_needed_is_told():
    times_s = np.array([1.0, 4.283, 11.071])
    one, other = (_instants(times_s + by_s, name, 6e-3) for by_s, name in ((0.0, "a"), (0.4, "b")))
    match = match_events(one, other, max_offset_s=2.0)
    assert "too few events in common (needed about 4, irregularly spaced)" in match.why


@pytest.mark.parametrize(("offset_s", "is_enough"), [(0.4, True), (-0.9, True), (7.0, False)])
def test_fewer_events_are_enough_where_clocks_usually_lie(offset_s, is_enough):
    times_s = np.array([1.0, 4.283, 11.071, 13.402])
    one = _instants(times_s, "a", 6e-3)
    match = match_events(one, _instants(times_s + offset_s, "b", 6e-3), max_offset_s=30.0)
    assert (match.why is None) is is_enough
    assert is_enough or "too few events in common" in match.why


def test_an_instant_that_both_ends_of_a_light_tell_counts_once():
    times_s = np.array([1.0, 4.283, 11.071])
    double_s = np.sort(np.concatenate([times_s, times_s + 2e-4]))
    one, other = _instants(double_s, "a", 6e-3), _instants(double_s + 0.4, "b", 6e-3)
    assert match_events(one, other, max_offset_s=2.0, check_periods=False).why is not None
    few = np.array([8.25, 10.747, 15.502, 24.913, 25.416, 27.167])
    own = np.sort(np.concatenate([few, few[[1, 3]] + 6e-5]))
    seen = np.sort(np.concatenate([few, np.random.default_rng(3).uniform(1.0, 29.0, 36)]))
    match = match_events(_instants(own, "a", 3e-5), _instants(seen - 0.1, "b", 5e-5))
    assert match.why is None
    assert match.n == 6
    assert match.fit.offset_s == pytest.approx(-0.1, abs=1e-4)


@pytest.mark.parametrize("places", [(0, 1, 2), (0, 1, 3), (0, 2, 3), (0, 1, 4)])
def test_three_events_of_an_even_train_are_no_evidence(places):
    times_s = 0.7 * np.array(places)
    match = match_events(_instants(times_s), _instants(times_s + 0.7, "b"), max_offset_s=2.0)
    assert "modulo 700 ms" in match.why


def _lamps(starts_s: Floats, width_s: float, name: str, std_s: float, *, knows_sense: bool):
    """Return every flash as two events: it goes on and off, or two frames show it."""
    events = _instants(np.concatenate([starts_s, starts_s + width_s]), name, std_s)
    is_on = np.isin(events.times_s, starts_s)
    return replace(events, sense=np.where(is_on, 1, -1)) if knows_sense else events


@pytest.mark.parametrize(("n", "knows_sense"), [(3, True), (11, True), (11, False)])
@pytest.mark.parametrize("width_s", [0.05, 0.2])
def test_second_edges_of_flashes_hide_no_match(n, knows_sense, width_s):
    starts_s = np.random.default_rng(1).uniform(0.5, 19.5, n)
    one, other = (
        _lamps(starts_s + by_s, width_s, name, 1e-5, knows_sense=knows_sense)
        for by_s, name in ((0.0, "a"), (0.0351, "b"))
    )
    match = match_events(one, other, max_offset_s=2.0)
    assert match.why is None
    assert match.fit.offset_s == pytest.approx(0.0351, abs=1e-4)


def test_second_edges_of_flashes_are_no_evidence():
    """Two lamps that are both on for 0.2 s can always be aligned by one flash."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        one, other = (
            _lamps(rng.uniform(0.0, 20.0, 4), 0.2, name, 1e-4, knows_sense=True) for name in "ab"
        )
        assert match_events(one, other, max_offset_s=2.0).why is not None


def test_one_burst_is_one_event():
    """A lamp may fire the same burst at every release, so one burst in each is no evidence."""
    burst_s = np.array([0.0, 0.021, 0.057, 0.102])
    one, other = _instants(3.0 + burst_s), _instants(3.9 + burst_s, "b")
    assert "too few events in common" in match_events(one, other, max_offset_s=2.0).why


@pytest.mark.parametrize("max_offset_s", [2.0, 30.0])
@pytest.mark.parametrize("kind", ["even", "jittered", "bursts", "double", "frames"])
def test_few_unrelated_events_are_refused(kind, max_offset_s):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 9))
        shared = rng.uniform(0.02, 0.3)

        def drawn(rng=rng, n=n, shared=shared):
            if kind == "even":
                return np.arange(n) * 1.3 + rng.uniform(0.0, 1.3)
            if kind == "jittered":
                return np.cumsum(1.3 * (1.0 + rng.normal(0.0, 0.01, n)))
            if kind == "frames":
                return rng.choice(300, n, replace=False) / 15.0 + rng.uniform(-3e-3, 3e-3, n)
            starts = rng.uniform(0.0, 20.0, n)
            spread = shared * (1.0 if kind == "double" else rng.uniform(0.5, 1.5, n))
            return np.concatenate([starts, starts + spread])

        one, other = _instants(drawn(), std_s=1e-4), _instants(drawn(), "b", 1e-4)
        assert match_events(one, other, max_offset_s=max_offset_s).why is not None, seed


@pytest.mark.parametrize("n", [3, 5, 11])
def test_errors_of_few_events_are_honest(n):
    rng = np.random.default_rng(n)
    z = []
    for _ in range(150):
        times_s = rng.uniform(0.5, 19.5, n)
        one, other = (
            _instants(times_s + by_s + rng.normal(0.0, 5e-5, n), name, 5e-5)
            for by_s, name in ((0.0, "a"), (0.3, "b"))
        )
        fit = match_events(one, other, max_offset_s=2.0).fit
        if fit is not None and fit.n == n:
            z.append((fit.offset_s - 0.3) / fit.offset_std_s)
    assert len(z) > 130
    # 95 % of 150 deviate by less: 3 sigma of a binomial are 5 %.
    assert np.mean(np.abs(z) < 1.96) >= 0.90


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_a_periodic_train_is_refused_with_its_period(share):
    rng = np.random.default_rng(3)
    pulses = np.arange(80) * 0.55
    seen = pulses[rng.random(80) < share]
    match = match_events(_instants(seen), _instants(pulses + 1.0, "b"))
    assert "known only modulo 550 ms" in match.why
    assert match.period_s == pytest.approx(0.55, abs=1e-4)


def test_a_nearly_periodic_train_is_refused_where_its_alias_fits():
    rng = np.random.default_rng(4)
    pulses = np.arange(60) * 0.7 + rng.normal(0.0, 1e-4, 60)
    match = match_events(_instants(pulses, std_s=5e-5), _instants(pulses[3:] + 1.0, "b", 5e-5))
    assert "modulo 700 ms" in match.why


def test_jitter_beyond_the_errors_makes_a_train_unique():
    rng = np.random.default_rng(5)
    pulses = np.arange(60) * 0.7 + rng.normal(0.0, 0.02, 60)
    match = match_events(_instants(pulses), _instants(pulses[3:] + 1.0, "b"))
    assert match.fit.offset_s == pytest.approx(1.0, abs=1e-4)


def test_a_looped_pattern_is_refused():
    pattern = np.array([0.0, 0.7, 1.1, 2.3, 2.9, 4.2])
    pulses = (np.arange(8)[:, None] * 5.0 + pattern).ravel()
    match = match_events(_instants(pulses), _instants(pulses[12:] + 0.4, "b"))
    assert "modulo 5.00 s" in match.why or "modulo 5 s" in match.why


def test_an_offset_beyond_the_search_is_not_found():
    onsets = irregular_onsets(np.random.default_rng(6))
    a, b = _instants(onsets), _instants(onsets + 12.0, "b")
    assert match_events(a, b, max_offset_s=5.0).why is not None
    assert match_events(a, b, max_offset_s=15.0).why is None


def test_unrelated_epochs_are_searched_over_every_overlap():
    onsets = irregular_onsets(np.random.default_rng(7))
    match = match_events(_instants(onsets), _instants(onsets + 5000.0, "b"), max_offset_s=5.0)
    assert match.fit.offset_s == pytest.approx(5000.0, abs=1e-4)


def test_several_steps_of_one_clock_are_found():
    onsets = irregular_onsets(np.random.default_rng(10))
    stepped = onsets - 0.04 * (onsets > 9.0) + 0.3 * (onsets > 20.0) - 0.04 * (onsets > 35.0)
    match = match_events(_instants(onsets), _instants(stepped + 2.0, "b"))
    assert match.n == 80
    steps = match.fit.steps
    assert [step.size_s for step in steps] == pytest.approx([-0.04, 0.3, -0.04], abs=2e-5)
    for step, at_s in zip(steps, (9.0, 20.0, 35.0), strict=True):
        assert step.after_s < at_s < step.before_s
    assert abs(match.fit.offset_s - 2.0) < 2e-5


def test_a_step_of_one_clock_is_found():
    onsets = irregular_onsets(np.random.default_rng(8))
    stepped = onsets + np.where(onsets > 20.0, -0.083, 0.0)
    match = match_events(_instants(onsets), _instants(stepped + 2.0, "b"))
    assert match.n == 80
    assert match.fit.steps[0].size_s == pytest.approx(-0.083, abs=2e-5)
    assert abs(match.fit.steps[0].at_s - 20.0) < 1.5


def test_six_sources_with_eighty_events_are_matched_quickly():
    rng = np.random.default_rng(9)
    onsets = irregular_onsets(rng)
    sources = [
        _instants(onsets + rng.uniform(-10.0, 10.0) + rng.normal(0.0, 2e-5, 80), f"s{k}")
        for k in range(6)
    ]
    start_s = time.process_time()
    matches = [match_events(a, b) for a, b in combinations(sources, 2)]
    # The target is 0.2 s (measured by benchmarks/flash.py); a busy machine takes longer.
    assert time.process_time() - start_s < 1.0
    assert all(match.n == 80 for match in matches)


def test_votes_count_pairs_in_the_window():
    source = np.array([0.0, 1.0, 3.0, 7.0])
    best = vote(
        source,
        np.array([2.0, 3.0, 5.0, 9.0, 9.5]),
        window_s=0.01,
        lowest_s=-5.0,
        highest_s=5.0,
        max_drift=0.0,
        anchor_s=0.0,
        n_best=3,
    )[0]
    assert best.votes == 4
    assert best.offset_s == pytest.approx(2.0, abs=0.02)


def test_chance_is_one_without_matches_and_falls_with_them():
    assert chance_of(0, 1.0, 10.0) == 1.0
    assert chance_of(3, 0.01, 1.0) > chance_of(6, 0.01, 1.0)


def test_irregular_trains_have_no_period():
    rng = np.random.default_rng(10)
    for _ in range(50):
        times = np.sort(rng.uniform(0.0, SPAN_S, int(rng.integers(5, 80))))
        assert find_period(times, tolerance_s=3e-4, max_period_s=30.0) is None
        assert find_repeat(times, tolerance_s=2e-4, max_lag_s=30.0) is None


def test_false_events_do_not_hide_a_period():
    rng = np.random.default_rng(11)
    times = np.sort(np.concatenate([np.arange(40) * 1.1, rng.uniform(0.0, 44.0, 12)]))
    assert period_of(_instants(times), max_offset_s=30.0) == pytest.approx(1.1, abs=1e-3)


def test_frames_that_line_up_are_no_evidence():
    """Cameras of one rate see flashes only near their frames, so unrelated flashes coincide too."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        frames = np.arange(0.0, 20.0, 1.0 / 12.0)
        one, other = (
            np.sort(rng.choice(frames, 30, replace=False)) + rng.uniform(-3e-3, 3e-3, 30)
            for _ in range(2)
        )
        match = match_events(_instants(one, std_s=1e-3), _instants(other, "b", std_s=1e-3))
        assert match.why is not None


def test_nearly_even_trains_of_other_flashes_are_refused():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        one, other = (np.cumsum(0.27 * (1.0 + rng.normal(0.0, 0.03, 220))) for _ in range(2))
        match = match_events(_instants(one, std_s=1e-4), _instants(other, "b", std_s=1e-4))
        assert match.why is not None


@pytest.mark.parametrize("knows_sense", [True, False])
def test_light_that_goes_on_is_not_light_that_goes_off(knows_sense):
    on_s = irregular_onsets(np.random.default_rng(3), n=40)
    width_s, offset_s = 0.2, 0.0351
    source = _instants(on_s, "a")
    # The other camera sees every light go off, but only few go on.
    target_s = np.concatenate([on_s[::4], on_s + width_s]) + offset_s
    sense = np.repeat([1, -1], [on_s[::4].size, on_s.size])
    order = np.argsort(target_s)
    target = _instants(target_s[order], "b")
    if knows_sense:
        source = replace(source, sense=np.ones(source.n, dtype=np.int64))
        target = replace(target, sense=sense[order])
    match = match_events(source, target)
    assert match.why is None
    error_s = match.fit.offset_s - offset_s
    assert abs(error_s - (0.0 if knows_sense else width_s)) < WRONG_S
