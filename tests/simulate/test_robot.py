"""The robot cell: kinematics, dynamics, faults, and the view of its cameras."""

import json
from pathlib import Path

import numpy as np
import pytest

from syncaudit.datasets import load_manifest
from syncaudit.datasets.importing import import_dataset
from syncaudit.model import SignalStream
from syncaudit.readers import read_source
from syncaudit.simulate.compare import read_luma
from syncaudit.simulate.robot import (
    ContentFault,
    EpisodeConfig,
    SceneStyle,
    TaskStyle,
    record_episode,
    write_lerobot,
)
from syncaudit.simulate.robot.arm import TOOL_M, hand_pose, links_at, reach
from syncaudit.simulate.robot.task import draw_course

MOVING_SEED = 15
TINY = EpisodeConfig(duration_s=0.5, size_px=(96, 72), scene=SceneStyle(n_objects=2))


@pytest.mark.parametrize("tip_m", [(0.3, 0.1, 0.1), (0.2, -0.25, 0.2), (0.25, 0.0, 0.02)])
def test_joints_bring_the_fingertips_to_the_place(tip_m):
    joints = reach(np.array(tip_m), pitch_deg=-75.0, roll_deg=20.0, gripper=50.0)
    turn, wrist_m = hand_pose(joints)
    np.testing.assert_allclose(wrist_m + TOOL_M * turn[:, 0], tip_m, atol=1e-9)
    np.testing.assert_allclose(turn.T @ turn, np.eye(3), atol=1e-12)


def test_links_join_and_fingers_open():
    joints = reach(np.array([0.3, 0.1, 0.1]), pitch_deg=-75.0, roll_deg=0.0, gripper=0.0)
    upper, fore = links_at(joints)[1:3]
    elbow = upper.centre_m + upper.rotation[:, 0] * upper.half_size_m[0]
    np.testing.assert_allclose(fore.centre_m - fore.rotation[:, 0] * fore.half_size_m[0], elbow)
    opened = joints.copy()
    opened[5] = 100.0
    gaps = [
        np.linalg.norm(links[5].centre_m - links[4].centre_m)
        for links in (links_at(joints), links_at(opened))
    ]
    assert gaps[1] > gaps[0] + 0.05


def test_place_out_of_reach_is_approached():
    joints = reach(np.array([3.0, 0.0, 0.2]), pitch_deg=0.0, roll_deg=0.0, gripper=0.0)
    assert np.isfinite(joints).all()


def test_arm_trails_a_slow_command_by_its_lag():
    course = draw_course(10.0, TaskStyle(tremor_deg=0.0, lag_s=0.1), np.random.default_rng(1))
    times_s = np.arange(0.0, 10.0, 0.01)
    command, joints = course.command(times_s), course.joints(times_s)
    lags_s = np.arange(0.0, 0.2, 0.01)
    misses = [np.abs(course.command(times_s - lag) - joints).mean() for lag in lags_s]
    # Minimum-jerk moves extend up to 2 Hz, which two equal lags delay slightly less.
    assert abs(lags_s[int(np.argmin(misses))] - 0.1) <= 0.02
    assert np.abs(command - joints).max() > 1.0


def test_content_fault_says_when_the_content_was_true():
    times_s = np.arange(6) / 10.0
    np.testing.assert_allclose(ContentFault(late_s=0.2).content_s(6, 10.0), times_s - 0.2)
    np.testing.assert_allclose(
        ContentFault(dropped=(2, 3)).content_s(6, 10.0), [0.0, 0.1, 0.4, 0.5, 0.6, 0.7]
    )
    late_s = times_s - ContentFault(drift_ppm=1000.0).content_s(6, 10.0)
    np.testing.assert_allclose(late_s, 1e-3 * times_s, atol=1e-12)


