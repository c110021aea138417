"""No command overwrites foreign files, follows a link, or accepts an empty --out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from syncaudit.batch.outputs import OUTPUTS, SIDE_FILES

CALIBRATION = {"version": 1, "reference": "a", "sources": {}}
STRANGER = "stranger's own text\n"


def sentence(result, *, code):
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


@pytest.fixture
def out(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("name", OUTPUTS | SIDE_FILES)
def test_a_strangers_file_in_the_output_folder_stays(invoke, manifest, out, name):
    (out / name).write_text(STRANGER)
    result = invoke("validate", manifest("pass1"), "--out", str(out), "-j", "0")
    assert name in sentence(result, code=2)
    assert [path.name for path in out.iterdir()] == [name]
    assert (out / name).read_text() == STRANGER


@pytest.mark.parametrize("name", OUTPUTS | SIDE_FILES)
def test_a_link_in_the_output_folder_is_not_followed(invoke, manifest, out, tmp_path, name):
    (tmp_path / "mine").write_text(STRANGER)
    (out / name).symlink_to(tmp_path / "mine")
    options = ("--out", str(out), "-j", "0")
    assert "symbolic link" in sentence(invoke("validate", manifest("pass1"), *options), code=2)
    assert invoke("validate", manifest("pass1"), *options, "--force").exit_code == 0
    assert (tmp_path / "mine").read_text() == STRANGER


@pytest.mark.parametrize("name", ["passed.jsonl", "verdicts.jsonl", "verdicts.parquet"])
def test_what_looks_like_an_output_is_not_one_without_a_run(invoke, manifest, out, name):
    path = manifest("pass1")
    content = b"PAR1 and more" if name.endswith(".parquet") else Path(path).read_bytes()
    (out / name).write_bytes(content)
    (out / "summary.json").touch()
    assert name in sentence(invoke("validate", path, "--out", str(out), "-j", "0"), code=2)
    assert (out / name).read_bytes() == content


def test_it_may_be_forced_and_repeated(invoke, manifest, out):
    (out / "report.html").write_text(STRANGER)
    options = ("--out", str(out), "-j", "0", "-q")
    assert invoke("validate", manifest("pass1"), *options, "--force").exit_code == 0
    assert invoke("validate", manifest("pass1"), *options).exit_code == 0
    assert "<title>syncaudit" in (out / "report.html").read_text()


def test_what_others_keep_beside_stays(invoke, manifest, out):
    (out / "notes.txt").write_text(STRANGER)
    assert invoke("validate", manifest("pass1"), "--out", str(out), "-j", "0").exit_code == 0
    assert (out / "notes.txt").read_text() == STRANGER


def test_drafts_that_were_planted_are_not_followed(invoke, manifest, out, tmp_path):
    (tmp_path / "mine").write_text(STRANGER)
    for name in (*OUTPUTS, "verdicts.jsonl.outdated", "recordings.pooled"):
        (out / f".{name}.tmp").symlink_to(tmp_path / "mine")
    assert invoke("validate", manifest("pass1"), "--out", str(out), "-j", "0").exit_code == 0
    assert (tmp_path / "mine").read_text() == STRANGER


@pytest.mark.parametrize("text", ["", " "])
@pytest.mark.parametrize(
    "command",
    ["validate", "judge", "merge", "export-shards", "sample-speech", "manifest", "align", "sample"],
)
def test_an_empty_out_is_refused(invoke, manifest, tmp_path, monkeypatch, command, text):
    path = manifest("pass1")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert "--out is empty" in sentence(invoke(command, path, "--out", text), code=2)
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize("option", ["--junit", "--sarif"])
def test_files_for_ci_spare_the_manifest(invoke, manifest, out, option):
    path = manifest("pass1", "reject1")
    before = Path(path).read_text()
    options = ("--out", str(out), "-j", "0")
    assert "did not write" in sentence(invoke("validate", path, *options, option, path), code=2)
    assert Path(path).read_text() == before
    assert list(out.iterdir()) == []
    made = str(out / "report.html")  # an output of the run itself
    assert invoke("validate", path, *options, option, made).exit_code == 2
    assert "<title>syncaudit" in (out / "report.html").read_text()
    mine = str(out / "ci.xml")
    for _ in range(2):
        assert invoke("validate", path, *options, option, mine).exit_code == 1


def test_a_manifest_in_the_output_folder_is_not_written_over(invoke, manifest, out):
    invoke("validate", manifest("pass1", "pass2"), "--out", str(out), "-j", "0")
    before = (out / "passed.jsonl").read_bytes()
    result = invoke("validate", str(out / "passed.jsonl"), "--out", str(out), "-j", "0")
    assert "read by this run" in sentence(result, code=2)
    assert (out / "passed.jsonl").read_bytes() == before


@pytest.mark.parametrize("options", [("--limit", "1"), ("--shard", "1/2")])
def test_a_part_of_the_manifest_deletes_no_verdicts(invoke, manifest, out, options):
    path = manifest("pass1", "pass2", "reject1")
    given = ("validate", path, "--out", str(out), "-j", "0", "-q")
    assert invoke(*given).exit_code == 1
    before = {p.name: p.read_bytes() for p in out.iterdir() if not p.name.startswith(".")}
    assert "this run does not name" in sentence(invoke(*given, *options), code=2)
    after = {p.name: p.read_bytes() for p in out.iterdir() if not p.name.startswith(".")}
    assert after == before
    assert invoke(*given, *options, "--prune").exit_code in (0, 1)
    assert invoke(*given).exit_code == 1
    rows = map(json.loads, (out / "verdicts.jsonl").read_text().splitlines())
    assert [row["clip_id"] for row in rows] == ["pass1", "pass2", "reject1"]


def test_a_screen_does_not_replace_what_was_measured(invoke, manifest, out):
    given = ("validate", manifest("pass1"), "--out", str(out), "-j", "0", "-q")
    assert invoke(*given).exit_code == 0
    assert "of --screen would replace" in sentence(invoke(*given, "--screen"), code=2)
    assert json.loads((out / "verdicts.jsonl").read_text())["verdict"] == "pass"
    assert invoke(*given, "--screen", "--force").exit_code == 4
    assert invoke(*given, "--screen").exit_code == 4
    assert invoke(*given).exit_code == 0


def test_judging_does_not_replace_another_run(invoke, manifest, out, tmp_path):
    path, other = manifest("pass1"), tmp_path / "other"
    for folder in (out, other):
        invoke("validate", path, "--out", str(folder), "-j", "0", "-q")
    for command in ("judge", "merge"):
        result = invoke(command, str(out), "--out", str(other))
        assert "verdicts of another run" in sentence(result, code=2)
        new = str(tmp_path / command)
        for _ in range(2):
            assert invoke(command, str(out), "--out", new, "-q").exit_code == 0


@pytest.mark.usefixtures("in_this_process")
def test_an_imported_manifest_that_was_edited_stays(invoke, tmp_path):
    (tmp_path / "set" / "drive1").mkdir(parents=True)
    (tmp_path / "set" / "drive1" / "imu.csv").write_text(
        "timestamp_ns,gyro_x,gyro_y,gyro_z\n0,0,0,0\n10000000,0,0,1\n"
    )
    path = tmp_path / "m.jsonl"
    given = ("manifest", "folder", str(tmp_path / "set"), "--out", str(path))
    for _ in range(2):
        result = invoke(*given)
        assert result.exit_code == 0, result.output
    path.write_text(path.read_text().replace("drive1", "drive one"))
    edited = path.read_text()
    assert "did not write" in sentence(invoke(*given), code=2)
    assert path.read_text() == edited
    assert invoke(*given, "--force").exit_code == 0


def test_a_simulation_does_not_fill_a_folder_of_others(invoke, tmp_path):
    (tmp_path / "mine.csv").write_text(STRANGER)
    result = invoke("simulate", "good", "--out", str(tmp_path), "--duration", "1")
    assert "did not write ('mine.csv')" in sentence(result, code=2)


def test_a_sample_and_a_baseline_spare_files_of_others(invoke, manifest, out, tmp_path):
    invoke("validate", manifest("pass1"), "--out", str(out), "-j", "0", "-q")
    mine = tmp_path / "mine.jsonl"
    mine.write_text(STRANGER)
    given = ("sample", str(out), "--out", str(mine))
    assert "did not write" in sentence(invoke(*given), code=2)
    assert mine.read_text() == STRANGER
    for extra in (("--force",), ()):
        assert invoke(*given, *extra).exit_code == 0


def test_a_calibration_spares_files_of_others(tmp_path):
    import typer
    from syncaudit_calibration.calibrate_command import calibrate
    from typer.testing import CliRunner

    from syncaudit.errors import UsageError

    (tmp_path / "imu.csv").write_text(STRANGER)
    (tmp_path / "old.json").write_text(json.dumps(CALIBRATION))
    app = typer.Typer()
    app.command()(calibrate)
    for name, message in (("imu.csv", "did not write"), ("old.json", "no manifest|nosuch")):
        given = [str(tmp_path / "nosuch"), "--out", str(tmp_path / name)]
        error = CliRunner().invoke(app, given).exception
        assert isinstance(error, Exception)
        if name == "imu.csv":
            assert isinstance(error, UsageError)
            assert message in str(error)
    assert (tmp_path / "imu.csv").read_text() == STRANGER
