"""`inject`, `validate`, `evaluate` and `sample` in sequence, on a clip of the sample data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from syncaudit.datasets import load_manifest
from testkit.command_line import run_command
from testkit.json_lines import write_json_lines
from testkit.places import SAMPLE_DATA

pytestmark = pytest.mark.skipif(not SAMPLE_DATA.is_dir(), reason="sample_data is not here")


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with variants of one clip, whose run is in ``out``."""
    folder = tmp_path_factory.mktemp("trial")
    row = json.loads((SAMPLE_DATA / "good" / "manifest.jsonl").read_text())
    sources = {name: row["sources"][name] for name in ("cam_rear", "imu", "can")}
    for source in sources.values():
        for key in {"uri", "timestamps", "dbc"} & source.keys():
            source[key] = str(SAMPLE_DATA / "good" / source[key])
    (folder / "manifest.jsonl").write_text(json.dumps(row | {"sources": sources}) + "\n")
    run_command("inject", folder / "manifest.jsonl", "--out", folder / "trial", "--offsets", "4,60",
        "--sources", "camera", "--variants", 4, expected=0)  # fmt: skip
    run_command("validate", folder / "trial", "--out", folder / "out", "-j", 0, "-q", expected=1)
    return folder


def test_injected_offsets_are_found_by_size(trial: Path) -> None:
    truth = trial / "trial" / "truth.jsonl"
    found = json.loads(
        run_command("evaluate", trial / "out", "--truth", truth, "--json", expected=0).stdout
    )
    assert found["labels"] is None
    detection = found["detection"]
    assert (detection["variants"], detection["rejected_before"]) == (4, 0)
    assert detection["controls"]["reject"]["hits"] == 0
    kind, source = detection["groups"]
    assert (kind["kind"], kind["source"], source["source"]) == ("camera", None, "cam_rear")
    small, large = source["sizes"]
    # The tolerance of cameras is 10 ms.
    assert (small["size"], small["passed"]["hits"], small["found"]["hits"]) == (0.004, 2, 0)
    assert (large["size"], large["found"]["hits"], large["n"]) == (0.06, 2, 2)
    assert source["seen_in_95_percent_from"] == 0.06
    assert source["found_in_95_percent_from"] is None  # two clips are too few for any guarantee
    # The clip is right to within a fraction of a frame; one camera is measured to 1 ms (docs).
    assert source["measured_minus_injected"]["rmse"] < 0.003
    assert source["measured_minus_injected"]["change_rmse"] < 0.002


def test_tables_say_what_was_found(trial: Path) -> None:
    said = run_command(
        "evaluate", trial / "out", "--truth", trial / "trial" / "truth.jsonl", expected=0
    ).stdout
    promise = (
        "camera, offset: too few clips to promise 95 % found from 60 ms upwards: 2/2 (3–100 %). It"
    )
    assert promise in " ".join(said.split())
    assert "Measured minus injected, offset" in said
    assert "Controls, with nothing moved:" in said
    assert "reject 0/1 (0–98 %)" in said


def test_sources_that_no_clip_holds_are_answered_with_those_it_holds(trial: Path) -> None:
    said = run_command("evaluate", trial / "out", "--sources", "camra", expected=2).stderr
    assert "the clips hold cam_rear, can, imu." in " ".join(said.split())


def test_sample_is_a_manifest_whose_labels_are_evaluated(trial: Path) -> None:
    drawn = trial / "s.jsonl"
    said = run_command(
        "sample", trial / "out", "--number", 4, "--seed", 3, "--out", drawn, expected=0
    ).stdout
    assert f"syncaudit view {drawn} --verdicts {trial / 'out'} --blind" in said
    clips = load_manifest(str(drawn))
    text = (trial / "out" / "verdicts.jsonl").read_text()
    rows = [json.loads(line) for line in text.splitlines()]
    verdicts = {row["clip_id"]: row["verdict"] for row in rows}
    assert sorted(verdicts[clip.clip_id] for clip in clips) == ["pass"] * 2 + ["reject"] * 2
    uri = clips[0].sources["imu"].uri
    assert uri is not None
    assert (trial / uri).is_file()
    labels = trial / "s.labels.jsonl"
    given = [
        {"clip_id": clip.clip_id, "label": "reject", "note": "late", "verdict_shown": None}
        for clip in clips
    ]
    write_json_lines(labels, *given)
    said = run_command("evaluate", trial / "out", "--labels", labels, expected=0).stdout
    assert "Precision of reject: 2/2 (16–100 %)" in said
    assert "Recall of reject: 40 %" in said  # both of the 3 passed clips that were drawn are bad
    assert said.count("a person says reject (late)") == 2
    said = run_command("evaluate", trial / "out", "--labels", labels, "--json", expected=0).stdout
    found = json.loads(said)["labels"]
    assert found["precision"]["hits"] == 2
    assert [each["note"] for each in found["disputes"]] == ["late"] * 2


