"""What a killed run leaves: no reader mistakes it for a finished run, and nothing is lost."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import resource
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from syncaudit.batch import VerdictFile, judge_again, merge_shards, read_shard, run_batch
from syncaudit.cli.inputs import load_clips
from syncaudit.datasets import clip_to_row
from syncaudit.errors import UsageError
from syncaudit.evaluation.judged import read_judged
from syncaudit.ingest import VerdictIndex
from syncaudit.model import Verdict
from testkit.fake_audits import POLICY, make_clip, verdict_for
from testkit.json_lines import read_json_lines, write_json_lines

IDS = ("a", "b", "c", "d")


def audit(clip, policy, *, calibration=None):
    """Return the verdict written in the clip's own file; hang if the file requests it."""
    text = (Path(clip.base_uri) / f"{clip.clip_id}.csv").read_text()
    if text == "hang":
        time.sleep(60.0)
    return verdict_for(clip, Verdict(text))


def clips_in(folder: Path, ids=IDS):
    clips = [make_clip(name, base_uri=str(folder)) for name in ids]
    return [
        replace(clip, sources={"imu": replace(clip.sources["imu"], uri=f"{clip.clip_id}.csv")})
        for clip in clips
    ]


def run(folder: Path, ids=IDS, **options):
    options = {"workers": 0, "audit": audit, "to_row": clip_to_row} | options
    return run_batch(clips_in(folder, ids), POLICY, out=folder / "out", **options)


def say(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.csv").write_text(text)


def rows_of(out: Path) -> dict[str, str]:
    lines = (out / "verdicts.jsonl").read_text().splitlines()
    return {row["clip_id"]: row["verdict"] for row in map(json.loads, lines)}


def end_by(folder: Path, number: signal.Signals, *, after: str) -> None:
    """Start a run, and end it by a signal once a clip's verdict is in the ledger."""

    def child() -> None:
        os.setsid()
        run(folder)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    ledger = folder / "out" / "verdicts.jsonl"
    deadline = time.monotonic() + 30.0
    while not (ledger.exists() and f'"clip_id": "{after}"' in ledger.read_text()[-4000:]):
        assert time.monotonic() < deadline
        assert process.is_alive()
        time.sleep(0.01)
    os.kill(process.pid, number)
    process.join(30.0)
    assert process.exitcode is not None


@pytest.fixture
def folder(tmp_path):
    say(tmp_path, a="pass", b="pass", c="pass", d="pass")
    return tmp_path


READERS = {
    "folder": lambda out: VerdictIndex.load(out),
    "parquet": lambda out: VerdictIndex.load(out / "verdicts.parquet"),
    "jsonl": lambda out: VerdictIndex.load(out / "verdicts.jsonl"),
    "verdict file": lambda out: VerdictFile(out / "verdicts.jsonl"),
    "evaluate": lambda out: list(read_judged(str(out))),
    "merge": lambda out: read_shard(out, ()),
}


def refuses(out: Path, name: str) -> bool:
    if name == "parquet" and not (out / "verdicts.parquet").exists():
        return True
    try:
        READERS[name](out)
    except UsageError as error:
        return "un it again" in str(error) or "validate' again" in str(error)
    return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGQUIT])
def test_a_killed_rerun_is_not_taken_for_the_run_before(folder, number):
    run(folder)
    assert VerdictIndex.load(folder / "out").admits("a")
    time.sleep(0.01)
    say(folder, a="reject", c="hang")
    shutil.copytree(folder / "out", folder / "before")
    end_by(folder, number, after="a")
    assert [name for name in READERS if not refuses(folder / "out", name)] == []
    for place in (folder / "out", folder / "out" / "verdicts.jsonl"):
        assert VerdictIndex.load(place, partial=True).verdict("a") == "reject"
    judged = [(row.clip_id, row.verdict) for row in read_judged(str(folder / "out"), partial=True)]
    assert judged == [("a", "reject"), ("b", "pass"), ("c", "pass"), ("d", "pass")]
    with pytest.raises(
        UsageError, match="was not finished: the file may list clips that no longer pass"
    ):
        load_clips(str(folder / "out" / "passed.jsonl"))
    say(folder, c="pass")
    summary = run(folder)
    assert len(load_clips(str(folder / "out" / "passed.jsonl"))) == 3
    assert rows_of(folder / "out") == {"a": "reject", "b": "pass", "c": "pass", "d": "pass"}
    assert summary.reused >= 2
    assert not VerdictIndex.load(folder / "out").admits("a")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGQUIT])
