"""Clock steps are found, and attributed to the clock that caused them."""

import dataclasses

import numpy as np
import pytest
from syncaudit_calibration import calibrate_events

from testkit.event_rig import full_rig, train
from testkit.flash_calibration import OFFSET_S, errors_of


def test_a_dropped_frame_is_a_step_of_one_period(rig):
    evidence, clocks, _ = rig
    camera_2 = evidence[2]
    late = camera_2.frame_s > 22.0
    lost = dataclasses.replace(camera_2, frame_s=camera_2.frame_s - 0.04 * late)
    found = calibrate_events([*evidence[:2], lost, *evidence[3:]])
    source = found.sources["cam_2"]
    (step,) = source.steps
    assert step.frames == 1
    assert abs(step.step_s - 0.04) < min(OFFSET_S, 3.0 * step.step_std_s)
    assert step.after_ns < 22e9 < step.before_ns < step.after_ns + 2e9
    assert any("steps by 40" in words for words in found.warnings)
    for name in ("cam_1", "cam_3", "trigger"):
        assert abs(errors_of(found, clocks)[name][0]) < OFFSET_S
        assert found.sources[name].steps == ()


@pytest.mark.parametrize(
    ("sizes_s", "frames"),
    [
        ((0.04, 0.08, 0.04), [1, 2, 1]),  # lost frames of a camera at 25 Hz
        ((0.010, -0.003, 0.1), [None] * 3),  # a clock that is set
        ((3e-4, -5e-4, 4e-4), [None] * 3),  # too small for the matching to notice
    ],
)
def test_several_steps_of_one_clock_are_found(rig, sizes_s, frames):
    evidence, clocks, _ = rig
    own, at_s = evidence[2], (9.0, 20.0, 33.0)
    frame_s = own.frame_s - sum(
        size_s * (own.frame_s > t) for t, size_s in zip(at_s, sizes_s, strict=True)
    )
    found = calibrate_events(
        [*evidence[:2], dataclasses.replace(own, frame_s=frame_s), *evidence[3:]]
    )
    steps = found.sources["cam_2"].steps
    assert [step.frames for step in steps] == frames
    for step, t, size_s in zip(steps, at_s, sizes_s, strict=True):
        assert abs(step.step_s - size_s) < min(OFFSET_S, 4.0 * step.step_std_s)
        jumped_s = sum(size for at, size in zip(at_s, sizes_s, strict=True) if at < t)
        assert step.after_ns * 1e-9 < t - jumped_s + 0.1
        assert step.before_ns * 1e-9 > t - jumped_s - size_s - 0.1
        assert step.before_ns - step.after_ns < 3e9
    for name in ("cam_1", "cam_3", "trigger"):
        assert found.sources[name].steps == ()
        assert abs(errors_of(found, clocks)[name][0]) < OFFSET_S


def test_a_step_is_not_blamed_on_the_only_one_who_saw_it():
    # Before the step the camera shares enough flashes only with the trigger.
    rng = np.random.default_rng(20012)
    evidence, _, _ = full_rig(rng)
    own = evidence[2]
    lost = dataclasses.replace(own, frame_s=own.frame_s - 0.04 * (own.frame_s > 5.3))
    found = calibrate_events([*evidence[:2], lost, evidence[3], evidence[5]])
    assert {name for name, source in found.sources.items() if source.steps} == {"cam_2"}
    assert [step.frames for step in found.sources["cam_2"].steps] == [1]


def test_false_events_have_no_say(rig):
    evidence, clocks, _ = rig
    rng = np.random.default_rng(3)
    times = np.concatenate([evidence[5].times_s, rng.uniform(-2.0, 47.0, 25)])
    found = calibrate_events([*evidence[:5], train(times, name="trigger")])
    assert abs(errors_of(found, clocks)["trigger"][0]) < OFFSET_S
