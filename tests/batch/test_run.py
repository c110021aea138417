"""A run of many clips: its outputs, and the effect of crashes, stops and repeats."""

import json
from dataclasses import replace
from pathlib import Path

import fsspec
import pyarrow.parquet as pq
import pytest

from syncaudit.batch import Progress, run_batch
from syncaudit.batch.task import AuditTask
from syncaudit.errors import UsageError
from syncaudit.model import Verdict
from syncaudit.readers.uris import keep_local
from testkit import fake_audits
from testkit.fake_audits import POLICY, make_clip, verdict_for
from testkit.fake_batches import run_faked
from testkit.json_lines import read_json_lines, read_verdicts

IDS = ["pass1", "reject1", "silent1", "pass2", "broken1", "bug1", "reject2"]
EXPECTED = ["pass", "reject", "unverified", "pass", "reject", "reject", "reject"]


def marks(folder: Path) -> list[str]:
    return sorted(path.name.split(".")[0] for path in folder.iterdir())


@pytest.fixture
def marked(tmp_path, monkeypatch):
    (tmp_path / "marks").mkdir()
    monkeypatch.setenv("FAKE_MARKS", str(tmp_path / "marks"))
    return tmp_path / "marks"


def test_every_clip_gets_its_verdict_in_manifest_order(tmp_path):
    summary = run_faked(IDS, tmp_path)
    rows = read_verdicts(tmp_path)
    assert [row["clip_id"] for row in rows] == IDS
    assert [row["verdict"] for row in rows] == EXPECTED
    assert summary.counts == {"pass": 2, "reject": 4, "unverified": 1}
    assert summary.stopped is None


def test_workers_change_nothing_but_the_times(tmp_path):
    run_faked(IDS, tmp_path / "none")
    run_faked(IDS, tmp_path / "two", workers=2)
    alone, together = read_verdicts(tmp_path / "none"), read_verdicts(tmp_path / "two")
    assert alone == together


def test_exceptions_become_rejects_with_their_code(tmp_path):
    run_faked(["broken", "bug", "extra"], tmp_path)
    broken, bug, extra = read_verdicts(tmp_path)
    assert broken["reasons"][0]["code"] == "corrupt"
    assert broken["reasons"][0]["source"] == "cam_rear"
    assert broken["sources"]["cam_rear"]["verdict"] == "reject"
    assert broken["sources"]["imu"]["verdict"] == "unverified"
    assert bug["reasons"][0]["code"] == "unreadable"
    assert "ZeroDivisionError: division by zero" in bug["reasons"][0]["message"]
    assert "pip install 'syncaudit[mdf]'" in extra["reasons"][0]["message"]
    assert "fake_audits.py" in (tmp_path / "errors.log").read_text()


def test_dying_and_hanging_workers_cost_only_their_clips(tmp_path):
    ids = ["pass1", "crash", "pass2", "hang", "killed", "reject"]
    run_faked(ids, tmp_path, workers=2, timeout_s=2.0)
    by_id = {row["clip_id"]: row for row in read_verdicts(tmp_path)}
    expected = ["pass", "reject", "pass", "reject", "unverified", "reject"]
    assert [by_id[name]["verdict"] for name in ids] == expected
    assert by_id["crash"]["reasons"][0]["code"] == "unreadable"
    assert "SIGABRT" in by_id["crash"]["reasons"][0]["message"]
    assert "memory" in by_id["killed"]["reasons"][0]["message"]
    assert by_id["hang"]["reasons"][0]["code"] == "timeout"


def test_clips_over_the_memory_limit_cost_only_themselves(tmp_path):
    run_faked(["pass1", "swell", "starve", "pass2"], tmp_path, workers=1, memory_limit="400M")
    first, swell, starve, last = read_verdicts(tmp_path)
    assert [first["verdict"], last["verdict"]] == ["pass", "pass"]
    assert [r["reasons"][0]["code"] for r in (swell, starve)] == ["unreadable"] * 2
    assert "its limit of 400 MiB" in swell["reasons"][0]["message"]
    assert "7.28 TiB" in starve["reasons"][0]["message"]
    assert "defect" not in starve["reasons"][0]["message"]


