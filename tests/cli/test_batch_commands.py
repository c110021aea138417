"""`judge`, `merge`, `trace`, and the CI outputs of `validate`, on a stand-in pipeline."""

import json
from xml.etree import ElementTree

import pytest

from syncaudit.cli.fleet_table import recording_lines


@pytest.fixture
def out(invoke, manifest, tmp_path):
    ids = ("pass1", "reject1", "silent1", "drive/7")
    invoke("validate", manifest(*ids), "--out", str(tmp_path / "out"), "-j", "0", "-q")
    return tmp_path / "out"


def test_validate_writes_for_ci_servers(invoke, manifest, tmp_path):
    paths = tmp_path / "ci" / "junit.xml", tmp_path / "ci" / "s.sarif"
    options = ("--junit", str(paths[0]), "--sarif", str(paths[1]))
    place = str(tmp_path / "out")
    invoke("validate", manifest("pass1", "reject1"), "--out", place, "-j", "0", *options)
    suite = ElementTree.parse(paths[0]).getroot().find("testsuite")  # noqa: S314
    assert suite.get("failures") == "1"
    levels = [r["level"] for r in json.loads(paths[1].read_text())["runs"][0]["results"]]
    assert "error" in levels


def test_a_ci_file_that_cannot_be_written_is_told(invoke, manifest, tmp_path):
    (tmp_path / "file").write_text("")
    options = ("--junit", str(tmp_path / "file" / "junit.xml"))
    place = str(tmp_path / "out")
    result = invoke("validate", manifest("pass1"), "--out", place, "-j", "0", *options)
    assert result.exit_code == 2
    assert "cannot be written" in result.output


@pytest.mark.parametrize("shard", ["0/3", "4/3", "3", "a/b", "1/0"])
def test_wrong_shards_are_refused(invoke, manifest, tmp_path, shard):
    result = invoke("validate", manifest("a"), "--out", str(tmp_path / "o"), "--shard", shard)
    assert result.exit_code == 2
    assert "expected I/N" in result.output


def test_shards_merge_in_the_order_of_the_manifest(invoke, manifest, tmp_path):
    ids = [f"pass{k}" for k in range(7)]
    path = manifest(*ids)
    parts = [str(tmp_path / f"part{k}") for k in (1, 2, 3)]
    for k, part in enumerate(parts, start=1):
        invoke("validate", path, "--out", part, "-j", "0", "-q", "--shard", f"{k}/3")
    result = invoke("merge", *parts, "--out", str(tmp_path / "all"))
    assert "joined" in result.output
    assert "last run" not in result.output
    assert result.exit_code == 0
    lines = (tmp_path / "all" / "verdicts.jsonl").read_text().splitlines()
    assert [json.loads(line)["clip_id"] for line in lines] == ids
    assert invoke("merge", *parts[:2], "--out", str(tmp_path / "few")).exit_code == 2


def test_judge_tells_what_it_cannot_use(invoke, out, tmp_path):
    result = invoke("judge", str(out), "--out", str(out))
    assert result.exit_code == 2
    assert "that are to be judged again" in result.output.replace("\n", " ")
    assert invoke("judge", str(tmp_path), "--out", str(tmp_path / "new")).exit_code == 2


def test_judge_keeps_rows_without_measurements(invoke, out, tmp_path):
    result = invoke("judge", str(out), "--out", str(tmp_path / "new"))
    assert result.exit_code == 1
    assert "No clip changes its verdict." in result.output


def test_judge_needs_the_split_manifests(invoke, out, tmp_path):
    (out / "rejected.jsonl").unlink()
    result = invoke("judge", str(out), "--out", str(tmp_path / "new"))
    assert result.exit_code == 2
    assert "the manifest row of clip 'reject1' is missing" in result.output.replace("\n", " ")


def test_trace_finds_the_clip_of_a_sample(invoke, out):
    result = invoke("trace", str(out), "drive/7/f0042.jpg", "pass1")
    assert result.exit_code == 0
    assert "drive/7: drive/7/f0042.jpg" in result.output


