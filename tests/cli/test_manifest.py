"""The command `manifest`, and data sets passed to `validate`."""

import json

import pytest

from testkit.json_lines import read_json_lines


@pytest.fixture
def drives(tmp_path):
    """Return a plain folder of three clips."""
    root = tmp_path / "drives"
    for number in range(3):
        clip = root / f"clip{number}"
        clip.mkdir(parents=True)
        (clip / "imu.csv").write_text("timestamp_ns,gyro_x,gyro_y,gyro_z\n1,0,0,0\n")
        (clip / "cam.mp4").write_bytes(b"v")
        (clip / "readme").write_text("hello")
    return root


def test_it_writes_the_manifest_and_says_what_it_took(invoke, drives, tmp_path):
    out = tmp_path / "m.jsonl"
    result = invoke("manifest", "folder", str(drives), "--out", str(out), width=120)
    assert result.exit_code == 0
    assert "3 clips of a folder data set" in result.stdout
    assert "imu*.csv imu*.parquet -> imu (3 times)" in result.stdout
    assert "ignored files without a suffix: no rule matches it (3 times)" in result.stdout
    assert read_json_lines(out)[0]["sources"]["imu"]["uri"] == "drives/clip0/imu.csv"


@pytest.mark.usefixtures("in_this_process")
def test_the_format_can_be_found_by_probing(invoke, drives, tmp_path):
    out = tmp_path / "m.jsonl"
    result = invoke("manifest", "auto", str(drives), "-o", str(out), "--limit", "2", "-q")
    assert (result.exit_code, result.stdout) == (0, "")
    assert len(read_json_lines(out)) == 2


@pytest.mark.usefixtures("in_this_process")
def test_rules_may_come_as_toml_or_json(invoke, drives, tmp_path):
    for name, text in {
        "r.toml": '[[source]]\nmatch = "imu.csv"\nkind = "imu"\nname = "body"\n',
        "r.json": '{"source": [{"match": "imu.csv", "kind": "imu", "name": "body"}]}',
    }.items():
        (tmp_path / name).write_text(text)
        out = tmp_path / "m.jsonl"
        result = invoke(
            "manifest", "folder", str(drives), "-o", str(out), "--rules", str(tmp_path / name)
        )
        assert result.exit_code == 0, result.output
        assert set(read_json_lines(out)[0]["sources"]) == {"body"}


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nucenes", "{drives}"], "Did you mean 'nuscenes'?"),
        (["nuscenes", "{drives}"], "no folder v1.0-*"),
        (["auto", "{drives}/clip0/readme"], "lerobot: no meta/info.json"),
        (["auto", "{drives}/nowhere"], "no such file or folder"),
        (["folder", "{drives}", "--out", "{drives}/m.jsonl"], "inside the data set"),
        (["folder", "{drives}", "--out", "m.csv"], "must be .jsonl or .parquet"),
        (
            ["lerobot", "{drives}", "--rules", "{drives}/clip0/readme"],
            "the rules are not valid TOML",
        ),
        (["folder", "{drives}", "--rules", "gone.toml"], "the rules cannot be read"),
    ],
)
def test_what_cannot_be_is_a_usage_error(invoke, drives, tmp_path, arguments, words, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke("manifest", *[text.format(drives=drives) for text in arguments], width=300)
    assert result.exit_code == 2
    assert words in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("r.json", "[" * 60_000, "the rules are not valid TOML"),
        ("r.toml", "source = " + "[" * 60_000, "the rules are not valid TOML"),
        (
            "r.toml",
            "a." * 100_000 + "b = 1",
            "the rules file has 200005 bytes, expected 65536 at most",
        ),
    ],
)
def test_endless_rules_are_refused(invoke, drives, tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    arguments = ("manifest", "folder", str(drives), "-o", str(tmp_path / "m.jsonl"))
    result = invoke(*arguments, "--rules", str(tmp_path / name), width=300)
    assert result.exit_code == 2
    assert words in result.stderr


def test_rules_for_a_format_without_any_are_refused(invoke, drives, tmp_path):
    (tmp_path / "r.json").write_text('{"source": []}')
    (drives / "meta").mkdir()
    (drives / "meta" / "info.json").write_text('{"codebase_version": "v2.1"}')
    arguments = ["manifest", "lerobot", str(drives), "-o", str(tmp_path / "m.jsonl")]
    result = invoke(*arguments, "--rules", str(tmp_path / "r.json"))
    assert result.exit_code == 2
    assert "takes no rules" in result.stderr


def test_validate_takes_a_data_set(invoke, drives, tmp_path):
    out = tmp_path / "out"
    result = invoke("validate", str(drives), "--out", str(out), "-j", "0", "--limit", "2")
    assert result.exit_code in (0, 1, 4), result.output
    assert "2 clips of a folder data set" in result.stderr
    assert len(read_json_lines(out / "manifest.jsonl")) == 2
    assert len(read_json_lines(out / "verdicts.jsonl")) == 2


@pytest.mark.usefixtures("in_this_process")
def test_validate_goes_by_the_format_that_is_named(invoke, drives, tmp_path):
    arguments = ["validate", str(drives), "--out", str(tmp_path / "out")]
    assert invoke(*arguments, "--format", "lerobot").exit_code == 2
    assert invoke(*arguments, "--format", "folder", "-j", "0").exit_code in (0, 1, 4)


@pytest.mark.usefixtures("in_this_process")
def test_validate_takes_rules_for_a_data_set_and_none_for_a_manifest(
    invoke, drives, manifest, tmp_path
):
    rules = tmp_path / "rules.toml"
    rules.write_text('[[source]]\nmatch = "imu.csv"\nkind = "imu"\nname = "body"\n')
    options = ("--out", str(tmp_path / "o"), "--rules", str(rules), "-j", "0")
    result = invoke("validate", str(drives), *options, "--format", "folder", width=120)
    assert result.exit_code == 0, result.output
    rows = (tmp_path / "o" / "manifest.jsonl").read_text().splitlines()
    assert [list(json.loads(row)["sources"]) for row in rows] == [["body"]] * 3
    result = invoke("validate", manifest("pass1"), *options, width=200)
    assert result.exit_code == 2
    assert "takes no rules" in result.output
