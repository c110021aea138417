"""`syncaudit policy show`."""

import json


def test_the_policy_in_force_is_shown(invoke):
    result = invoke("policy", "show", "--profile", "vla")
    assert result.exit_code == 0
    content = json.loads(result.stdout)
    assert content["name"] == "vla"
    assert content["kinds"]["camera"]["offset_s"] == 0.02


def test_unknown_profiles_are_refused(invoke):
    assert invoke("policy", "show", "--profile", "nix").exit_code == 2
