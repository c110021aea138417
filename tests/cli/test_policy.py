"""`syncaudit policy show`."""

import json
from dataclasses import replace

import pytest

from syncaudit.policy import load_policy, profile_names


@pytest.mark.parametrize("profile", profile_names())
def test_the_policy_that_is_shown_is_a_policy_file(invoke, tmp_path, profile):
    result = invoke("policy", "show", "--profile", profile)
    assert result.exit_code == 0
    (tmp_path / "p.toml").write_text(result.stdout, encoding="utf-8")
    assert replace(load_policy(str(tmp_path / "p.toml")), name=profile) == load_policy(
        profile=profile
    )
    assert "null" not in result.stdout


def test_sources_and_baselines_are_shown(invoke, tmp_path):
    text = (
        '[kinds.imu]\noffset_ms = 0.1\njitter_ms = "off"\n'
        '[sources."cam_*"]\noffset_ms = 15.3\nstep_ms = "off"\n'
        "[baselines.steering]\noffset_ms = -41.7\n"
    )
    (tmp_path / "a.toml").write_text(text)
    shown = invoke("policy", "show", "--policy", str(tmp_path / "a.toml")).stdout
    (tmp_path / "b.toml").write_text(shown)
    first, again = (load_policy(str(tmp_path / name)) for name in ("a.toml", "b.toml"))
    assert replace(again, name=first.name) == first


def test_the_policy_in_force_is_shown_as_json(invoke):
    result = invoke("policy", "show", "--profile", "vla", "--json")
    assert result.exit_code == 0
    content = json.loads(result.stdout)
    assert content["name"] == "vla"
    assert content["kinds"]["camera"]["offset_s"] == 0.02


def test_unknown_profiles_are_refused(invoke):
    assert invoke("policy", "show", "--profile", "nix").exit_code == 2
