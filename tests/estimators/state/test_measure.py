"""Cameras against joints, joints against commands."""

from dataclasses import replace

import numpy as np
import pytest

from syncaudit.estimators.state import measure
from syncaudit.estimators.state.measure import measure_camera_state
from syncaudit.estimators.state.states import measure_states
from syncaudit.model import ImageMotion
from testkit.working_arm import arm, joints, pictures

# Three standard errors of a typical clip of 12 s, and the same at 10 Hz.
TOLERANCE_S = 0.008
TOLERANCE_10HZ_S = 0.024
# An arm of two equal lags trails slow motion by their sum, 2 Hz tremor by two thirds of it.
LAG_SHARE = 0.4


def measured(seed, late_s=0.0, state_late_s=0.0, **how):
    course = arm(seed)
    state = joints(course, late_s=state_late_s)
    return measure_camera_state(pictures(course, seed, late_s=late_s, **how), state)


@pytest.mark.parametrize("frames", [0, 4])
def test_late_camera_gets_negative_offset(frames):
    pair = measured(1, late_s=frames / 30.0)
    assert pair.accepted, pair.why
    assert pair.method == "arm_motion"
    assert not pair.is_baseline_only
    assert abs(pair.offset_s + frames / 30.0) < TOLERANCE_S


def test_late_joints_get_positive_offset():
    pair = measured(2, state_late_s=0.05)
    assert pair.accepted, pair.why
    assert abs(pair.offset_s - 0.05) < TOLERANCE_S


def test_edge_of_the_search_is_stated_on_the_clocks_of_the_clip():
    """Each side counts its time from an epoch of its own."""
    course = arm(1)
    state = joints(course)
    moved = replace(
        state, epoch_ns=state.epoch_ns + 3_000_000_000, times_s=np.asarray(state.times_s) - 3.0
    )
    found = measure_camera_state(pictures(course, 1, late_s=0.5), moved, max_offset_s=0.45)
    assert not found.accepted
    assert "edge of the search range (-0.45 to +0.45 s)" in found.why


def test_errors_cover_the_truth():
    pairs = [measured(seed, late_s=0.037, noise=0.5) for seed in range(6)]
    z = [(pair.offset_s + 0.037) / pair.offset_std_s for pair in pairs if pair.accepted]
    assert len(z) >= 5
    # One of 6 honest z-scores exceeds 2.9 once in 45 runs.
    assert np.abs(z).max() < 2.9


def test_error_that_grows_beyond_use_is_a_refusal(monkeypatch):
    """Parts of the clip that scatter more than claimed widen the error of the whole."""
    monkeypatch.setattr(measure, "_random_std", lambda *_: 1.0)
    pair = measured(1)
    assert not pair.accepted
    assert "is too large to be useful" in pair.why


def test_slow_cameras_are_measured_too():
    course = arm(3, 20.0)
    state = joints(course, 20.0, rate_hz=10.0)
    pair = measure_camera_state(pictures(course, 3, 20.0, fps=10.0, late_s=0.4), state)
    assert pair.accepted, pair.why
    assert abs(pair.offset_s + 0.4) < TOLERANCE_10HZ_S


def test_joints_may_be_read_faster_than_frames_come():
    course = arm(4)
    pair = measure_camera_state(pictures(course, 4, late_s=0.1), joints(course, rate_hz=200.0))
    assert pair.accepted, pair.why
    assert abs(pair.offset_s + 0.1) < TOLERANCE_S


def test_unrelated_epochs_are_added():
    course = arm(5)
    camera = replace(pictures(course, 5, late_s=0.1), epoch_ns=10**18)
    pair = measure_camera_state(camera, joints(course))
    assert pair.accepted, pair.why
    assert abs(pair.offset_s + 1e9 + 0.1) < TOLERANCE_S


def test_commands_are_for_comparison_with_a_baseline_only():
    course = arm(6, lag_s=0.12)
    pair = measure_camera_state(pictures(course, 6), joints(course, is_command=True))
    assert pair.accepted, pair.why
    assert (pair.method, pair.is_baseline_only) == ("commanded_motion", True)
    assert -0.12 < pair.offset_s < -(1.0 - LAG_SHARE) * 0.12


