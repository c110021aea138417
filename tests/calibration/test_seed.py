"""Pairs along which the first estimate of the clocks is propagated."""

import numpy as np
from syncaudit_calibration.closures import match_all
from syncaudit_calibration.seed import _carry

from syncaudit.estimators.events import Instants

HALF_S, LENGTH_S, N_SHARP = 0.04, 0.03, 7


def instants(name, times_s, sense, half_s):
    order = np.argsort(times_s)
    n = order.size
    return Instants(
        source=name,
        epoch_ns=0,
        times_s=times_s[order],
        std_s=np.full(n, 2e-5),
        half_s=half_s[order],
        row_px=np.zeros(n),
        item=np.arange(n, dtype=np.int64),
        sense=sense[order],
    )


def blurred(rng, name, onsets_s, sharp_s):
    """Return lights that go on and off between two frames, some with an onset dated by a row."""
    changes_s = np.concatenate((onsets_s, onsets_s + LENGTH_S))
    off_s = rng.uniform(-HALF_S, HALF_S, changes_s.size)
    sense = np.repeat([1, -1, 1], [onsets_s.size, onsets_s.size, sharp_s.size])
    half_s = np.repeat([HALF_S, 0.0], [changes_s.size, sharp_s.size])
    return instants(name, np.concatenate((changes_s + off_s, sharp_s)), sense, half_s)


def test_clocks_are_carried_by_instants_where_intervals_match_more():
    # Two cameras date none of the same lights; a trigger, which logs onsets, dates those of both.
    rng = np.random.default_rng(1)
    onsets_s = np.cumsum(rng.uniform(0.4, 1.2, 40))
    shared, *sharp = np.split(rng.permutation(onsets_s), [26, 26 + N_SHARP])
    events = {
        name: blurred(rng, name, np.sort(shared), np.sort(own[:N_SHARP]))
        for name, own in zip("ab", sharp, strict=True)
    }
    ones = np.ones(40, dtype=np.int64)
    events["trigger"] = instants("trigger", onsets_s, ones, np.zeros(40))
    links = match_all(events, 30.0)
    assert links.matches["a", "b"].n > links.matches["a", "trigger"].n
    maps = _carry("a", list(events), links, {})
    middle = instants("any", np.array([20.0]), np.ones(1, dtype=np.int64), np.zeros(1))
    for clock in maps.values():
        assert abs(clock.of(middle) - middle.times_s) < 2e-4