def test_a_large_clip_may_have_all_shares_when_it_is_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("syncaudit.batch.memory.machine_bytes", lambda: 1_200_000_000)
    monkeypatch.setattr("syncaudit.batch.memory._AUTO_LEAST_BYTES", 0)
    run_faked(["pass1", "swell"], tmp_path / "two", workers=2)  # 480 MB each, 960 MB alone
    assert [row["verdict"] for row in read_verdicts(tmp_path / "two")] == ["pass"] * 2


def test_a_clip_whose_worker_died_once_is_tried_again(tmp_path, marked):
    run_faked(["once", "pass1"], tmp_path / "out", workers=1)
    assert [row["verdict"] for row in read_verdicts(tmp_path / "out")] == ["pass", "pass"]
    assert marks(marked).count("once") == 2


def test_a_second_run_audits_nothing_again(tmp_path, marked):
    first = run_faked(["pass1", "reject1"], tmp_path / "out")
    before = (tmp_path / "out" / "verdicts.jsonl").read_bytes()
    second = run_faked(["pass1", "reject1"], tmp_path / "out")
    assert marks(marked) == ["pass1", "reject1"]
    assert (first.reused, second.reused) == (0, 2)
    assert second.counts == first.counts
    assert (tmp_path / "out" / "verdicts.jsonl").read_bytes() == before


def test_another_search_range_or_calibration_audits_again(tmp_path, marked):
    run_faked(["pass1"], tmp_path / "out")
    other = replace(POLICY, max_offset_s=9.0)
    run_faked(["pass1"], tmp_path / "out", policy=other)
    run_faked(["pass1"], tmp_path / "out", policy=other, calibration={"version": 1})
    assert len(marks(marked)) == 3
    assert len(read_verdicts(tmp_path / "out")) == 1


def test_a_changed_file_audits_again(tmp_path, marked):
    data = tmp_path / "cam.mp4"
    clip = make_clip("pass1", base_uri=str(tmp_path))
    for content in ("a", "a", "longer"):
        if not data.exists() or data.read_text() != content:
            data.write_text(content)
        run_batch([clip], POLICY, out=tmp_path / "out", workers=0, audit=fake_audits.audit)
    assert len(marks(marked)) == 2


def test_verdicts_about_the_machine_are_not_remembered(tmp_path, marked):
    for _ in range(2):
        run_faked(["bug", "extra", "broken"], tmp_path / "out")
    assert marks(marked) == ["broken", "bug", "bug", "extra", "extra"]


def test_an_interrupted_run_keeps_what_is_done_and_goes_on(tmp_path):
    ids = ["pass1", "reject1", "stop", "pass2"]
    summary = run_faked(ids, tmp_path, audit=fake_audits.interrupting_audit)
    assert summary.stopped == "interrupted"
    assert [row["clip_id"] for row in read_verdicts(tmp_path)] == ["pass1", "reject1"]
    assert json.loads((tmp_path / "summary.json").read_text())["complete"] is False
    again = run_faked(ids, tmp_path)
    assert (again.stopped, again.reused, again.done) == (None, 2, 4)
    assert [row["clip_id"] for row in read_verdicts(tmp_path)] == ids


def test_a_half_written_ledger_is_taken_up(tmp_path, marked):
    run_faked(["pass1", "pass2"], tmp_path / "out")
    ledger = tmp_path / "out" / "verdicts.jsonl"
    ledger.write_bytes(ledger.read_bytes()[:-40])
    summary = run_faked(["pass1", "pass2"], tmp_path / "out")
    assert summary.reused == 1
    assert marks(marked) == ["pass1", "pass2", "pass2"]
    assert [row["clip_id"] for row in read_verdicts(tmp_path / "out")] == ["pass1", "pass2"]


def test_clips_that_left_the_manifest_leave_the_outputs_on_demand(tmp_path):
    run_faked(["pass1", "pass2", "reject1"], tmp_path)
    before = (tmp_path / "verdicts.jsonl").read_bytes()
    with pytest.raises(UsageError, match="verdicts of 1 clip that this run does not name"):
        run_faked(["reject1", "pass1"], tmp_path)
    assert (tmp_path / "verdicts.jsonl").read_bytes() == before
    assert json.loads((tmp_path / "summary.json").read_text())["complete"] is True
    summary = run_faked(["reject1", "pass1"], tmp_path, prune=True)
    assert [row["clip_id"] for row in read_verdicts(tmp_path)] == ["reject1", "pass1"]
    assert summary.reused == 2
    again = run_faked(["pass1", "pass2", "reject1"], tmp_path)  # set aside, not lost
    assert again.reused == 3