def test_arm_trails_its_commands():
    course = arm(7, lag_s=0.12)
    pair = measure_states(joints(course, is_command=True), joints(course))
    assert pair.accepted, pair.why
    assert (pair.method, pair.is_baseline_only) == ("command", True)
    assert (1.0 - LAG_SHARE) * 0.12 < pair.offset_s < 0.12


def test_two_tables_of_one_arm_are_judged_against_zero():
    course = arm(8)
    other = replace(joints(course, late_s=0.06), source="encoders")
    pair = measure_states(other, joints(course))
    assert pair.accepted, pair.why
    assert (pair.method, pair.is_baseline_only) == ("joint_motion", False)
    assert abs(pair.offset_s + 0.06) < TOLERANCE_S


def test_images_of_another_episode_are_refused():
    for seed in range(2):
        state = joints(arm(seed + 50))
        pair = measure_camera_state(pictures(arm(seed), seed), state)
        assert not pair.accepted, (seed, pair.offset_s)


def test_images_of_something_else_that_moves_are_refused():
    for seed in range(3):
        pair = measured(seed, seen=0.0, noise=0.3)
        assert not pair.accepted, (seed, pair.offset_s)


def test_periodic_motion_is_refused():
    times_s = np.arange(360) / 30.0
    turn = 2.0 * np.pi * 0.8 * times_s
    course = arm(9)
    wave = np.stack([np.sin(turn), np.cos(turn), np.sin(turn + 1.0)], axis=1)
    state = replace(joints(course), values=wave)
    moves = np.diff(np.repeat(wave, 4, axis=1), axis=0)
    noise = 0.02 * np.random.default_rng(1).normal(size=moves.shape)
    camera = replace(
        pictures(course, 9),
        moves=moves + noise,
    )
    pair = measure_camera_state(camera, state)
    assert not pair.accepted
    assert "the motion looks the same at every delay" in pair.why


def test_lost_frames_are_a_step():
    course = arm(10)
    late_s = np.where(np.arange(360) < 180, 0.0, -0.1)
    pair = measure_camera_state(pictures(course, 10, late_s=late_s), joints(course))
    assert pair.accepted, pair.why
    # Three combined standard errors of both sides, and one of the twelve blocks.
    assert abs(pair.step_s - 0.1) < 0.025
    assert abs(pair.step_at_ns * 1e-9 - 6.0) <= 1.0


def test_arm_at_rest_is_refused():
    course = arm(11)
    state = joints(course)
    still = replace(state, values=np.tile(state.values[:1], (state.values.shape[0], 1)))
    pair = measure_camera_state(pictures(course, 11), still)
    assert pair.why == "state is too short or constant"


def test_still_images_are_refused():
    course = arm(12)
    camera = pictures(course, 12)
    pair = measure_camera_state(replace(camera, moves=np.zeros_like(camera.moves)), joints(course))
    assert not pair.accepted


def test_too_few_frames_are_refused():
    course = arm(13)
    camera = pictures(course, 13)
    few = ImageMotion(
        source="cam",
        epoch_ns=0,
        start_s=camera.start_s[:20],
        stop_s=camera.stop_s[:20],
        moves=camera.moves[:20],
    )
    assert measure_camera_state(few, joints(course)).why == (
        "only 20 usable increments; at least 30 are needed"
    )


def test_short_state_is_refused_on_either_side():
    course = arm(14)
    state = joints(course)
    short = replace(state, times_s=state.times_s[:12], values=state.values[:12])
    assert "too short" in measure_camera_state(pictures(course, 14), short).why
    assert "too short" in measure_states(short, state).why


def drifting(seed, drift_ppm, seconds=25.0, **how):
    """Measure a camera whose content age grows by the given ppm; other arguments are passed on."""
    course = arm(seed, seconds)
    since_s = np.arange(round(seconds * 30.0)) / 30.0 - 0.5 * seconds
    camera = pictures(course, seed, seconds, late_s=0.05 + 1e-6 * drift_ppm * since_s, noise=0.3)
    return measure_camera_state(camera, joints(course, seconds), **how)


