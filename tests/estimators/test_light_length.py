"""How long lights stay on, for cameras that cannot determine it."""

import dataclasses

import numpy as np
import pytest

from syncaudit.estimators.events import (
    find_light_length,
    instants_of,
    limit_light,
    period_of,
)
from syncaudit.estimators.pairs import measure_light
from syncaudit.model import ClipEvidence, FlashIntervals, Quantity
from testkit.event_rig import (
    SPAN_S,
    WIDTH_S,
    Clock,
    camera,
    irregular_onsets,
    switches,
    trigger,
)

PERIOD_S, OPEN_S = 1 / 24, 0.008


def whole_frames(onsets_s, width_s=WIDTH_S):
    stop_s = PERIOD_S * np.ceil(onsets_s / PERIOD_S)
    is_seen = onsets_s + width_s > stop_s - OPEN_S
    stop_s = stop_s[is_seen]
    frames_s = PERIOD_S * np.arange(int(SPAN_S / PERIOD_S))
    return FlashIntervals(
        source="whole",
        quantity=Quantity.FLASH,
        epoch_ns=0,
        start_s=stop_s - PERIOD_S,
        stop_s=stop_s,
        lit_s=stop_s - OPEN_S,
        std_s=np.full(stop_s.size, 1e-4),
        count=np.ones(stop_s.size, dtype=np.int64),
        dead_s=np.stack([frames_s, frames_s + PERIOD_S - OPEN_S], axis=1),
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


def test_audits_narrow_frames_by_the_light_that_a_trigger_shows_to_be_short():
    """A light is seen if it is on during an exposure, so its onset is rarely far before one."""
    errors_s, stds_s = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        onsets_s = irregular_onsets(rng, 60)
        lit, _ = whole_frames(onsets_s, width_s=0.006)
        evidence = ClipEvidence(
            flashes={"whole": lit}, triggers={"trigger": trigger(rng, onsets_s)}
        )
        (pair,) = measure_light(evidence, {}, 2.0)
        assert pair.accepted
        errors_s.append(pair.offset_s)
        stds_s.append(pair.offset_std_s)
    # as intervals from the frame before: 14 ms off
    assert np.abs(errors_s).max() < 0.003
    assert np.abs(np.divide(errors_s, stds_s)).max() < 3.0


def test_dates_by_a_shutter_that_keeps_its_phase_do_not_show_how_long_lights_are():
    """It dates what lies within its readouts, always the same part of the other's frames."""
    zs, stds_s = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        onsets_s = irregular_onsets(rng, 60)
        lit, _ = whole_frames(onsets_s, width_s=PERIOD_S)
        rows = switches(
            rng,
            np.sort(np.concatenate([onsets_s, onsets_s + PERIOD_S])),
            name="rows",
            rate_hz=1.0 / PERIOD_S,
            line_delay_s=2e-5,
        )
        for pair in measure_light(ClipEvidence(flashes={"whole": lit, "rows": rows}), {}, 2.0):
            if pair.accepted:
                zs.append(pair.offset_s / pair.offset_std_s)
                stds_s.append(pair.offset_std_s)
    assert len(zs) > 6
    assert np.abs(zs).max() < 3.0
    # a readout of 10 ms anywhere in frames of 42 ms
    assert min(stds_s) > 0.005


def test_edges_of_exposures_that_nobody_states_are_no_lights_that_stay():
    # Exposures longer than the readout: each frame shows one edge, as for a light that stays on.
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
        half_light_std_s=3e-4,
        half_s=np.where(np.arange(sense.size) < 2, 0.02, 0.0),
    )
    _, found = limit_light([rows, guessed])
    assert found.sense is None
    assert found.half_s is None
    assert found.half_light_s is None
    assert found.rise_std_s == 3e-4  # of a tail that these edges would not show
    assert np.array_equal(found.exposure_part, rows.exposure_part[2:])
    for right in (
        dataclasses.replace(guessed, exposure_s=0.008),
        dataclasses.replace(guessed, sense=np.abs(sense)),
    ):
        assert limit_light([rows, right])[1] is right


@pytest.mark.parametrize("width_s", [1e-3, 0.006, 0.02])
def test_when_flashes_show_tells_how_long_they_last(width_s):
    z = []
    for seed in range(12):
        rng = np.random.default_rng([seed, 6])
        onsets_s = irregular_onsets(rng, 60)
        lit, _ = whole_frames(onsets_s, width_s)
        dates = trigger(rng, onsets_s, clock=Clock(offset_s=2.3, drift=3e-5))
        found = find_light_length([lit, dates], max_offset_s=30.0)
        assert abs(found.length_s - width_s) < 0.01
        z.append((found.length_s - width_s) / found.std_s)
        narrow = found.narrowed(lit)
        assert np.median(narrow.stop_s - narrow.start_s) < OPEN_S + width_s + 0.01
        assert narrow.systematic_std_s > 0.5 * found.std_s
    assert np.max(np.abs(z)) < 3.5
    assert np.sqrt(np.mean(np.square(z))) < 1.5


def test_flashes_that_keep_to_the_frames_tell_no_length():
    rng = np.random.default_rng(7)
    # Each goes on a millisecond before a frame is exposed.
    onsets_s = PERIOD_S * np.cumsum(rng.integers(8, 20, 60)) - OPEN_S - 1e-3
    lit, _ = whole_frames(onsets_s, 2e-3)
    found = find_light_length([lit, trigger(rng, onsets_s)], max_offset_s=30.0)
    assert found.length_s == np.inf
    assert found.narrowed(lit) is lit


def test_nothing_in_common_tells_no_length():
    rng = np.random.default_rng(8)
    lit, _ = whole_frames(irregular_onsets(rng, 60))
    found = find_light_length([lit, trigger(rng, irregular_onsets(rng, 60))], max_offset_s=30.0)
    assert found.likely_s == found.length_s == np.inf


def test_the_grid_of_frames_is_no_period_of_their_flashes():
    rng = np.random.default_rng(9)
    lit, _ = whole_frames(irregular_onsets(rng, 80))
    assert period_of(instants_of(lit), max_offset_s=30.0) is None
