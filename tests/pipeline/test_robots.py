"""Robot episodes from the data set to the verdict."""

from pathlib import Path

import pytest

from syncaudit.datasets import load_manifest
from syncaudit.datasets.importing import import_dataset
from syncaudit.model import ClipVerdict
from syncaudit.pipeline import audit
from syncaudit.policy import load_policy
from syncaudit.simulate.robot import ContentFault, EpisodeConfig, record_episode, write_lerobot

# Three standard errors of a clip of 10 s at 30 Hz.
TOLERANCE_S = 0.012


def judged(folder: Path, seed: int, *, has_state: bool = True, **how) -> ClipVerdict:
    config = EpisodeConfig(duration_s=10.0, size_px=(160, 120), **how)
    write_lerobot(folder / "data", [record_episode(config, seed)], has_state=has_state)
    import_dataset(str(folder / "data"), folder / "out" / "m.jsonl", format_name="lerobot")
    (clip,) = load_manifest(str(folder / "out" / "m.jsonl"))
    return audit(clip, load_policy(profile="vla"))


@pytest.fixture(scope="module")
def late(tmp_path_factory) -> ClipVerdict:
    faults = {"wrist": ContentFault(late_s=4 / 30.0)}
    return judged(tmp_path_factory.mktemp("late"), 7, faults=faults)


def test_episode_of_ten_steps_says_that_it_is_too_short(tmp_path):
    config = EpisodeConfig(duration_s=2.0, fps=5.0, size_px=(160, 120))
    write_lerobot(tmp_path / "data", [record_episode(config, 3)])
    import_dataset(str(tmp_path / "data"), tmp_path / "out" / "m.jsonl", format_name="lerobot")
    (clip,) = load_manifest(str(tmp_path / "out" / "m.jsonl"))
    verdict = audit(clip, load_policy(profile="vla"))
    assert str(verdict.verdict) == "unverified"
    said = {r.source: r.message for r in verdict.reasons if str(r.code) == "unobservable"}
    assert "state holds 10 samples over 1.8 s: at least 16 are needed" in said["state"]
    assert "only 9 usable increments" in said["wrist"]


def test_late_wrist_camera_is_found_behind_perfect_stamps(late):
    assert str(late.verdict) == "reject"
    assert [(str(r.code), r.source) for r in late.reasons] == [("offset", "wrist")]
    assert abs(late.sources["wrist"].offset_s + 4 / 30.0) < TOLERANCE_S
    assert "about 4 frame periods, which counted timestamps cannot show" in late.reasons[0].message


def test_all_others_pass_and_counters_stay_a_warning(late):
    for name in ("top", "state", "action"):
        assert str(late.sources[name].verdict) == "pass", name
    assert {str(warning.code) for warning in late.warnings} == {"rate"}


def test_commands_are_vouched_for_by_the_baseline(late):
    (pair,) = [pair for pair in late.pairs if pair.method == "command"]
    assert pair.accepted
    assert pair.is_baseline_only
    assert late.sources["action"].offset_s is None


def test_cameras_alone_are_held_against_commands(tmp_path):
    faults = {"wrist": ContentFault(late_s=8 / 30.0)}
    verdict = judged(tmp_path, 8, has_state=False, cameras=("wrist",), faults=faults)
    assert str(verdict.verdict) == "reject"
    assert {reason.source for reason in verdict.reasons} == {"wrist"}
    assert "away from its baseline of -90 ms" in verdict.reasons[0].message