@pytest.mark.parametrize(("seed", "drift_ppm"), [(0, 6000.0), (1, 12000.0), (3, 6000.0)])
def test_a_steady_drift_is_no_step(seed, drift_ppm):
    pair = drifting(seed, drift_ppm)
    assert pair.step_s is None
    assert not pair.accepted  # which no real clock has


@pytest.mark.parametrize(("seed", "drift_ppm"), [(1, 2000.0), (0, 3000.0), (7, 4000.0)])
def test_parts_that_disagree_by_a_drift_that_a_clock_may_have_are_a_drift(seed, drift_ppm):
    pair = drifting(seed, drift_ppm)
    assert pair.accepted, pair.why
    assert abs(pair.drift_ppm + drift_ppm) < 3.0 * pair.drift_std_ppm
    assert abs(pair.offset_s + 0.05) < 3.0 * pair.offset_std_s


@pytest.mark.parametrize(("seed", "drift_ppm"), [(5, 0.0), (2, 2000.0), (2, 3000.0)])
def test_no_drift_is_told_within_two_of_its_stated_errors(seed, drift_ppm):
    pair = drifting(seed, drift_ppm)
    assert pair.drift_ppm is None
    found_ppm, std_ppm = (pair.diagnostics[key] for key in ("drift_ppm", "drift_std_ppm"))
    assert abs(found_ppm) < 2.0 * std_ppm
    assert abs(found_ppm + drift_ppm) < 3.0 * std_ppm
    # A disagreement between parts of the clip that cannot be explained leads to rejection.
    assert pair.accepted is (drift_ppm < 3000.0)
    if pair.accepted:
        assert abs(pair.offset_s + 0.05) < 3.0 * pair.offset_std_s


@pytest.mark.parametrize(("seed", "drift_ppm"), [(5, 3000.0), (8, 3000.0)])
def test_a_drift_that_a_clock_may_have_is_no_step(seed, drift_ppm):
    pair = drifting(seed, drift_ppm)
    assert pair.step_s is None
    if pair.accepted and pair.drift_ppm is not None:
        assert abs(pair.drift_ppm + drift_ppm) < 3.0 * pair.drift_std_ppm


@pytest.mark.parametrize(("seed", "step_s"), [(0, 0.033), (4, 0.033), (7, 0.06), (9, 0.1)])
def test_lost_frames_are_a_step_all_the_same(seed, step_s):
    course = arm(seed, 25.0)
    late_s = np.where(np.arange(750) > 345, -step_s, 0.0)
    camera = pictures(course, seed, 25.0, late_s=late_s, noise=0.3)
    pair = measure_camera_state(camera, joints(course, 25.0))
    assert pair.drift_ppm is None
    if step_s > 0.033:  # one frame may equally be a drift
        assert pair.accepted, pair.why
    if pair.step_s is not None:
        assert abs(pair.step_s - step_s) < 3.0 * pair.step_std_s
        at_s = (pair.step_at_ns - camera.epoch_ns) * 1e-9
        assert abs(at_s - 11.5) < 3.0 * pair.diagnostics["step_at_std_s"]
    one = measure_camera_state(camera, joints(course, 25.0), is_one_clock=True)
    assert one.step_s is None


def test_errors_of_steps_hold():
    off = []
    for seed in (2, 5, 7, 8, 10, 11):
        course = arm(seed, 15.0)
        late_s = np.where(np.arange(450) > 225, -0.15, 0.0)
        camera = pictures(course, seed, 15.0, late_s=late_s)
        pair = measure_camera_state(camera, joints(course, 15.0))
        off.append((pair.step_s - 0.15) / pair.step_std_s)
    # The mean square of six normal numbers exceeds 1.5 times their variance once in six; errors
    # from the fit of either side alone give 1.8.
    assert np.mean(np.square(off)) < 1.5


@pytest.mark.parametrize("seed", [0, 6])
def test_lost_frames_near_the_end_are_not_overlooked(seed):
    course = arm(seed, 25.0)
    late_s = np.where(np.arange(750) > 675, -0.2, 0.0)
    camera = pictures(course, seed, 25.0, late_s=late_s, noise=0.3)
    pair = measure_camera_state(camera, joints(course, 25.0))
    assert not pair.accepted
    assert "its last 2" in pair.why or "its last 1" in pair.why
    assert pair.diagnostics["departs_by_s"] == pytest.approx(0.2, abs=0.05)


