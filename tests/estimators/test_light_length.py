"""How long lights stay on, for cameras that cannot tell."""

import dataclasses

import numpy as np

from syncaudit.estimators.events import limit_light
from syncaudit.model import FlashIntervals, Quantity
from testkit.event_rig import WIDTH_S, camera, irregular_onsets

PERIOD_S, OPEN_S = 1 / 24, 0.008


def whole_frames(onsets_s):
    stop_s = PERIOD_S * np.ceil(onsets_s / PERIOD_S)
    is_seen = onsets_s + WIDTH_S > stop_s - OPEN_S
    stop_s = stop_s[is_seen]
    return FlashIntervals(
        source="whole",
        quantity=Quantity.FLASH,
        epoch_ns=0,
        start_s=stop_s - PERIOD_S,
        stop_s=stop_s,
        lit_s=stop_s - OPEN_S,
        std_s=np.full(stop_s.size, 1e-4),
        count=np.ones(stop_s.size, dtype=np.int64),
    ), onsets_s[is_seen]


def test_rows_that_show_how_long_a_pulse_is_narrow_what_whole_frames_say():
    rng = np.random.default_rng(3)
    onsets_s = irregular_onsets(rng, 60)
    lit, seen_s = whole_frames(onsets_s)
    rows = camera(rng, onsets_s)
    _, narrow = limit_light([rows, lit])
    assert np.all((narrow.start_s <= seen_s) & (seen_s <= narrow.stop_s))
    assert np.median(narrow.stop_s - narrow.start_s) < OPEN_S + 2.0 * WIDTH_S
    for useless in (
        dataclasses.replace(rows, half_light_s=None, half_light_std_s=None),
        dataclasses.replace(rows, sense=np.ones(rows.band.size, dtype=np.int64)),
    ):
        _, same = limit_light([useless, lit])
        assert same is lit


def test_edges_of_exposures_that_nobody_states_are_no_lights_that_stay():
    # Exposures longer than the read-out: each frame shows one edge, as of a light that stays.
    rng = np.random.default_rng(4)
    onsets_s = irregular_onsets(rng, 60)
    rows = camera(rng, onsets_s)
    upper = rows.exposure_part > 0.0
    sense = np.where(upper, 1, -1).astype(np.int64)
    guessed = dataclasses.replace(
        rows,
        sense=sense,
        exposure_part=np.zeros(sense.size),
        exposure_s=None,
        half_light_s=0.0,
        half_s=np.where(np.arange(sense.size) < 2, 0.02, 0.0),
    )
    _, found = limit_light([rows, guessed])
    assert found.sense is None
    assert found.half_s is None
    assert found.half_light_s is None
    assert np.array_equal(found.exposure_part, rows.exposure_part[2:])
    for right in (
        dataclasses.replace(guessed, exposure_s=0.008),
        dataclasses.replace(guessed, sense=np.abs(sense)),
    ):
        assert limit_light([rows, right])[1] is right
