"""`syncaudit inspect` on a stand-in pipeline."""

import json

import pytest


def test_one_clip_is_shown_from_stamps_to_verdict(invoke, manifest):
    result = invoke("inspect", manifest("reject1"))
    assert result.exit_code == 1
    for words in (
        "✕ reject",
        "3 missing",
        "cam_rear → imu",
        "rotation",
        "no event seen",
        "not observable",
        "by consensus",
        "ppm",
        "imu → cam_rear → can → imu",
        "[offset]",
    ):
        assert words in result.stdout


def test_json_holds_the_verdict_and_the_solution(invoke, manifest):
    result = invoke("inspect", manifest("pass1"), "--json")
    assert result.exit_code == 0
    content = json.loads(result.stdout)
    assert content["verdict"] == "pass"
    assert content["solution"]["clocks"]["cam_rear"]["offset_s"] == pytest.approx(0.0351, abs=1e-9)
    assert content["stamps"]["imu"]["warnings"] == ["w"]


def test_the_clip_must_be_named_among_several(invoke, manifest):
    path = manifest("pass1", "reject1")
    result = invoke("inspect", path)
    assert result.exit_code == 2
    assert "--clip" in result.stderr
    assert invoke("inspect", path, "--clip", "pass1").exit_code == 0
    wrong = invoke("inspect", path, "--clip", "reject")
    assert wrong.exit_code == 2
    assert "Did you mean 'reject1'?" in wrong.stderr


def test_a_clip_that_cannot_be_read_is_a_reject(invoke, manifest):
    path = manifest("broken1")
    result = invoke("inspect", path)
    assert result.exit_code == 1
    assert "cam.mp4 ends early" in result.stdout
    assert json.loads(invoke("inspect", path, "--json").stdout)["reasons"][0]["code"] == "corrupt"


def test_an_unverified_clip_has_a_code_of_its_own(invoke, manifest):
    assert invoke("inspect", manifest("silent1")).exit_code == 4