def test_late_frames_show_what_was():
    late = EpisodeConfig(
        duration_s=0.5,
        size_px=(96, 72),
        scene=SceneStyle(n_objects=2),
        faults={"wrist": ContentFault(late_s=4 / TINY.fps)},
    )
    good, bad = (
        np.array([coarse(frame) for frame in record_episode(config, MOVING_SEED).frames("wrist")])
        for config in (TINY, late)
    )
    assert np.abs(good[:-4] - bad[4:]).mean() < 0.5 * np.abs(good - bad).mean()


def coarse(frame):
    """Average 8 x 8 pixels, which leaves little noise, and remove the exposure."""
    cells = frame.astype(float).reshape(9, 8, 12, 8).mean(axis=(1, 3))
    return cells - cells.mean()


def test_joints_are_read_in_steps_of_the_encoder():
    state = record_episode(TINY, 4).state[:, :5] * 4096.0 / 360.0
    np.testing.assert_allclose(state, np.rint(state), atol=1e-6)


def test_equal_seeds_give_equal_episodes():
    first, second = (record_episode(TINY, 5) for _ in range(2))
    np.testing.assert_array_equal(first.state, second.state)
    np.testing.assert_array_equal(next(first.frames("wrist")), next(second.frames("wrist")))
    assert np.abs(record_episode(TINY, 6).state - first.state).max() > 1.0


def test_hand_light_and_flicker_change_the_images():
    config = EpisodeConfig(
        duration_s=0.5,
        size_px=(96, 72),
        scene=SceneStyle(n_objects=2, has_hand=True),
        light_step=0.5,
        flicker=0.1,
    )
    for camera in config.cameras:
        plain = np.array(list(record_episode(TINY, 7).frames(camera)), np.float64)
        changed = np.array(list(record_episode(config, 7).frames(camera)), np.float64)
        assert changed[-5:].mean() > 1.3 * plain[-5:].mean()


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
def test_written_episodes_are_read_back(version, tmp_path: Path):
    episodes = [record_episode(TINY, seed) for seed in (8, 9)]
    write_lerobot(tmp_path / "data", episodes, version=version)
    import_dataset(str(tmp_path / "data"), tmp_path / "out" / "m.jsonl", format_name="lerobot")
    clips = load_manifest(str(tmp_path / "out" / "m.jsonl"))
    for clip, episode in zip(clips, episodes, strict=True):
        assert sorted(clip.sources) == ["action", "state", "top", "wrist"]
        state = read_source("state", clip.sources["state"], clip.base_uri)
        assert isinstance(state, SignalStream)
        assert state.findings == ()
        np.testing.assert_allclose(state.channels[0].values, episode.state, rtol=1e-6)
        wrist = read_source("wrist", clip.sources["wrist"], clip.base_uri)
        assert wrist.findings == ()
        assert wrist.time_ns.size == TINY.n_frames


def test_videos_show_the_frames(tmp_path: Path):
    episode = record_episode(TINY, 10)
    write_lerobot(tmp_path / "data", [episode], has_state=False)
    info = json.loads((tmp_path / "data/meta/info.json").read_text())
    assert "observation.state" not in info["features"]
    (video,) = (tmp_path / "data").glob("videos/*/observation.images.wrist/*.mp4")
    shown = read_luma(video).astype(float)
    # x264 at crf 26.
    assert np.abs(shown - np.array(list(episode.frames("wrist")))).mean() < 6.0


def test_unknown_version_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match=r"version is 'v1', expected one of v2\.1, v3\.0"):
        write_lerobot(tmp_path / "data", [record_episode(TINY, 11)], version="v1")


def test_tables_replace_links_and_do_not_follow_them(tmp_path: Path) -> None:
    own = tmp_path / "own.parquet"
    own.write_bytes(b"mine")
    place = tmp_path / "data" / "data/chunk-000/episode_000000.parquet"
    place.parent.mkdir(parents=True)
    place.symlink_to(own)
    write_lerobot(tmp_path / "data", [record_episode(TINY, 11)])
    assert own.read_bytes() == b"mine"
    assert not place.is_symlink()