def test_parquet_holds_the_same_as_jsonl(tmp_path):
    run_faked(IDS, tmp_path)
    table = pq.read_table(tmp_path / "verdicts.parquet").to_pylist()
    for row, other in zip(read_json_lines(tmp_path / "verdicts.jsonl"), table, strict=True):
        other["sources"] = dict(other["sources"])
        other["stages"] = dict(other["stages"])
        for pair in other["pairs"]:
            pair["diagnostics"] = dict(pair["diagnostics"])
            if pair["evidence"] is not None:  # a curve and residuals have one schema
                pair["evidence"] = {k: v for k, v in pair["evidence"].items() if v is not None}
        optional = ("step_s", "step_std_s", "step_at_ns", "evidence", "excerpt")
        row["pairs"] = [dict.fromkeys(optional) | pair for pair in row["pairs"]]
        assert other == {"about": None} | row
    assert any(pair["evidence"] is not None for pair in row["pairs"])


def test_clips_are_split_by_verdict(tmp_path):
    def to_row(clip, *, relative_to):
        return {"clip_id": clip.clip_id, "from": relative_to}

    run_faked(IDS, tmp_path, to_row=to_row)

    def ids(name):
        return [json.loads(line)["clip_id"] for line in (tmp_path / name).read_text().splitlines()]

    assert ids("passed.jsonl") == ["pass1", "pass2"]
    assert ids("rejected.jsonl") == ["reject1", "broken1", "bug1", "reject2"]
    assert ids("unverified.jsonl") == ["silent1"]
    assert str(tmp_path) in (tmp_path / "passed.jsonl").read_text()


def test_the_summary_counts_reasons_and_sources(tmp_path):
    run_faked(IDS, tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["clips"] == {
        "total": 7, "done": 7, "reused": 0, "pass": 2, "reject": 4, "unverified": 1,
    }  # fmt: skip
    assert summary["reasons"] == {"corrupt": 1, "offset": 2, "unobservable": 1, "unreadable": 1}
    assert summary["sources"]["cam_rear"]["offset_worst_s"] == pytest.approx(0.0351, abs=1e-12)
    assert summary["stages_s"]["decode"] == pytest.approx(5 * 0.006, abs=1e-9)
    assert summary["versions"]["syncaudit"]


def test_copies_of_remote_files_go_once_no_clip_uses_them():
    for name in ("a.mp4", "b.mp4"):
        with fsspec.open(f"memory://copies/{name}", "wb") as file:
            file.write(b"hello")
    copies = []

    def audit(clip, policy, *, calibration=None):
        copies.append(keep_local(clip.sources["cam_rear"].uri))
        return verdict_for(clip, Verdict.PASS)

    task = AuditTask(audit=audit, policy=POLICY)
    for name in ("a.mp4", "b.mp4"):
        task(make_clip(name, uri=f"memory://copies/{name}"))
    assert [copy.exists() for copy in copies] == [False, True]


def test_progress_is_told_from_nothing_to_everything(tmp_path):
    told: list[Progress] = []
    run_faked(IDS, tmp_path, on_progress=told.append)
    assert [progress.done for progress in told] == list(range(len(IDS) + 1))
    assert told[-1].counts == {"pass": 2, "reject": 4, "unverified": 1}
    run_faked(IDS, tmp_path, on_progress=told.append)
    assert told[len(IDS) + 1].reused == 6  # all except the tool's own failure


def test_no_clips_give_empty_outputs(tmp_path):
    summary = run_faked([], tmp_path, workers=2)
    assert summary.done == 0
    assert pq.read_table(tmp_path / "verdicts.parquet").num_rows == 0
    assert (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    ("ids", "options", "message"),
    [
        (["a", "b", "a"], {}, "'a' appears more than once"),
        (["a"], {"workers": -1}, "workers must be 0 or more"),
        (["a"], {"timeout_s": 0.0}, "timeout must be more than 0"),
        (["a"], {"memory_limit": "lots"}, "memory limit must be auto, none or a size"),
    ],
)
def test_wrong_arguments_are_refused(tmp_path, ids, options, message):
    with pytest.raises(UsageError, match=message):
        run_faked(ids, tmp_path, **options)


def test_an_output_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="output folder cannot be made"):
        run_faked(["a"], tmp_path / "file" / "out")
