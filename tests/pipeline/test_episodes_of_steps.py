"""A lag injected into step-wise rows is found if their rate is known, and only then."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from syncaudit.datasets import load_manifest
from syncaudit.datasets.importing import import_dataset
from syncaudit.pipeline import audit
from syncaudit.policy import load_policy
from syncaudit.simulate.robot import ContentFault, EpisodeConfig, record_episode

FPS = 30.0
LATE_S = 4 / FPS
# Three standard errors of a clip of 10 s at 30 Hz.
TOLERANCE_S = 0.012


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Return a folder with one ALOHA episode whose wrist camera shows what was 133 ms ago."""
    faults = {"wrist": ContentFault(late_s=LATE_S)}
    config = EpisodeConfig(duration_s=10.0, fps=FPS, size_px=(160, 120), faults=faults)
    episode = record_episode(config, 7)
    folder = tmp_path_factory.mktemp("steps") / "data"
    folder.mkdir()
    with h5py.File(folder / "episode_0.hdf5", "w") as file:
        file["observations/qpos"], file["action"] = episode.state, episode.action
        for name in config.cameras:
            frames = np.stack(list(episode.frames(name)))
            file[f"observations/images/{name}"] = np.repeat(frames[..., None], 3, axis=3)
    return folder


def judged(root, tmp_path, rules):
    import_dataset(str(root), tmp_path / "m.jsonl", format_name="hdf5", rules=rules)
    (clip,) = load_manifest(str(tmp_path / "m.jsonl"))
    return audit(clip, load_policy(profile="vla"))


def test_at_a_known_rate_the_lag_is_found(root, tmp_path):
    verdict = judged(root, tmp_path, {"rate_hz": FPS})
    assert [(str(r.code), r.source) for r in verdict.reasons] == [("offset", "wrist")]
    assert abs(verdict.sources["wrist"].offset_s + LATE_S) < TOLERANCE_S
    for name in ("top", "state", "action"):
        assert str(verdict.sources[name].verdict) == "pass", name


def test_without_a_rate_nothing_is_decided(root, tmp_path):
    verdict = judged(root, tmp_path, {})
    assert str(verdict.verdict) == "unverified"
    assert {str(reason.code) for reason in verdict.reasons} == {"rate"}
    assert all("numbers are not timestamps" in reason.message for reason in verdict.reasons)
    assert not any(pair.accepted for pair in verdict.pairs)
