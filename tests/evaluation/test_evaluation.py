"""Files that are missing, damaged or from another run."""

from __future__ import annotations

import json

import pytest

from syncaudit.batch.tables import write_parquet
from syncaudit.errors import UsageError
from syncaudit.evaluation.evaluate import evaluate_run
from testkit.made_verdicts import control, judged, moved, rejected, verdict, written

TRUTH = [control("a"), moved("a~1", "a", 0.02)]
ROWS = [verdict("a~control"), rejected("a~1", "cam")]


@pytest.fixture
def truth(tmp_path):
    return written(tmp_path / "truth.jsonl", TRUTH)


@pytest.fixture
def run(tmp_path):
    return judged(tmp_path / "out" / "verdicts.jsonl", ROWS)


def test_folder_and_both_files_say_the_same(tmp_path, truth, run):
    write_parquet(iter(ROWS), tmp_path / "out" / "verdicts.parquet")
    found = [
        evaluate_run(str(tmp_path / name), truth=truth).to_json()
        for name in ("out", "out/verdicts.jsonl", "out/verdicts.parquet")
    ]
    assert found[0] == found[1] == found[2]
    assert json.loads(json.dumps(found[0])) == found[0]
    assert found[0]["detection"]["variants"] == 1


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "the file is empty .* Expected the truth.jsonl"),
        ("\n", "holds no variant"),
        ('{"clip_id": "a~1", "orig', "line 1 is not valid JSON"),
        ('{"clip_id": "a~1"}', "line 1 is not a valid line of the truth: has no original"),
        ("[1]", "line 1 is not an object"),
        (json.dumps(TRUTH[1] | {"kind": None}), "a source without its kind"),
        (json.dumps(TRUTH[1] | {"moved": "cam"}), "moved is not a list"),
        (json.dumps(TRUTH[1] | {"drift_ppm": "fast"}), "its drift_ppm is 'fast', expected a num"),
        (json.dumps(TRUTH[1] | {"offset_s": float("nan")}), "its offset_s is nan"),
        (json.dumps(TRUTH[1] | {"drift_ppm": 9}), "has both offset_s and drift_ppm, expected one"),
        (json.dumps(TRUTH[1] | {"at_ns": 1.5}), "its at_ns is 1.5, expected integer"),
        (json.dumps(moved("z~1", "z", 0.02)), "the truth of another run.*'z~1'"),
    ],
)
def test_damaged_truth_is_told(tmp_path, run, text, match):
    (tmp_path / "bad.jsonl").write_text(text)
    with pytest.raises(UsageError, match=match):
        evaluate_run(run, truth=str(tmp_path / "bad.jsonl"))


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "the file is empty .* Expected the output"),
        ("\n", "holds no verdict"),
        (json.dumps(ROWS[0]) + '\n{"clip_id": "a~1', "line 2 is not valid JSON"),
        ('{"clip_id": "a~1", "verdict": "maybe"}\n', "line 1 is not a verdict"),
        ('{"clip_id": "a~1", "sources": {}}\n', "line 1 is not a verdict .KeyError: 'verdict'"),
    ],
)
def test_damaged_run_is_told(tmp_path, truth, text, match):
    (tmp_path / "verdicts.jsonl").write_text(text)
    with pytest.raises(UsageError, match=match):
        evaluate_run(str(tmp_path / "verdicts.jsonl"), truth=truth)


def test_damaged_parquet_is_told(tmp_path, truth):
    (tmp_path / "verdicts.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(UsageError, match="is not an intact Parquet file"):
        evaluate_run(str(tmp_path / "verdicts.parquet"), truth=truth)


def test_missing_files_are_told(tmp_path, truth, run):
    with pytest.raises(UsageError, match="no such file"):
        evaluate_run(run, truth=str(tmp_path / "none.jsonl"))
    with pytest.raises(UsageError, match="is a folder"):
        evaluate_run(run, truth=str(tmp_path))
    with pytest.raises(UsageError, match="labels cannot be read"):
        evaluate_run(run, labels=str(tmp_path / "none.jsonl"))
    with pytest.raises(UsageError, match="holds no verdicts"):
        evaluate_run(str(tmp_path), truth=truth)


def test_run_that_was_stopped_is_refused(tmp_path, truth, run):
    (tmp_path / "out" / "summary.json").write_text('{"complete": false}')
    with pytest.raises(UsageError, match="stopped early"):
        evaluate_run(str(tmp_path / "out"), truth=truth)


def test_labels_of_another_run_are_refused(tmp_path, run):
    path = written(tmp_path / "labels.jsonl", [{"clip_id": "z", "label": "accept"}])
    with pytest.raises(UsageError, match=r"the labels of another run.*'z'"):
        evaluate_run(run, labels=path)
    with pytest.raises(UsageError, match="holds no label"):
        evaluate_run(run, labels=written(tmp_path / "labels.jsonl", [{"clip_id": "z"}]))


def test_originals_of_another_run_serve_where_controls_are_missing(tmp_path, run):
    path = written(tmp_path / "t.jsonl", TRUTH[1:])
    given = judged(tmp_path / "before.jsonl", [rejected("a", "cam"), verdict("other")])
    assert evaluate_run(run, truth=path).to_json()["detection"]["without_control"] == 1
    found = evaluate_run(run, truth=path, originals=given).to_json()["detection"]
    assert (found["variants"], found["rejected_before"]) == (0, 1)


def test_run_that_could_judge_nothing_is_void(tmp_path, truth):
    unseen = verdict("a~1", "unverified", blamed=["cam"], cam={"verdict": "unverified"})
    path = judged(tmp_path / "v.jsonl", [verdict("a~control", "unverified"), unseen])
    assert evaluate_run(path, truth=truth).is_void
    path = judged(tmp_path / "v.jsonl", ROWS)
    assert not evaluate_run(path, truth=truth).is_void
