"""Audits of cameras whose images were rotated after readout."""

import numpy as np

from syncaudit.estimators.pairs import measure_light
from syncaudit.model import ClipEvidence
from syncaudit.pipeline.statements import cameras_read_upwards
from testkit.event_rig import Clock, camera, irregular_onsets, trigger


def _measured(turned, *, with_trigger, rates_hz=(12.0, 12.0, 12.0)):
    rng = np.random.default_rng(1)
    onsets_s = irregular_onsets(rng, 90)
    seen = {}
    for k, rate_hz in enumerate(rates_hz):
        name, clock = f"cam_{k}", Clock(offset_s=0.007 * k)
        item = camera(rng, onsets_s, name=name, rate_hz=rate_hz, phase_s=0.004 * k, clock=clock)
        seen[name] = item.mirrored() if name in turned else item
    triggers = {"trigger": trigger(rng, onsets_s)} if with_trigger else {}
    return measure_light(ClipEvidence(flashes=seen, triggers=triggers), {}, 2.0)


def _off(pair):
    at_s = {"trigger": 0.0} | {f"cam_{k}": 0.007 * k for k in range(3)}
    return pair.offset_s - (at_s[pair.source] - at_s[pair.target])


def test_cameras_upside_down_are_measured_as_they_are_read():
    pairs = _measured({"cam_1", "cam_2"}, with_trigger=True)
    assert {name for pair in pairs for name in (pair.source, pair.target)} >= {"cam_1", "cam_2"}
    for pair in pairs:
        assert pair.accepted
        assert abs(_off(pair)) < 3.0 * pair.offset_std_s
    warned = cameras_read_upwards(pairs)
    assert [finding.source for finding in warned] == ["cam_1", "cam_2"]
    assert all('"scan": "up"' in finding.message for finding in warned)


def test_cameras_that_are_not_rotated_get_no_warning():
    pairs = _measured(set(), with_trigger=True)
    assert all(pair.accepted for pair in pairs)
    assert cameras_read_upwards(pairs) == []


def test_a_direction_that_nothing_decides_is_refused_with_what_to_state():
    """One of two cameras is upside down, but it is not known which."""
    (pair,) = _measured({"cam_1"}, with_trigger=False, rates_hz=(12.0, 12.0))
    assert not pair.accepted
    assert 'state "scan" in the manifest' in pair.why
