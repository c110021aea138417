"""What flashes cannot determine is rejected with an explanation."""

import dataclasses

import numpy as np
import pytest
from syncaudit_calibration import CalibrationError, calibrate_events, observability

from syncaudit.errors import UsageError
from testkit.event_rig import LINE_DELAYS_S, Clock, camera, irregular_onsets, train, trigger


def test_equal_rates_leave_line_delays_as_vague_as_they_are_as_a_rule():
    scores = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        onsets = irregular_onsets(rng)
        offsets_s = [0.0, *rng.uniform(-0.1, 0.1, 2)]
        cameras = [
            camera(
                rng,
                onsets,
                name=f"cam_{k}",
                clock=Clock(offset_s=offset_s),
                line_delay_s=rng.uniform(0.006, 0.03) / 480.0,
                exposure_s=rng.uniform(0.001, 0.01),
                is_stated=False,
            )
            for k, offset_s in enumerate(offsets_s)
        ]
        try:
            found = calibrate_events(cameras, reference="cam_0")
        except CalibrationError:  # too few of their events agree
            continue
        assert any("is not observable" in words for words in found.warnings)
        assert any("another frame rate" in words for words in found.warnings)
        for name, true_s in zip(("cam_1", "cam_2"), offsets_s[1:], strict=True):
            own = found.sources.get(name)
            if own is not None and own.offset_s is not None:
                assert own.offset_std_s > 1e-4
                scores.append((own.offset_s - true_s) / own.offset_std_s)
    assert len(scores) >= 10
    # If the reference errs, both cameras of a rig err equally.
    assert np.sqrt(np.mean(np.square(scores))) < 1.3
    assert np.max(np.abs(scores)) < 3.0


def test_offsets_that_line_delays_leave_anywhere_are_refused(monkeypatch):
    monkeypatch.setattr(observability, "MAX_OFFSET_STD_S", 1e-5)
    rng = np.random.default_rng(4)
    onsets = irregular_onsets(rng)
    cameras = [
        camera(rng, onsets, name=f"cam_{k}", is_stated=False, phase_s=0.01 * k) for k in range(3)
    ]
    with pytest.raises(CalibrationError, match="line delay of cam_1 is not observable") as caught:
        calibrate_events(cameras, reference="cam_0")
    assert "another frame rate" in caught.value.refused["cam_1"]


def test_one_stated_line_delay_tells_those_of_equal_rates():
    rng = np.random.default_rng(4)
    onsets = irregular_onsets(rng)
    cameras = [
        camera(rng, onsets, name=f"cam_{k}", is_stated=False, phase_s=0.01 * k) for k in range(3)
    ]
    cameras[0] = dataclasses.replace(cameras[0], line_delay_s=4e-5)
    found = calibrate_events(cameras)
    assert found.sources["cam_1"].line_delay_s == pytest.approx(4e-5, rel=5e-3)
    assert not found.warnings


def _flashes_in_one_row():
    """Return a trigger log and a camera in which all flashes occur while one row is exposed."""
    rng = np.random.default_rng(6)
    frames = np.cumsum(rng.integers(3, 19, 40))
    frames = frames[frames < 520]
    onsets = 0.01 + frames / 12.0 + 2.5e-5 * rng.uniform(149.8, 150.2, frames.size)
    seen = camera(rng, onsets, name="cam_1", line_delay_s=2.5e-5, exposure_s=0.001, phase_s=0.01)
    seen = dataclasses.replace(seen, line_delay_s=None, exposure_s=None)
    return [trigger(rng, onsets, std_s=1e-6), seen]


def test_a_line_delay_that_few_rows_tell_widens_the_error_of_its_offset():
    found = calibrate_events(_flashes_in_one_row(), reference="trigger")
    source = found.sources["cam_1"]
    assert any("line delay of cam_1 is not observable" in words for words in found.warnings)
    assert 5e-4 < source.offset_std_s < 5e-3
    assert abs(source.offset_s) < 1.96 * source.offset_std_s


