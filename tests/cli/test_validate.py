"""`syncaudit validate` on a stand-in pipeline: exit codes, table and outputs."""

import json

import pytest

from testkit.json_lines import read_json_lines, write_json_lines


@pytest.fixture
def validate(invoke, manifest, tmp_path):
    def run(*clip_ids, options=(), width=80):
        arguments = ("validate", manifest(*clip_ids), "--out", str(tmp_path / "out"))
        return invoke(*arguments, "-j", "0", *options, width=width)

    return run


@pytest.mark.parametrize(
    ("clip_ids", "options", "code"),
    [
        (["pass1", "pass2"], [], 0),
        (["pass1", "reject1"], [], 1),
        (["pass1", "reject1"], ["--fail-on", "never"], 0),
        (["pass1", "silent1"], [], 0),
        (["pass1", "silent1"], ["--fail-on", "unverified"], 1),
        (["silent1", "silent2"], [], 4),
        (["silent1"], ["--fail-on", "unverified"], 1),
        (["silent1"], ["--fail-on", "never"], 4),
        (["silent1", "reject1"], [], 1),
        (["pass1", "stop", "pass2"], [], 130),
        (["reject1", "stop"], ["--fail-on", "never"], 130),
        (["pass1", "terminate"], [], 3),
        (["bug"], [], 1),
    ],
)
def test_exit_code(validate, clip_ids, options, code):
    assert validate(*clip_ids, options=options).exit_code == code


def test_the_table_says_what_is_wrong_in_words(validate):
    result = validate("pass1", "reject1", "silent1", "broken1", options=["--details"])
    assert "✓ pass" in result.stdout
    assert "✕ reject" in result.stdout
    assert "? unverified" in result.stdout
    assert "stamps 35.1 ± 0.6 ms early; limit 10 ms" in result.stdout
    assert "cam.mp4 ends early" in result.stdout
    assert "4 of 4 clips" in result.stdout
    assert "offset 1" in result.stdout


def test_the_table_fits_its_width(validate):
    long_name = "drive_" + "0123456789" * 6 + "_reject"
    result = validate("pass1", long_name, width=80)
    assert max(len(line) for line in result.stdout.splitlines() if not line.startswith("In ")) <= 80
    assert "".join(long_name.split()) in "".join(
        line[:28].strip() for line in result.stdout.splitlines()
    )


def test_names_of_strangers_cannot_talk_to_the_terminal(validate):
    assert "pass[bold]x" in validate("pass[bold]x").stdout
    result = validate("pass\x1b[31m")
    assert result.exit_code == 2
    assert "\x1b[31m" not in result.output


def test_outputs_are_written_and_named(validate, tmp_path):
    result = validate("pass1", "reject1", "silent1")
    for name in ("report.html", "passed.jsonl", "rejected.jsonl", "verdicts.parquet"):
        assert (tmp_path / "out" / name).exists()
        assert name in result.stdout
    passed = read_json_lines(tmp_path / "out/passed.jsonl")
    assert [row["clip_id"] for row in passed] == ["pass1"]
    assert passed[0]["sources"]["imu"]["uri"] == "../imu.csv"


def test_many_clips_are_told_by_cause_and_by_the_worst(validate):
    ids = [*[f"pass{i}" for i in range(20)], *[f"reject{i}" for i in range(25)], "broken1"]
    result = validate(*ids, width=80)
    lines = result.stdout.splitlines()
    assert len(lines) < 30
    assert max(map(len, lines[:-8])) <= 80
    (cause,) = [line for line in lines if line.startswith("✕ early or late")]
    assert cause.split()[4:9] == ["cam_rear", "25", "35.1", "ms", "early"]
    assert any(line.startswith("✕ reject0  ") for line in lines)
    assert any(line.startswith("✕ broken1  ") for line in lines)
    assert "22 more rejected clips" in result.stdout
    assert "pass3" not in result.stdout
    assert "20 pass" in result.stdout


def test_details_show_every_source_of_every_clip(validate):
    result = validate(*[f"pass{i}" for i in range(25)], options=["--details"])
    assert result.stdout.count("✓ pass") == 25


def test_quiet_prints_nothing(validate, tmp_path):
    result = validate("pass1", "reject1", options=["--quiet"])
    assert result.output == ""
    assert (tmp_path / "out" / "report.html").exists()


def test_limit_takes_the_first_clips(validate, tmp_path):
    validate("pass1", "pass2", "pass3", options=["--limit", "2"])
    assert len((tmp_path / "out" / "verdicts.jsonl").read_text().splitlines()) == 2


