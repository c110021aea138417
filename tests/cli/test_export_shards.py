"""`syncaudit export-shards` on a stand-in pipeline."""

import json

import pytest


@pytest.fixture
def out(invoke, manifest, tmp_path):
    for name in ("cam.mp4", "cam.csv", "imu.csv"):
        (tmp_path / name).write_text("content")
    path = manifest("pass1", "reject1", "silent1", "drive/7")
    invoke("validate", path, "--out", str(tmp_path / "out"), "-j", "0", "-q")
    return tmp_path / "out"


def clips_of(folder):
    return json.loads((folder / "shards.json").read_text())["clips"]


def test_passed_clips_become_shards(invoke, out, tmp_path):
    result = invoke("export-shards", str(out), "--out", str(tmp_path / "shards"))
    assert result.exit_code == 0
    assert "2 clips in 1 shard" in result.output
    assert "1 clip left out: reject" in result.output
    assert clips_of(tmp_path / "shards") == 2


def test_unverified_clips_are_asked_for_by_name(invoke, out, tmp_path):
    place = str(tmp_path / "shards")
    invoke("export-shards", str(out), "--out", place, "--include", "unverified")
    assert clips_of(tmp_path / "shards") == 3
    result = invoke("export-shards", str(out), "--out", place, "--include", "unverifed")
    assert result.exit_code == 2
    assert "no verdict is called 'unverifed'" in result.output


def test_clips_without_a_verdict_are_told(invoke, out, manifest, tmp_path):
    path = manifest("pass1", "never_seen")
    result = invoke("export-shards", str(out), path, "--out", str(tmp_path / "shards"))
    assert result.exit_code == 1
    assert "1 clip left out: without a verdict on this row" in result.output
    assert clips_of(tmp_path / "shards") == 1


def test_a_clip_of_another_manifest_has_no_verdict_by_its_name(invoke, out, tmp_path):
    rows = [json.loads(line) for line in (tmp_path / "manifest.jsonl").read_text().splitlines()]
    (tmp_path / "other.csv").write_text("never audited")
    rows[0]["sources"]["imu"]["uri"] = "other.csv"
    path = tmp_path / "other.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    result = invoke("export-shards", str(out), str(path), "--out", str(tmp_path / "shards"))
    assert result.exit_code == 1
    assert "1 clip left out: without a verdict on this row" in result.output
    assert clips_of(tmp_path / "shards") == 1


def test_clips_that_cannot_be_packed_are_told(invoke, out, tmp_path):
    (tmp_path / "cam.mp4").unlink()
    result = invoke("export-shards", str(out), "--out", str(tmp_path / "shards"), width=400)
    assert result.exit_code == 1
    assert "pass1 could not be packed" in result.output
    assert "file not found" in result.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--max-size", "big"], "--max-size is 'big'"),
        (["--max-size", "0"], "--max-size is '0'"),
        (["--max-count", "0"], "--max-count"),
    ],
)
def test_wrong_limits_are_refused(invoke, out, tmp_path, options, message):
    result = invoke("export-shards", str(out), "--out", str(tmp_path / "s"), *options)
    assert result.exit_code == 2
    assert message in result.output


def test_the_folder_of_the_verdicts_takes_no_shards(invoke, out):
    result = invoke("export-shards", str(out), "--out", str(out))
    assert result.exit_code == 2
    assert "holds the verdicts" in result.output


@pytest.mark.parametrize(
    ("text", "size"), [("500M", 5e8), ("1.5g", 1.5e9), ("2 kB", 2e3), ("7", 7)]
)
def test_sizes_are_read_as_people_write_them(text, size):
    from syncaudit.cli.export_shards import _bytes_of

    assert _bytes_of(text) == size