def test_trace_tells_rejected_and_unknown(invoke, out, tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"sample": "reject1:3", "faults": []}\n\nzebra\n{"x\n')
    result = invoke("trace", str(out), "--from", str(tmp_path / "bad.jsonl"))
    assert result.exit_code == 1
    assert "35.1 ± 0.6 ms early" in " ".join(result.output.split())
    assert "? zebra: no verdict on such a clip" in result.output


def test_trace_without_ids_is_wrong_usage(invoke, out, tmp_path):
    assert invoke("trace", str(out)).exit_code == 2
    result = invoke("trace", str(out), "--from", str(tmp_path / "none"))
    assert result.exit_code == 2
    assert "none: the ids cannot be read: No such file or directory" in result.output


def test_a_moving_clock_is_told_once_in_each_unit():
    clock = {
        "drift_ppm": 0.83,
        "drift_std_ppm": 0.05,
        "steps": [{"step_s": 0.02, "step_std_s": 1e-3}],
    }
    still = {"drift_ppm": 0.1, "drift_std_ppm": 0.2, "steps": []}
    row = {"recording_id": "drive", "clips": 12, "clocks": {"cam": clock, "imu": still}}
    (line,) = recording_lines([row])
    assert line.plain == (
        "drive (12 clips): cam drifts 0.83 ± 0.05 ppm (2.99 ms/h), jumps 20.0 ± 1.0 ms"
    )


def test_outputs_on_object_stores(invoke, manifest, tmp_path, monkeypatch):
    """Shards are written to a store, merged there and judged again."""
    import fsspec

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    store = fsspec.filesystem("memory")
    ids = [f"pass{k}" for k in range(5)]
    path = manifest(*ids)
    for k in (1, 2):
        options = ("-j", "0", "--shard", f"{k}/2")
        result = invoke("validate", path, "--out", f"memory://cli/part{k}", *options)
        assert result.exit_code == 0, result.output
        assert f"In memory://cli/part{k}:" in result.output
    parts = ("memory://cli/part1", "memory://cli/part2")
    result = invoke("merge", *parts, "--out", "memory://cli/all", "-q")
    assert result.exit_code == 0, result.output
    rows = store.cat("/cli/all/verdicts.jsonl").splitlines()
    assert [json.loads(row)["clip_id"] for row in rows] == ids
    assert json.loads(store.cat("/cli/all/summary.json"))["merged"] == list(parts)
    result = invoke("judge", "memory://cli/all", "--out", "memory://cli/again", "-q")
    assert result.exit_code == 0, result.output
    summary = json.loads(store.cat("/cli/again/summary.json"))
    assert summary["judged_from"] == "memory://cli/all"
    assert store.exists("/cli/again/report.html")
    result = invoke("trace", "memory://cli/all", "pass1")
    assert result.exit_code == 0, result.output
    for name in ("cam.mp4", "cam.csv", "imu.csv"):
        (tmp_path / name).write_text("content")
    result = invoke("export-shards", "memory://cli/all", "--out", str(tmp_path / "shards"))
    assert result.exit_code == 0, result.output
    assert "5 clips in 1 shard" in result.output


def test_a_url_is_not_judged_onto_itself(invoke, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    result = invoke("judge", "memory://cli/x", "--out", "memory://cli/x/")
    assert result.exit_code == 2
    assert "holds what is to be read" in result.output


def test_a_url_without_verdicts_is_told(invoke, tmp_path):
    result = invoke("judge", "memory://cli/nothing", "--out", str(tmp_path / "o"))
    assert result.exit_code == 2
    assert "the verdicts cannot be read" in result.output


def test_a_data_set_needs_a_place_for_its_manifest(invoke, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "drives").mkdir()
    options = ("--out", "memory://cli/set", "--format", "folder")
    result = invoke("validate", str(tmp_path / "drives"), *options)
    assert result.exit_code == 2
    assert "Write it with 'syncaudit manifest' first" in result.output


def test_merge_and_judge_carry_on_where_files_were_trusted(invoke, manifest, tmp_path):
    roots = [tmp_path / "a", tmp_path / "b"]
    for root in roots:
        root.mkdir()
    for k, root in enumerate(roots, start=1):
        options = ("--shard", f"{k}/2", "--root", str(root))
        path = manifest("pass1", "pass2")
        invoke("validate", path, "--out", str(tmp_path / f"p{k}"), "-j", "0", "-q", *options)
    parts = [str(tmp_path / "p1"), str(tmp_path / "p2")]
    for _ in range(2):  # a repetition belongs to the same run
        result = invoke("merge", *parts, "--out", str(tmp_path / "all"), "-q")
        assert result.exit_code == 0, result.output
    invoke("judge", str(tmp_path / "all"), "--out", str(tmp_path / "judged"), "-q")
    for name in ("all", "judged"):
        summary = json.loads((tmp_path / name / "summary.json").read_text())
        assert summary["roots"] == list(map(str, roots))