@pytest.mark.parametrize("seed", [0, 9])
def test_frames_that_are_late_for_a_while_are_not_overlooked(seed):
    """A recorder that stalls for a second and numbers its frames as if it had not."""
    course = arm(seed, 25.0)
    late_s = np.where(np.abs(np.arange(750) - 400) < 22, 0.12, 0.0)
    camera = pictures(course, seed, 25.0, late_s=late_s, noise=0.3)
    pair = measure_camera_state(camera, joints(course, 25.0))
    assert not pair.accepted
    assert "samples were late or early there" in pair.why
    assert pair.diagnostics["departs_by_s"] == pytest.approx(-0.12, abs=0.04)


@pytest.mark.parametrize(("drift_std_ppm", "is_accepted"), [(6000.0, True), (7000.0, False)])
def test_a_single_move_is_no_match(monkeypatch, drift_std_ppm, is_accepted):
    """Other moves resemble one: the ends of the clip must show the delay too."""
    found = measure.record_delay

    def record(task, mixed, driver, fit, step, figures, **how):
        told = found(task, mixed, driver, fit, step, figures, **how)
        figures["drift_std_ppm"] = drift_std_ppm
        return told

    monkeypatch.setattr(measure, "record_delay", record)
    pair = measured(1)
    assert pair.accepted == is_accepted
    assert is_accepted or "it rests on a single move" in pair.why


def test_sensors_on_one_clock_do_not_drift():
    assert drifting(0, 3000.0).drift_ppm is not None
    pair = drifting(1, 0.0, is_one_clock=True)
    assert pair.accepted, pair.why
    assert (pair.drift_ppm, pair.step_s) == (None, None)
    course = arm(8, 25.0)
    other = replace(joints(course, 25.0, late_s=0.06), source="encoders")
    assert "drift_ppm" in measure_states(other, joints(course, 25.0)).diagnostics
    pair = measure_states(other, joints(course, 25.0), is_one_clock=True)
    assert pair.accepted, pair.why
    assert "drift_ppm" not in pair.diagnostics


def test_parts_that_only_a_drift_explains_are_no_plain_offset(monkeypatch):
    """A drift known too poorly to be reported must not be ignored."""
    monkeypatch.setattr(measure, "why_no_line", lambda *_, **__: None)
    monkeypatch.setattr(measure, "find_shared_step", lambda *_, **__: (None, None))
    told = {"parts of the clip": "parts of the clip disagree"}
    monkeypatch.setattr(measure, "why_apart", lambda _, __, noun: told.get(noun))
    pair = measured(1)
    assert not pair.accepted
    assert "parts of the clip disagree" in pair.why


def test_what_coding_holds_back_is_part_of_the_error():
    course = arm(1)
    camera = pictures(course, 1)
    images = measure_camera_state(camera, joints(course))
    video = measure_camera_state(replace(camera, coding_std_s=0.01), joints(course))
    assert video.offset_s == images.offset_s
    more_s = np.sqrt(video.systematic_std_s**2 - images.systematic_std_s**2)
    assert abs(more_s - 0.01) < 1e-6


def test_noise_that_hides_small_motion_moves_no_answer_beyond_its_error():
    """A third of the cells show small late motion, which is exact until noise hides it."""
    course = arm(5, 20.0)
    clear = pictures(course, 5, 20.0, noise=0.0)
    small = pictures(course, 6, 20.0, late_s=0.03, noise=0.0)
    moves = clear.moves.copy()
    moves[:, 8:] = 0.1 * small.moves[:, 8:]
    noise = 0.1 * moves.std() * np.random.default_rng(3).normal(size=moves.shape)
    exact, noisy = (
        measure_camera_state(replace(clear, moves=seen), joints(course, 20.0))
        for seen in (moves, moves + noise)
    )
    assert exact.accepted, exact.why
    assert noisy.accepted, noisy.why
    apart_s = abs(exact.offset_s - noisy.offset_s)
    assert apart_s > 0.01
    assert apart_s < 3.0 * np.hypot(exact.offset_std_s, noisy.offset_std_s)
    assert noisy.offset_std_s < 0.5 * exact.offset_std_s
