"""How long lights stay on, for cameras that cannot determine it."""

import dataclasses

import numpy as np
import pytest
from syncaudit_calibration import calibrate_events

from syncaudit.estimators.events import (
    find_light_length,
    instants_of,
    limit_light,
    period_of,
    settle_exposures,
)
from syncaudit.estimators.pairs import measure_light
from syncaudit.model import ClipEvidence, FlashIntervals, Quantity
from testkit.event_rig import SPAN_S, WIDTH_S, Clock, camera, irregular_onsets, trigger

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


@pytest.mark.parametrize("length_s", [0.004, 0.03])
@pytest.mark.parametrize("seed", range(4))
def test_bands_of_an_unstated_exposure_may_be_as_high_as_the_light_is_long(seed, length_s):
    rng = np.random.default_rng(seed)
    onsets_s = irregular_onsets(rng, 60)
    middles_s = onsets_s + 0.5 * (length_s - WIDTH_S)
    seen = camera(rng, middles_s, name="unstated", exposure_s=length_s, line_delay_s=7e-5)
    early_s = 0.5 * (0.002 + seen.height_px * 7e-5)
    unstated = dataclasses.replace(
        seen,
        exposure_s=None,
        half_light_s=None,
        half_light_std_s=None,
        frame_s=seen.frame_s - early_s,
        stamp_part=0.5,
    )
    known = {"half_light_s": 0.5 * length_s, "half_light_std_s": 2e-4}
    stated = camera(rng, middles_s, name="stated", rate_hz=25.0, exposure_s=length_s)
    stated = dataclasses.replace(stated, **known)
    flashes = {"unstated": unstated, "stated": stated}
    (pair,) = measure_light(ClipEvidence(flashes=flashes), {}, 30.0)
    assert pair.accepted
    assert abs(pair.offset_s) < 2.0 * pair.offset_std_s < length_s
    assert pair.offset_std_s > 0.1 * length_s


def trapezoids(rng, onsets_s, *, name, exposure_s, length_s, is_stated=False, **timing):
    """Return pulses as a detector dates them that takes their ramps for the light."""
    longer_s, ramp_s = max(exposure_s, length_s), min(exposure_s, length_s)
    middles_s = onsets_s + 0.5 * (length_s - WIDTH_S)
    seen = camera(rng, middles_s, name=name, exposure_s=longer_s, **timing)
    early_s = 0.5 * (exposure_s + seen.height_px * seen.line_delay_s)
    return dataclasses.replace(
        seen,
        exposure_s=exposure_s if is_stated else None,
        half_light_s=0.5 * ramp_s,
        half_light_std_s=1e-4,
        frame_s=seen.frame_s - early_s,
        watched_s=seen.watched_s - early_s,
        stamp_part=0.5,
    )


@pytest.mark.parametrize("length_s", [0.001, 0.006])
@pytest.mark.parametrize("seed", range(3))
def test_cameras_that_share_a_light_show_their_exposures(seed, length_s):
    rng = np.random.default_rng(seed)
    onsets_s = irregular_onsets(rng, 60)
    exposures_s = {"a": 0.002, "b": 0.004, "c": 0.012}
    seen = [
        trapezoids(rng, onsets_s, name=name, exposure_s=exposure_s, length_s=length_s, rate_hz=hz)
        for (name, exposure_s), hz in zip(exposures_s.items(), (30.0, 25.0, 20.0), strict=True)
    ]
    found = calibrate_events(seen, reference="c")
    for name, source in found.sources.items():
        assert abs(source.exposure_s - exposures_s[name]) < 3e-4
        if name != "c":
            assert abs(source.offset_s) < 2.5 * source.offset_std_s < 1e-3


def test_one_camera_alone_does_not_show_its_exposure():
    rng = np.random.default_rng(1)
    onsets_s = irregular_onsets(rng, 60)
    seen = trapezoids(rng, onsets_s, name="a", exposure_s=0.002, length_s=0.006)
    assert settle_exposures([seen, trigger(rng, onsets_s)])[0] is seen
    same = [dataclasses.replace(seen, source=name) for name in "ab"]
    assert all(own.exposure_s is None for own in settle_exposures(same))
