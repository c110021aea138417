"""Exposures that are not stated, from the light that several cameras share."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from syncaudit_calibration import calibrate_events

from syncaudit.estimators.pairs import measure_light
from syncaudit.model import ClipEvidence
from syncaudit.model.evidence.flashes import UNSTATED_READOUT_S, UNSTATED_READOUT_SHARE
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


LENGTHS_S = [0.0022, 0.009]
EXPOSURE_S = 0.0045


def unsettled(rng, onsets_s, *, length_s, stated, name="a", exposure_s=EXPOSURE_S, **timing):
    """Return pulses of a camera that states some of its timing, as a detector dates them."""
    pulses = {"exposure_s": exposure_s, "length_s": length_s, "stamp_part": 0.0}
    seen = trapezoids(rng, onsets_s, name=name, line_delay_s=3e-5, **pulses, **timing)
    if "exposure_s" in stated:
        seen = dataclasses.replace(seen, exposure_s=exposure_s)
    if "line_delay_s" in stated:
        return seen
    half_s = UNSTATED_READOUT_S / seen.height_px / 3e-5 * seen.half_light_s
    std_s = math.hypot(1e-4, UNSTATED_READOUT_SHARE * half_s)
    unstated = {"line_delay_s": None, "half_light_s": half_s, "half_light_std_s": std_s}
    return dataclasses.replace(seen, **unstated)


def measured_both_ways(seen, log):
    """Yield errors of the log's clock and their standard errors: of an audit, a calibration."""
    flashes = {item.source: item for item in seen}
    for pair in measure_light(ClipEvidence(flashes=flashes, triggers={"trigger": log}), {}, 30.0):
        assert pair.accepted
        if "trigger" in (pair.source, pair.target):
            yield pair.offset_s, pair.offset_std_s
    found = calibrate_events([*seen, log], reference=seen[0].source).sources["trigger"]
    yield found.offset_s, found.offset_std_s


@pytest.mark.parametrize(
    ("n_cameras", "stated"),
    [(1, ("line_delay_s",)), (1, ("exposure_s",)), (1, ()), (2, ("line_delay_s",))],
    ids=str,
)
@pytest.mark.parametrize("length_s", LENGTHS_S)
def test_equal_exposures_leave_open_whether_the_light_is_longer(n_cameras, length_s, stated):
    rng = np.random.default_rng(1)
    onsets_s = irregular_onsets(rng, 60)
    seen = [
        unsettled(rng, onsets_s, length_s=length_s, stated=stated, name=name, rate_hz=rate_hz)
        for name, rate_hz in [("a", 20.0), ("b", 25.0)][:n_cameras]
    ]
    log = trigger(rng, onsets_s)
    assert any(
        "whether the light stays on" in own for own in calibrate_events([*seen, log]).warnings
    )
    for error_s, std_s in measured_both_ways(seen, log):
        assert abs(error_s) < 1.96 * std_s
        assert 4e-4 < std_s < 5e-3


@pytest.mark.parametrize("length_s", LENGTHS_S)
@pytest.mark.parametrize(
    ("other", "stated"),
    [
        ("another exposure", ("line_delay_s",)),
        *itertools.product(("all stated", "both ends"), (("line_delay_s",), ("exposure_s",), ())),
    ],
    ids=str,
)
def test_one_camera_shows_the_light_to_all(other, length_s, stated):
    rng = np.random.default_rng(2)
    onsets_s = irregular_onsets(rng, 60)
    seen = unsettled(rng, onsets_s, length_s=length_s, stated=stated, rate_hz=20.0)
    timing = {"name": "b", "rate_hz": 25.0, "length_s": length_s}
    match other:
        case "another exposure":
            more = unsettled(rng, onsets_s, stated=stated, exposure_s=0.001, **timing)
        case "all stated":
            everything = ("line_delay_s", "exposure_s")
            more = unsettled(rng, onsets_s, stated=everything, exposure_s=0.0095, **timing)
        case _:
            ends_s = np.sort(np.concatenate((onsets_s, onsets_s + length_s)))
            more = switches(rng, ends_s, name="b", rate_hz=25.0)
    for error_s, std_s in measured_both_ways([seen, more], trigger(rng, onsets_s)):
        assert abs(error_s) < 1.96 * std_s < 0.0016


def test_ramps_shorter_than_any_exposure_are_the_light():
    rng = np.random.default_rng(3)
    onsets_s = irregular_onsets(rng, 60)
    seen = unsettled(rng, onsets_s, length_s=3e-4, stated=("line_delay_s",))
    for error_s, std_s in measured_both_ways([seen], trigger(rng, onsets_s)):
        assert abs(error_s) < 1.96 * std_s < 4e-4


@pytest.mark.parametrize("seed", range(3))
def test_audits_date_the_light_by_line_delays_that_pairs_of_cameras_show(seed):
    rng = np.random.default_rng(seed)
    onsets_s = irregular_onsets(rng, 60)
    # Read in 7.2 ms: of c, no band shows both edges, and nothing shows its exposure.
    seen = {
        name: unsettled(
            rng,
            onsets_s,
            length_s=0.002,
            stated=(),
            name=name,
            exposure_s=exposure_s,
            rate_hz=rate_hz,
            height_px=240,
        )
        for name, exposure_s, rate_hz in (
            ("a", 0.001, 60.0),
            ("b", 0.004, 50.0),
            ("c", 0.008, 60.0),
        )
    }
    pairs = measure_light(ClipEvidence(flashes=seen), {}, 30.0)
    assert len(pairs) == 2
    for pair in pairs:
        assert abs(pair.offset_s) < 3.0 * pair.offset_std_s < 2e-3


@pytest.mark.parametrize("seed", range(3))
def test_edges_of_both_kinds_show_how_long_bands_are_and_other_cameras_their_half_light(seed):
    rng = np.random.default_rng(seed)
    onsets_s, length_s = irregular_onsets(rng, 60), 0.01
    pulses = {"length_s": length_s, "stated": (), "exposure_s": 0.0005}
    seen = unsettled(rng, onsets_s, name="a", rate_hz=25.0, **pulses)
    # Read in 9.6 ms, so that no frame shows both ends of a pulse: like a light that stays on.
    switches_s = np.sort([*onsets_s, *onsets_s + length_s])
    lasting = switches(rng, switches_s, name="b", rate_hz=20.0, line_delay_s=2e-5, is_stated=False)
    flashes = {"a": seen, "b": dataclasses.replace(lasting, edge_shift_std_s=0.004)}
    pairs = measure_light(
        ClipEvidence(flashes=flashes, triggers={"log": trigger(rng, onsets_s)}), {}, 30.0
    )
    assert len(pairs) == 2
    for pair in pairs:
        assert abs(pair.offset_s) < 3.0 * pair.offset_std_s < 0.02