def test_interrupted_runs_go_on(validate):
    first = validate("pass1", "stop")
    assert "run it again to resume" in first.stdout
    assert "1 of 2 clips" in first.stdout
    assert "1 kept from the last run" in validate("pass1", "pass2").stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--profile", "drivin"], "Did you mean 'driving'?"),
        (["--policy", "no.toml"], "no.toml"),
        (["--memory-limit", "lots"], "must be auto, none or a size, got 'lots'. Write 4G or 512M."),
        (["--calibration", "no.json"], "no.json: the calibration cannot be read"),
    ],
)
def test_wrong_use_is_one_sentence_and_code_2(validate, tmp_path, options, message):
    result = validate("pass1", options=options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not valid JSON"),
        ("{}", "no 'sources'"),
        ('{"sources": {}, "version": 9}', "version 9 is unknown"),
    ],
)
def test_wrong_calibrations_are_refused(validate, tmp_path, content, message):
    path = tmp_path / "calibration.json"
    path.write_text(content)
    result = validate("pass1", options=["--calibration", str(path)])
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_manifest_that_breaks_the_contract_is_code_2(invoke, tmp_path):
    path = tmp_path / "manifest.jsonl"
    path.write_text('{"clip_id": "a", "sorces": {}}\n')
    result = invoke("validate", str(path), "--out", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert "sorces" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_missing_manifest_is_code_2(invoke, tmp_path):
    result = invoke("validate", str(tmp_path / "no.jsonl"), "--out", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert "no.jsonl" in result.stderr


def test_an_empty_manifest_is_code_2(invoke, tmp_path):
    (tmp_path / "manifest.jsonl").write_text("")
    result = invoke("validate", str(tmp_path), "--out", str(tmp_path / "out"))
    assert result.exit_code == 2


def test_a_folder_stands_for_its_manifest(invoke, manifest, tmp_path):
    manifest("pass1")
    out = str(tmp_path / "out")
    assert invoke("validate", str(tmp_path), "--out", out, "-j", "0").exit_code == 0
    result = invoke("validate", out, "--out", out)
    assert result.exit_code == 2
    assert "a folder without a manifest" in result.stderr


def test_a_screen_is_told_apart_in_the_summary(validate, tmp_path):
    assert validate("pass1", options=["--screen"]).exit_code == 4
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["screen"] is True
    assert validate("pass1").exit_code == 0
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["screen"] is False


def test_the_decoder_is_told_with_the_reason(validate, tmp_path):
    assert "Decoder" not in validate("pass1").stderr  # the default is not mentioned
    entry = json.loads((tmp_path / "out" / "summary.json").read_text())["decoder"]
    assert (entry["asked"], entry["took"]) == ("auto", "cpu")
    assert "nvdec and torchcodec conceal damage" in entry["why"]


def test_a_decoder_that_does_not_exist_is_a_usage_error(validate):
    result = validate("pass1", options=["--decoder", "nvdek"])
    assert result.exit_code == 2
    assert "Did you mean 'nvdec'" in result.stderr.replace("\n", " ")


def test_copied_rows_are_told_on_the_console(invoke, tmp_path):
    sources = {"cam": {"kind": "camera", "uri": "cam.mp4"}}
    rows = [{"clip_id": f"pass{k}", "sources": sources} for k in range(6)]
    path = tmp_path / "manifest.jsonl"
    write_json_lines(path, *rows)
    result = invoke("validate", str(path), "--out", str(tmp_path / "out"), "-j", "0")
    assert "pass1 has the same data as pass0 (cam): was the row copied?" in result.stdout
    assert "... and 2 more clips with the same data as another" in result.stdout


def test_warnings_are_shown_of_every_verdict(validate):
    result = validate("pass1", "reject1")
    assert result.stdout.count("! uneven stamps") == 2


def test_warnings_of_many_passed_clips_are_summed_up(validate):
    result = validate(*(f"pass{k}" for k in range(30)), width=200)
    lines = [line for line in result.stdout.splitlines() if "uneven" in line]
    assert lines == ["! 30 clips passed with a warning (jitter); the first is pass0: uneven stamps"]


def test_a_thorough_run_measures_anew(validate, tmp_path):
    assert validate("pass1").exit_code == 0
    again = validate("pass1", options=["--thorough"])
    assert "kept from the last run" not in again.stdout
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["thorough"] is True