def test_a_vague_line_delay_is_refused_only_if_no_shutter_has_it(monkeypatch):
    # It is as uncertain as the usual one.
    monkeypatch.setattr(observability, "MAX_LINE_SHARE", 0.5)
    assert calibrate_events(_flashes_in_one_row(), reference="trigger").sources["cam_1"]
    monkeypatch.setattr(observability, "MAX_Z", 0.5)
    with pytest.raises(CalibrationError, match="line delay of cam_1 is not observable"):
        calibrate_events(_flashes_in_one_row(), reference="trigger")


def test_few_sharp_events_on_a_grid_are_no_period_where_intervals_deny_it():
    rng = np.random.default_rng(3)
    onsets = irregular_onsets(rng, n=40)
    seen = camera(rng, onsets, name="cam_1", rate_hz=12.0)
    sharp = np.array([3.0, 11.0, 19.0, 27.0])
    some = np.concatenate([sharp, onsets])
    order = np.argsort(some)
    fields = {
        "frame_index": (some * 12.0).astype(np.int64),
        "frame_s": some,
        "row_px": np.zeros(some.size),
        "row_std_px": np.ones(some.size),
        "exposure_part": np.zeros(some.size),
        "band": np.arange(some.size),
        "sense": np.ones(some.size, dtype=np.int64),
        "half_s": np.concatenate([np.zeros(4), np.full(onsets.size, 0.04)]),
    }
    seen = dataclasses.replace(seen, **{name: own[order] for name, own in fields.items()})
    lamp = trigger(rng, np.sort(some), std_s=1e-5)
    found = calibrate_events([lamp, seen], reference="trigger")
    assert abs(found.sources["cam_1"].offset_s) < 3.0 * found.sources["cam_1"].offset_std_s
    # A period is assumed unless something contradicts it.
    only = dataclasses.replace(
        seen, **{name: getattr(seen, name)[seen.half_s == 0.0] for name in fields}
    )
    with pytest.raises(CalibrationError, match="cam_1 are periodic"):
        calibrate_events([lamp, only], reference="trigger")


def test_a_wrong_stated_line_delay_is_told(rig):
    wrong = dataclasses.replace(rig[0][1], line_delay_s=1.05 * LINE_DELAYS_S[1])
    found = calibrate_events([rig[0][0], wrong, *rig[0][2:]])
    assert any("the stated line delay of cam_1 is 42" in words for words in found.warnings)


def test_a_source_of_another_recording_is_refused_alone(rig):
    rng = np.random.default_rng(5)
    other = train(rng.uniform(0.0, 45.0, 50), name="mic")
    found = calibrate_events([*rig[0], other])
    assert "mic could not be connected to cam_0" in found.refused["mic"]
    assert "mic" not in found.sources


def test_what_a_refused_camera_does_not_state_is_asked_for(rig):
    rng = np.random.default_rng(5)
    # The exposure is longer than the readout: no frame shows both edges of a band.
    other = camera(rng, irregular_onsets(rng), name="cam_9", rate_hz=12.0, exposure_s=0.03)
    asked = dataclasses.replace(other, exposure_s=None, line_delay_s=None)
    assert (
        "State its line_delay_s and exposure_s. "
        in (calibrate_events([*rig[0], asked]).refused["cam_9"])
    )
    assert "State its" not in calibrate_events([*rig[0], other]).refused["cam_9"]


def test_a_periodic_train_is_refused_with_its_period():
    rng = np.random.default_rng(6)
    pulses = np.arange(0.3, 44.0, 0.617)
    evidence = [camera(rng, pulses, name="a", rate_hz=30.0), trigger(rng, pulses)]
    with pytest.raises(CalibrationError, match="modulo 617 ms") as caught:
        calibrate_events(evidence)
    assert "flash-plan" in caught.value.hint


def test_too_few_flashes_are_refused_in_words():
    rng = np.random.default_rng(7)
    pulses = irregular_onsets(rng, 6)[:3]
    with pytest.raises(CalibrationError, match="trigger shows 3 flashes; at least 4 are needed"):
        calibrate_events([trigger(rng, pulses), trigger(rng, pulses, name="other")])


def test_the_reference_must_be_one_of_the_sources(rig):
    with pytest.raises(UsageError, match="'cam_9' is not one of the sources"):
        calibrate_events(rig[0], reference="cam_9")


def test_one_evidence_a_source(rig):
    with pytest.raises(UsageError, match="one source has more than one evidence"):
        calibrate_events([rig[0][0], rig[0][0]])
