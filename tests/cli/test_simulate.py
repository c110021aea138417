"""`syncaudit simulate`: command-line options only; the simulator has its own tests."""

import pytest

from testkit.json_lines import read_json_lines


def test_scenarios_are_listed(invoke):
    result = invoke("simulate", "--list")
    assert result.exit_code == 0
    assert "shifted_camera" in result.stdout
    assert "offset_s=0.035" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no scenario is named"),
        (["good"], "Add --out DIR"),
        (["god", "--out", "x"], "Did you mean 'good'?"),
        (["good", "--out", "x", "--size", "big"], "expected WIDTHxHEIGHT"),
        (["good", "--out", "x", "--duration", "0.1"], "duration_s is 0.1"),
        (["good", "--out", "x", "--cameras", "cam_top"], "no camera 'cam_top'"),
    ],
)
def test_wrong_use_is_refused(invoke, arguments, message):
    result = invoke("simulate", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_clips_are_made_with_their_truth(invoke, tmp_path):
    options = ["--clips", "2", "--duration", "1", "--size", "64x48", "--cameras", "cam_rear"]
    result = invoke("simulate", "shifted_camera", "--out", str(tmp_path / "sim"), *options)
    assert result.exit_code == 0, result.stderr
    rows = read_json_lines(tmp_path / "sim/manifest.jsonl")
    assert [row["clip_id"] for row in rows] == ["shifted_camera_000", "shifted_camera_001"]
    assert (tmp_path / "sim" / "truth.json").exists()
    assert "syncaudit validate" in result.stdout