def test_labels_beside_the_run_are_taken_without_being_named(trial: Path) -> None:
    said = run_command("evaluate", trial / "out", "--inject", "offset=60", expected=0).stdout
    assert "camera, offset: too few clips to promise 95 % found from 60 ms upwards" in said
    labels = trial / "out" / "labels.jsonl"
    labels.write_text('{"clip_id": "good~control", "label": "accept"}\n{"clip_id": "x", "la')
    said = run_command("evaluate", trial / "out", expected=0).stdout
    labels.unlink()
    assert "1 line without a label in the label file" in said
    assert "Recall of reject: unknown" in said


def test_sample_spares_the_files_of_the_run(trial: Path) -> None:
    before = (trial / "out" / "passed.jsonl").read_bytes()
    result = run_command(
        "sample", trial / "out", "--out", trial / "out" / "passed.jsonl", expected=2
    )
    assert "is a file of the run" in result.stderr
    assert (trial / "out" / "passed.jsonl").read_bytes() == before
    result = run_command("sample", trial / "out", "--out", trial / "s.csv", expected=2)
    assert "expected a manifest" in result.stderr
    run_command("sample", trial / "none", "--out", trial / "n.jsonl", expected=2)


def test_weeks_with_labels_are_a_row_each(tmp_path: Path) -> None:
    source = {"verdict": "reject", "clock": "cam", "observable": False}
    rows = [
        {"clip_id": name, "verdict": "reject", "reference": None, "at_ns": at_ns}
        | {"reasons": [], "sources": {"cam": source}}
        for name, at_ns in (("a", 1_767_225_600 * 10**9), ("b", 1_768_435_200 * 10**9))
    ]
    labels = [{"clip_id": "a", "label": "reject"}, {"clip_id": "b", "label": "accept"}]
    write_json_lines(tmp_path / "v.jsonl", *rows)
    write_json_lines(tmp_path / "labels.jsonl", *labels)
    given = ("--labels", tmp_path / "labels.jsonl", "--partial")
    said = run_command("evaluate", tmp_path / "v.jsonl", *given, expected=0).stdout
    for week, hits in (("2025-12-29", "1/1"), ("2026-01-12", "0/1")):
        (line,) = [line for line in said.splitlines() if line.startswith(week)]
        assert line.split()[1:3] == ["1", hits]


def test_trial_in_which_nothing_can_be_judged_ends_with_4(tmp_path: Path) -> None:
    truth = {"clip_id": "a~1", "original": "a", "source": "cam", "kind": "camera"}
    truth |= {"offset_s": 0.05, "drift_ppm": 0.0, "moved": ["cam"]}
    (tmp_path / "t.jsonl").write_text(json.dumps(truth) + "\n")
    source = {"verdict": "unverified", "clock": "cam", "observable": False}
    row = {"clip_id": "a~1", "verdict": "unverified", "reference": None, "at_ns": None}
    row |= {"reasons": [], "sources": {"cam": source}}
    (tmp_path / "v.jsonl").write_text(json.dumps(row) + "\n")
    run_command("evaluate", tmp_path / "v.jsonl", "--truth", tmp_path / "t.jsonl", expected=2)
    given = ("--truth", tmp_path / "t.jsonl", "--partial")
    said = run_command("evaluate", tmp_path / "v.jsonl", *given, expected=4).stdout
    assert "not reached by any size" in said
