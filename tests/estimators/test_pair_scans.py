"""Audits of cameras whose images were rotated after readout."""

from syncaudit.estimators.pairs import measure_light
from syncaudit.model import ClipEvidence
from syncaudit.pipeline.contradictions import cameras_read_upwards
from testkit.event_rig import turned_rig


def _measured(turned, **rig):
    seen = turned_rig(turned=turned, **rig)
    triggers = {name: seen.pop(name) for name in [*seen] if name == "trigger"}
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