def test_a_killed_first_run_is_not_believed(folder, number):
    say(folder, c="hang")
    end_by(folder, number, after="b")
    assert [name for name in READERS if not refuses(folder / "out", name)] == []
    say(folder, c="pass")
    assert run(folder).reused == 2
    assert len(VerdictIndex.load(folder / "out")) == 4


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_lost_terminal_ends_a_run_in_order(folder, number):
    say(folder, c="hang")
    end_by(folder, number, after="b")
    summary = json.loads((folder / "out" / "summary.json").read_text())
    assert (summary["complete"], summary["stopped"]) == (False, "terminated")
    assert summary["clips"]["done"] == 2
    assert (folder / "out" / "report.html").exists()
    assert [name for name in READERS if not refuses(folder / "out", name)] == []


def test_what_is_ignored_stays_ignored(folder, monkeypatch):
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def hung_up(clip, policy, *, calibration=None):
        os.kill(os.getpid(), signal.SIGHUP)
        return audit(clip, policy)

    try:
        summary = run(folder, audit=hung_up)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (summary.stopped, summary.done) == (None, 4)


def test_a_full_disk_at_the_end_leaves_no_finished_run(folder, monkeypatch):
    run(folder)
    time.sleep(0.01)
    say(folder, a="reject")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("syncaudit.batch.finish.write_report", full)
        with pytest.raises(OSError, match="No space"):
            run(folder)
    assert [name for name in READERS if not refuses(folder / "out", name)] == []
    assert run(folder).reused == 4
    assert not VerdictIndex.load(folder / "out").admits("a")


def test_a_file_that_grows_too_large_is_named(folder):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            run(folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert caught.value.filename == str(folder / "out" / "verdicts.jsonl")
    for read in (VerdictIndex.load, lambda out: VerdictFile(out / "verdicts.jsonl")):
        with pytest.raises(UsageError):
            read(folder / "out")
    assert run(folder).reused > 0


def test_what_changed_in_an_earlier_judging_is_told_no_longer(folder):
    run(folder)
    changes = folder / "judged" / "changes.jsonl"
    judge_again(clips_in(folder), VerdictFile(folder / "out" / "verdicts.jsonl"), POLICY,
                out=folder / "judged")  # fmt: skip
    assert changes.exists()
    run_batch(clips_in(folder), POLICY, out=folder / "judged", workers=0, audit=audit)
    assert not changes.exists()


@pytest.mark.parametrize("damage", ["truncated", "torn", "edited", "edited verdict", "doubled"])
def test_damaged_rows_are_told_and_measured_anew(folder, damage):
    run(folder)
    path = folder / "out" / "verdicts.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    changed = {
        "truncated": lines[:-1],
        "torn": [*lines[:-1], lines[-1][:-20]],
        "edited": [lines[0].replace('"offset_s": 0.0004', '"offset_s": 0.0'), *lines[1:]],
        "edited verdict": [
            lines[0].replace('"verdict": "pass"', '"verdict": "reject"', 1),
            *lines[1:],
        ],
        "doubled": [*lines, lines[0].replace('"clip_id": "a"', '"clip_id": "z"')],
    }[damage]
    assert changed != lines
    path.write_text("".join(changed))
    clips = clips_in(folder)
    with pytest.raises(UsageError, match=r"validate' again"):
        VerdictFile(path)
    with pytest.raises(UsageError, match=r"validate' again|cannot be read"):
        VerdictIndex.load(path)
    shard = replace(read_shard(folder / "out", clips), folder=folder / "out")
    with pytest.raises(UsageError, match="again"):
        merge_shards([shard], out=folder / "merged")
    left = VerdictFile(path, partial=True)
    some = [clip for clip in clips if clip.clip_id in left]
    judge_again(some, left, POLICY, out=folder / "judged", partial=True)
    judged = json.loads((folder / "judged" / "summary.json").read_text())
    assert (judged["complete"], judged["stopped"]) == (False, "partial")
    again = run(folder)
    assert again.reused == (3 if damage != "doubled" else 4)
    assert rows_of(folder / "out") == dict.fromkeys(IDS, "pass")
    VerdictFile(path)


