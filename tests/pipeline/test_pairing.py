"""Which pairs are measured by the flashes that several sources observed."""

import numpy as np
import pytest

from syncaudit.estimators import pairs
from syncaudit.model import (
    ClipEvidence,
    FlashIntervals,
    ImageMotion,
    PairMeasurement,
    Quantity,
)
from syncaudit.pipeline.pairing import _without_deviant, measure_pairs
from testkit.measured_pairs import pair, refused_pair
from testkit.streams import activity, event_train

# Instants of points are exact to within a few microseconds.
POINT_TOL_S = 1e-4


def pulses(seed=1, n=60):
    return np.cumsum(np.random.default_rng(seed).uniform(0.2, 1.0, n))


def trigger(name, times_s):
    return event_train(times_s, source=name, std_s=1e-5)


def global_camera(name, times_s, half_s=0.004):
    n = times_s.size
    return FlashIntervals(
        source=name,
        quantity=Quantity.FLASH,
        epoch_ns=0,
        start_s=times_s - half_s,
        stop_s=times_s + half_s,
        std_s=np.full(n, 1e-4),
        count=np.ones(n, dtype=np.int64),
    )


def evidence(**triggers):
    seen = pulses()
    return ClipEvidence(
        flashes={"cam": global_camera("cam", seen)},
        triggers={name: trigger(name, seen + by_s) for name, by_s in triggers.items()},
    )


def test_flashes_tie_sources_by_a_tree():
    found = measure_pairs(evidence(gpio=0.02, box=-0.3), max_offset_s=2.0)
    assert len(found) == 2  # three sources without a loop: a loop would count noise twice
    assert all(pair.accepted and pair.method == "flash" for pair in found)
    (sharp,) = [pair for pair in found if {pair.source, pair.target} == {"box", "gpio"}]
    sign = 1.0 if sharp.source == "box" else -1.0
    assert sharp.offset_s == pytest.approx(sign * 0.32, abs=POINT_TOL_S)


def test_without_a_camera_triggers_are_not_compared():
    only = ClipEvidence(triggers={"a": trigger("a", pulses()), "b": trigger("b", pulses())})
    assert measure_pairs(only, max_offset_s=2.0) == []


def test_a_source_that_fits_nowhere_says_why_once():
    clip = evidence(gpio=0.02)
    clip.triggers["other"] = trigger("other", pulses(seed=9))
    found = measure_pairs(clip, max_offset_s=2.0)
    refused = [pair for pair in found if not pair.accepted]
    assert len(refused) == 1
    assert "other" in (refused[0].source, refused[0].target)
    assert refused[0].why


@pytest.mark.parametrize("order", [1, -1])
def test_the_refusal_that_came_nearest_is_told(order):
    """A box with two flashes is irrelevant to two cameras that share three blurred ones."""
    seen = np.array([1.0, 4.3, 9.1])
    cameras = {
        name: global_camera(name, seen + by_s, half_s=0.03)
        for name, by_s in (("front", 0.0), ("rear", 0.1))[::order]
    }
    triggers = {"box": trigger("box", seen[:2])}
    refused = measure_pairs(ClipEvidence(flashes=cameras, triggers=triggers), max_offset_s=2.0)
    pairs = [{pair.source, pair.target} for pair in refused]
    assert len(pairs) == 2
    assert {"front", "rear"} in pairs
    (own,) = [pair for pair in refused if "box" not in (pair.source, pair.target)]
    assert "3 events agree" in own.why


def test_sources_share_a_clock_where_both_state_it():
    clip = ClipEvidence(clocks={"head": "board", "wrist": "board", "cam": "own"})
    assert clip.share_a_clock("head", "wrist")
    assert not clip.share_a_clock("head", "cam")
    assert not clip.share_a_clock("mic", "can")


def test_robots_sensors_on_one_clock_are_measured_as_such(monkeypatch):
    asked = {}

    def note(source, target, *, max_offset_s, is_one_clock):
        asked[source.source] = is_one_clock
        return PairMeasurement.refused(source.source, target.source, "joint_motion", 0, "a test")

    monkeypatch.setattr(pairs, "measure_states", note)
    monkeypatch.setattr(pairs, "measure_camera_state", note)
    named = {
        name: activity(name, Quantity.STATE, np.arange(3.0), np.zeros((3, 1)))
        for name in ("left", "right", "base")
    }
    frames_s = np.arange(3.0)
    cameras = {
        name: ImageMotion(
            source=name, epoch_ns=0, start_s=frames_s, stop_s=frames_s + 1.0, moves=np.zeros((3, 2))
        )
        for name in ("head", "wrist")
    }
    clip = ClipEvidence(
        motion={name: {Quantity.STATE: one} for name, one in named.items()},
        image_motions=cameras,
        clocks={"left": "arm", "right": "arm", "base": "own", "head": "arm", "wrist": "usb"},
    )
    measure_pairs(clip, max_offset_s=2.0)
    assert asked == {"right": True, "base": False, "head": True, "wrist": False}


def test_clock_that_departs_at_an_end_departs_for_all_signals():
    words = "its last 1.0 s fit +200 ms more than the rest of it"
    refused = refused_pair(
        "can", "imu", words, method="yaw_rate", diagnostics={"departs_by_s": 0.2}
    )
    weak = pair("can", "imu", 0.0, method="long_accel")
    other = pair("cam", "imu", 0.0)
    found = _without_deviant([refused, weak, other])
    assert found[0] is refused
    assert not found[1].accepted
    assert found[1].why == words
    assert found[2] is other


def test_signal_that_shows_the_drift_of_its_clock_is_kept():
    words = "its first 15.1 s fit +50 ms more than the rest of it"
    figures = {"departs_by_s": 0.05}
    weak = refused_pair("can", "imu", words, method="lateral_accel", diagnostics=figures)
    yaw = pair("can", "imu", 0.0, method="yaw_rate", drift_ppm=1900.0, drift_std_ppm=90.0)
    assert _without_deviant([weak, yaw]) == [weak, yaw]


def test_signal_with_the_dynamics_of_the_vehicle_departs_alone():
    """A slope at the start of a drive looks like acceleration: the speed does not show it."""
    words = "its first 3.7 s fit -400 ms more than the rest of it"
    figures = {"departs_by_s": -0.4}
    speed = refused_pair(
        "can", "imu", words, method="speed", diagnostics=figures, is_baseline_only=True
    )
    yaw = pair("can", "imu", 0.0, method="yaw_rate")
    assert _without_deviant([speed, yaw]) == [speed, yaw]
