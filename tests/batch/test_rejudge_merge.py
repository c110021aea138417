"""Measure once and judge often; merged shards equal the output of a single run."""

import json
import shutil
from dataclasses import replace

import pytest

from syncaudit.batch import VerdictFile, judge_again, merge_shards, read_shard, run, run_batch
from syncaudit.batch.outputs import SPLIT_FILES
from syncaudit.datasets import clip_to_row
from syncaudit.errors import UsageError
from syncaudit.policy import load_policy
from testkit.json_lines import read_json_lines, read_verdicts
from testkit.sample_audits import sample_clips

POLICY = load_policy()
STRICT = replace(POLICY, name="stricter", kinds={**POLICY.kinds}, required_kinds=frozenset())


@pytest.fixture(scope="module")
def clips():
    """Return IMU and CAN of the sample data: quick to audit, and with content."""
    wanted = ("good", "can_shifted", "nan_imu", "empty_can", "imu_shifted")
    return [
        replace(
            clip,
            recording_id="drive",
            sources={n: s for n, s in clip.sources.items() if s.kind in ("imu", "can")},
        )
        for clip in sample_clips().values()
        if clip.clip_id in wanted
    ]


@pytest.fixture(scope="module")
def done(clips, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole")
    run_batch(clips, POLICY, out=out, workers=0, to_row=clip_to_row)
    return out


@pytest.fixture
def again(done, tmp_path):
    """Return a copy of the run, to go on with."""
    return shutil.copytree(done, tmp_path / "again")


def judged(done, out, policy, clips):
    return judge_again(
        clips, VerdictFile(done / "verdicts.jsonl"), policy, out=out, to_row=clip_to_row
    )


def test_the_same_policy_gives_the_same_rows(clips, done, tmp_path):
    _, changes = judged(done, tmp_path, POLICY, clips)
    assert read_verdicts(tmp_path) == read_verdicts(done)
    assert changes == []
    for name in SPLIT_FILES.values():
        assert len((tmp_path / name).read_text()) >= 0


def test_another_policy_gives_what_an_audit_by_it_gives(clips, done, tmp_path):
    wide = {kind: replace(limits, offset_s=1.0) for kind, limits in POLICY.kinds.items()}
    lax = replace(POLICY, kinds=wide)
    _, changes = judged(done, tmp_path / "judged", lax, clips)
    run_batch(clips, lax, out=tmp_path / "audited", workers=0)
    assert read_verdicts(tmp_path / "judged") == read_verdicts(tmp_path / "audited")
    assert {c.clip_id: (c.before, c.after) for c in changes}["can_shifted"] == ("reject", "pass")
    assert all(change.why for change in changes)
    written = read_json_lines(tmp_path / "judged" / "changes.jsonl")
    assert [w["clip_id"] for w in written] == [c.clip_id for c in changes]


def test_validate_judges_again_by_itself(clips, again, monkeypatch):
    monkeypatch.setattr(run, "_audit", None)  # nothing may be read
    summary = run_batch(clips, STRICT, out=again, workers=0)
    assert (summary.reused, summary.about["judged_again"]) == (len(clips), len(clips))
    assert json.loads((again / "summary.json").read_text())["policy"]["name"] == "stricter"


def test_measurements_survive_a_stop_while_judging_again(clips, again, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("syncaudit.batch.task.JudgeTask.__call__", stop)
        summary = run_batch(clips, STRICT, out=again, workers=0)
    assert (summary.stopped, summary.done) == ("interrupted", 0)
    assert read_verdicts(again) == []
    monkeypatch.setattr(run, "_audit", None)
    assert run_batch(clips, STRICT, out=again, workers=0).done == len(clips)


def test_another_search_range_must_be_measured_anew(clips, done, tmp_path):
    with pytest.raises(UsageError, match=r"measured within 2 s, but the policy looks within 5 s"):
        judged(done, tmp_path, replace(POLICY, max_offset_s=5.0), clips)


def test_judging_into_the_same_folder_is_refused(clips, done):
    with pytest.raises(UsageError, match="holds the verdicts that are to be judged again"):
        judged(done, done, POLICY, clips)


def test_verdicts_that_are_none(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        VerdictFile(tmp_path / "verdicts.jsonl")
    (tmp_path / "verdicts.jsonl").write_text("hello\n")
    with pytest.raises(UsageError, match="holds no verdicts"):
        VerdictFile(tmp_path / "verdicts.jsonl")


@pytest.fixture(scope="module")
def shards(clips, tmp_path_factory):
    """Return a folder with the runs of two shards."""
    folder = tmp_path_factory.mktemp("shards")
    for number in (1, 2):
        about = {"shard": {"number": number, "count": 2}}
        run_batch(clips[number - 1 :: 2], POLICY, out=folder / str(number), workers=0,
                  to_row=clip_to_row, about=about)  # fmt: skip
    return folder


@pytest.fixture
def parts(clips, shards, tmp_path):
    folder = shutil.copytree(shards, tmp_path / "parts")
    return [read_shard(folder / str(number), clips[number - 1 :: 2]) for number in (1, 2)]


def test_shards_join_to_one_run(parts, done, tmp_path):
    merge_shards(parts[::-1], out=tmp_path / "all", to_row=clip_to_row)
    assert read_verdicts(tmp_path / "all") == read_verdicts(done)
    one, many = (
        [row["clip_id"] for row in read_json_lines(folder / "passed.jsonl")]
        for folder in (done, tmp_path / "all")
    )
    assert one == many


def test_shards_that_do_not_fit_are_refused(parts, clips, tmp_path):
    out = tmp_path / "all"
    with pytest.raises(UsageError, match="shard 2 of 2 is missing"):
        merge_shards(parts[:1], out=out)
    with pytest.raises(UsageError, match="one shard is given twice"):
        merge_shards([*parts, parts[0]], out=out)
    again = [replace(part, count=None) for part in (parts[0], parts[0])]
    with pytest.raises(UsageError, match=r"clip '\w+' is in .*/parts/1 and in .*/parts/1\. Merge"):
        merge_shards(again, out=out)
    with pytest.raises(UsageError, match="judged by another policy"):
        merge_shards([parts[0], replace(parts[1], policy={})], out=out)
    with pytest.raises(UsageError, match="is one of the folders to merge"):
        merge_shards(parts, out=parts[0].folder)
    path = parts[0].folder / "summary.json"
    summary = json.loads(path.read_text())
    path.write_text(json.dumps(summary | {"complete": False}))
    with pytest.raises(UsageError, match="was stopped early"):
        read_shard(parts[0].folder, [])
    path.unlink()
    with pytest.raises(UsageError, match="this is not the summary of a run"):
        read_shard(parts[0].folder, [])


def test_runs_of_different_manifests_stand_one_after_the_other(parts, tmp_path):
    plain = [replace(part, number=None, count=None) for part in parts]
    merge_shards(plain, out=tmp_path / "all")
    expected = [clip.clip_id for part in plain for clip in part.clips]
    assert [row["clip_id"] for row in read_verdicts(tmp_path / "all")] == expected


def test_recordings_are_listed(clips, done):
    (row,) = read_json_lines(done / "recordings.jsonl")
    assert (row["recording_id"], row["clips"]) == ("drive", len(clips))
    assert row["clocks"]["can"]["clips_measured"] >= 2
    summary = json.loads((done / "summary.json").read_text())
    assert summary["recordings"] == [row]


def test_a_defect_in_judging_costs_only_its_clip_and_is_logged(clips, again, monkeypatch):
    from syncaudit.pipeline import conclude

    def break_at_one(clip, record, policy):
        if clip.clip_id == "good":
            raise ZeroDivisionError("no time")
        return conclude(clip, record, policy)

    monkeypatch.setattr("syncaudit.pipeline.conclude", break_at_one)
    run_batch(clips, STRICT, out=again, workers=0)
    by_id = {row["clip_id"]: row for row in read_verdicts(again)}
    assert [row["clip_id"] for row in read_verdicts(again)] == [clip.clip_id for clip in clips]
    (reason,) = by_id["good"]["reasons"]
    assert "ZeroDivisionError: no time" in reason["message"]
    assert by_id["good"]["fingerprint"] is None  # audited again next time
    assert "clip good" in (again / "errors.log").read_text()


def test_a_recording_that_cannot_be_pooled_keeps_the_verdicts_of_its_clips(
    clips, tmp_path, monkeypatch
):
    def break_down(*_):
        raise ZeroDivisionError("no time")

    monkeypatch.setattr("syncaudit.pipeline.pool_clips", break_down)
    summary = run_batch(clips, POLICY, out=tmp_path, workers=0)
    assert summary.done == len(clips)
    assert summary.recordings == []
    assert "recording drive" in (tmp_path / "errors.log").read_text()


def test_a_recording_is_pooled_once_until_its_clips_change(clips, tmp_path, monkeypatch):
    from syncaudit.pipeline import pool_clips

    pooled = []

    def count(members, records, policy, common):
        pooled.append(len(members))
        return pool_clips(members, records, policy, common)

    monkeypatch.setattr("syncaudit.pipeline.pool_clips", count)
    run_batch(clips, POLICY, out=tmp_path, workers=0)
    before = [(tmp_path / name).read_bytes() for name in ("verdicts.jsonl", "recordings.jsonl")]
    summary = run_batch(clips, POLICY, out=tmp_path, workers=0)
    after = [(tmp_path / name).read_bytes() for name in ("verdicts.jsonl", "recordings.jsonl")]
    assert after == before
    assert len(pooled) == 1
    assert [row["recording_id"] for row in summary.recordings] == ["drive"]
    run_batch(clips[:-1], POLICY, out=tmp_path, workers=0, prune=True)
    assert len(pooled) == 2