def test_what_was_measured_outlives_a_store_that_is_down(folder, monkeypatch):
    run(folder)

    def down(clip, policy, *, calibration=None):
        raise OSError(errno.ETIMEDOUT, "timed out")

    with monkeypatch.context() as patched:
        patched.setattr("syncaudit.batch.task.time.sleep", lambda _: None)
        patched.setattr("syncaudit.batch.fingerprint._local_state", lambda _: None)
        for _ in range(2):
            assert run(folder, audit=down).counts["unverified"] == 4
    say(folder, b="reject")
    again = run(folder)
    assert (again.reused, again.counts["pass"], again.counts["reject"]) == (3, 3, 1)
    assert run(folder).reused == 4
    assert not (folder / "out" / ".verdicts.jsonl.outdated").exists()


def test_a_damaged_row_does_not_let_an_earlier_one_of_its_clip_count(folder):
    run(folder)
    time.sleep(0.01)
    say(folder, a="reject", c="hang")
    end_by(folder, signal.SIGKILL, after="a")
    path = folder / "out" / "verdicts.jsonl"
    text = path.read_text()
    for damaged in (text[:-20], text[:-20] + "X" + text[-19:]):
        path.write_text(damaged)
        for place in (folder / "out", path):
            assert VerdictIndex.load(place, partial=True).verdict("a") is None
            assert VerdictIndex.load(place, partial=True).verdict("b") == "pass"
        assert "a" not in VerdictFile(path, partial=True)
        assert [row.clip_id for row in read_judged(str(path), partial=True)] == ["b", "c", "d"]


@pytest.mark.parametrize("name", ["verdicts.parquet", "verdicts.jsonl"])
def test_verdicts_of_another_run_with_as_many_of_each_are_told(folder, name):
    """For example after a copy that was interrupted after the summary."""
    say(folder, b="reject")
    run(folder)
    old = (folder / "out" / name).read_bytes()
    time.sleep(0.01)
    say(folder, a="reject", b="pass")
    run(folder)
    path = folder / "out" / name
    path.write_bytes(old)
    for read in (VerdictIndex.load, lambda path: list(read_judged(str(path)))):
        with pytest.raises(UsageError, match="copy from another run"):
            read(path)
    if name == "verdicts.jsonl":
        with pytest.raises(UsageError, match="copy from another run"):
            VerdictFile(path)


def test_rows_without_digests_of_older_versions_are_read(folder):
    run(folder)
    path = folder / "out" / "verdicts.jsonl"
    rows = read_json_lines(path)
    path.write_text(
        "".join(json.dumps({k: v for k, v in r.items() if k != "digest"}) + "\n" for r in rows)
    )
    summary = json.loads((folder / "out" / "summary.json").read_text())
    del summary["row_digests"], summary["verdicts_digest"]
    (folder / "out" / "summary.json").write_text(json.dumps(summary))
    assert len(VerdictFile(path).clip_ids) == 4
    assert len(VerdictIndex.load(path)) == 4
    assert run(folder).reused == 4
    assert all('"digest": ' in line for line in path.read_text().splitlines())
    VerdictFile(path)


def test_a_digest_that_was_taken_off_is_told(folder):
    run(folder)
    path = folder / "out" / "verdicts.jsonl"
    rows = read_json_lines(path)
    del rows[1]["digest"]
    write_json_lines(path, *rows)
    for read in (VerdictFile, VerdictIndex.load, lambda path: list(read_judged(str(path)))):
        with pytest.raises(UsageError, match=r"line 2 .*was edited"):
            read(path)


def test_durations_are_no_part_of_the_digest(folder):
    run(folder)
    first = (folder / "out" / "verdicts.jsonl").read_text().splitlines()
    shutil.rmtree(folder / "out")
    run(folder)
    second = (folder / "out" / "verdicts.jsonl").read_text().splitlines()
    digests = [[json.loads(line)["digest"] for line in lines] for lines in (first, second)]
    assert digests[0] == digests[1]
