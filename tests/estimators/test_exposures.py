"""Exposures that are not stated, from the light that several cameras share."""

import dataclasses

import numpy as np
import pytest
from syncaudit_calibration import calibrate_events

from syncaudit.estimators.events import settle_exposures
from syncaudit.estimators.pairs import measure_light
from syncaudit.model import ClipEvidence
from testkit.event_rig import (
    WIDTH_S,
    camera,
    irregular_onsets,
    switches,
    trigger,
    without_exposure,
)


@pytest.mark.parametrize("length_s", [0.004, 0.03])
@pytest.mark.parametrize("seed", range(4))
def test_bands_of_an_unstated_exposure_may_be_as_high_as_the_light_is_long(seed, length_s):
    rng = np.random.default_rng(seed)
    onsets_s = irregular_onsets(rng, 60)
    middles_s = onsets_s + 0.5 * (length_s - WIDTH_S)
    seen = camera(rng, middles_s, name="unstated", exposure_s=length_s, line_delay_s=7e-5)
    unstated = without_exposure(seen, exposure_s=0.002, stamp_part=0.5)
    known = {"half_light_s": 0.5 * length_s, "half_light_std_s": 2e-4}
    stated = camera(rng, middles_s, name="stated", rate_hz=25.0, exposure_s=length_s)
    stated = dataclasses.replace(stated, **known)
    flashes = {"unstated": unstated, "stated": stated}
    (pair,) = measure_light(ClipEvidence(flashes=flashes), {}, 30.0)
    assert pair.accepted
    assert abs(pair.offset_s) < 2.0 * pair.offset_std_s < length_s
    assert pair.offset_std_s > 0.1 * length_s


def trapezoids(rng, onsets_s, *, name, exposure_s, length_s, stamp_part=0.5, **timing):
    """Return pulses as a detector dates them that takes their ramps for the light."""
    longer_s, ramp_s = max(exposure_s, length_s), min(exposure_s, length_s)
    middles_s = onsets_s + 0.5 * (length_s - WIDTH_S)
    seen = camera(rng, middles_s, name=name, exposure_s=longer_s, **timing)
    unstated = without_exposure(seen, exposure_s=exposure_s, stamp_part=stamp_part)
    return dataclasses.replace(unstated, half_light_s=0.5 * ramp_s, half_light_std_s=1e-4)


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


@pytest.mark.parametrize("seed", range(3))
def test_a_light_that_neither_ramps_nor_bands_agree_on_leaves_the_latency_open(seed):
    rng = np.random.default_rng(seed)
    onsets_s = irregular_onsets(rng, 60)
    # A light of 10 ms that rises slowly: bands of several exposures are not equally high.
    lights = {"a": (0.0036, 0.010, 30.0), "b": (0.0086, 0.0115, 20.0)}
    seen = [
        trapezoids(
            rng,
            onsets_s + 0.5 * (0.010 - length_s),
            name=name,
            exposure_s=exposure_s,
            length_s=length_s,
            rate_hz=rate_hz,
            stamp_part=0.0,
        )
        for name, (exposure_s, length_s, rate_hz) in lights.items()
    ]
    found = calibrate_events([*seen, trigger(rng, onsets_s)], reference="a").sources["trigger"]
    assert 5e-4 < found.offset_std_s < 5e-3
    assert abs(found.offset_s) < 2.0 * found.offset_std_s


@pytest.mark.parametrize("seed", range(3))
def test_logged_onsets_of_lights_that_stay_allow_for_their_rise(seed):
    rng = np.random.default_rng([seed, 4])
    switches_s = 1.0 + np.cumsum(rng.uniform(0.35, 1.0, 64))
    seen = [
        dataclasses.replace(
            switches(rng, switches_s, name=name, rate_hz=rate_hz, line_delay_s=6e-5),
            half_light_std_s=3e-4,
        )
        for name, rate_hz in (("a", 30.0), ("b", 20.0))
    ]
    sources = calibrate_events([*seen, trigger(rng, switches_s[::2] - 4e-4)], reference="a").sources
    assert sources["b"].offset_std_s < 2e-4
    assert 3e-4 < sources["trigger"].offset_std_s < 5e-4
    assert abs(sources["trigger"].offset_s - 4e-4) < 2e-4


def test_one_camera_alone_does_not_show_its_exposure():
    rng = np.random.default_rng(1)
    onsets_s = irregular_onsets(rng, 60)
    seen = trapezoids(rng, onsets_s, name="a", exposure_s=0.002, length_s=0.006)
    assert settle_exposures([seen, trigger(rng, onsets_s)])[0] is seen
    same = [dataclasses.replace(seen, source=name) for name in "ab"]
    assert all(own.exposure_s is None for own in settle_exposures(same))
