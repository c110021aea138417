"""Logs of a line that changes its level hold both edges of a pulse."""

import numpy as np
import pytest
from syncaudit_calibration import calibrate_events

from syncaudit.estimators.events import without_ends
from syncaudit.estimators.pairs import measure_light
from syncaudit.model import ClipEvidence
from testkit.event_rig import WIDTH_S, camera, irregular_onsets, switches, train, trigger


def seen_by_cameras(rng, onsets_s, length_s):
    """Return two cameras: bands of short pulses, both ends of long ones."""
    rates_hz = {"a": 20.0, "b": 25.0}
    if length_s > 0.01:
        ends_s = np.sort(np.concatenate((onsets_s, onsets_s + length_s)))
        return [switches(rng, ends_s, name=name, rate_hz=hz) for name, hz in rates_hz.items()]
    middles_s = onsets_s + 0.5 * (length_s - WIDTH_S)
    return [camera(rng, middles_s, name=name, rate_hz=hz) for name, hz in rates_hz.items()]


@pytest.mark.parametrize("length_s", [0.001, 0.1])
def test_onsets_alone_are_matched_where_a_log_holds_both_edges(length_s):
    rng = np.random.default_rng(4)
    onsets_s = irregular_onsets(rng, 50)
    cameras = seen_by_cameras(rng, onsets_s, length_s)
    log = train(np.concatenate((onsets_s, onsets_s + length_s)))
    flashes = {item.source: item for item in cameras}
    pairs = measure_light(ClipEvidence(flashes=flashes, triggers={"trigger": log}), {}, 30.0)
    assert any("trigger" in (pair.source, pair.target) for pair in pairs)
    for pair in pairs:
        assert pair.accepted
        assert abs(pair.offset_s) < 2.5 * pair.offset_std_s < 5e-4
    found = calibrate_events([*cameras, log], reference="a")
    assert any("both edges" in words for words in found.warnings)
    clock = found.sources["trigger"]
    assert abs(clock.offset_s) < 2.0 * clock.offset_std_s < 4e-4


def test_lights_that_flash_twice_keep_both_flashes():
    rng = np.random.default_rng(5)
    first_s = irregular_onsets(rng, 40)
    onsets_s = np.sort(np.concatenate((first_s, first_s + 0.08)))
    seen, log = camera(rng, onsets_s, rate_hz=50.0), trigger(rng, onsets_s)
    assert without_ends([seen, log])[1] is log


@pytest.mark.parametrize("n_pulses", [0, 1, 3, 60])
def test_other_logs_stay_as_they_are(n_pulses):
    rng = np.random.default_rng(6)
    log = trigger(rng, irregular_onsets(rng, 60)[:n_pulses])
    assert without_ends([log])[0] is log
    periodic = train(0.5 * np.arange(n_pulses))
    assert without_ends([periodic])[0] is periodic
